#include "agent/datasets/folder_handles.h"

#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kOpenMax = 64;

}  // namespace

std::shared_ptr<Folder> FolderHandles::GetOpen(std::uint32_t folder) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_folder_.find(folder);
  if (found == by_folder_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->handle;
}

void FolderHandles::Keep(std::uint32_t folder, std::shared_ptr<Folder> handle) {
  std::shared_ptr<Folder> dropped;  // closed after the lock is given up
  const absl::MutexLock lock(&mutex_);
  if (by_folder_.contains(folder)) return;
  recent_.push_front({folder, std::move(handle)});
  by_folder_[folder] = recent_.begin();
  if (recent_.size() <= kOpenMax) return;
  dropped = std::move(recent_.back().handle);
  by_folder_.erase(recent_.back().folder);
  recent_.pop_back();
}

absl::StatusOr<std::shared_ptr<Folder>> FolderHandles::Get(const std::vector<Part>& chain) {
  std::shared_ptr<Folder> handle;
  std::size_t left = 0;  // chain[0, left) are still to be opened
  for (; left < chain.size() && handle == nullptr; ++left) handle = GetOpen(chain[left].folder);
  if (handle != nullptr) {
    --left;
  } else {
    handle = GetOpen(0);
    if (handle == nullptr) {
      PARITECT_ASSIGN_OR_RETURN(handle, fs_.OpenFolder(root_));
      Keep(0, handle);
    }
  }
  for (; left > 0; --left) {
    PARITECT_ASSIGN_OR_RETURN(handle, handle->OpenFolder(chain[left - 1].name));
    Keep(chain[left - 1].folder, handle);
  }
  return handle;
}

}  // namespace paritect
