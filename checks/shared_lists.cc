#include "checks/shared_lists.h"

#include <utility>

#include "common/digest.h"

namespace paritect {
namespace {

using Files = google::protobuf::RepeatedPtrField<v1::FileEntry>;

// The files alone as bytes; the list has them again afterwards.
std::string FilesAsBytes(v1::FileList& list) {
  v1::FileList files;
  files.mutable_files()->Swap(list.mutable_files());
  std::string bytes = SerializeStable(files);
  files.mutable_files()->Swap(list.mutable_files());
  return bytes;
}

}  // namespace

void SharedLists::Take(v1::Bundle& bundle, MessageBudget* given_back) {
  for (v1::Evidence& one : *bundle.mutable_evidence()) {
    if (one.has_files()) Take(*one.mutable_files(), given_back);
  }
}

void SharedLists::Take(v1::FileList& list, MessageBudget* given_back) {
  if (list.files_size() < files_min_) return;
  const std::string bytes = FilesAsBytes(list);
  const auto [known, added] = by_content_.emplace(Sha256(bytes), &list);
  if (added) return;
  holder_of_.emplace(&list, std::make_pair(&list, known->second));
  Files().Swap(list.mutable_files());  // Clear would keep the memory
  if (given_back == nullptr) return;
  const MessageBudget whole;
  MessageBudget left;
  if (!TakeFromBudget(bytes, list, left).ok()) return;
  given_back->entries += whole.entries - left.entries;
  given_back->memory_bytes += whole.memory_bytes - left.memory_bytes;
}

void SharedLists::Name(std::string name, v1::FileList& list) {
  const auto holder = holder_of_.find(&list);
  by_content_.emplace(std::move(name), holder == holder_of_.end() ? &list : holder->second.second);
}

bool SharedLists::StandFor(absl::string_view name, v1::FileList& list) {
  const auto known = by_content_.find(name);
  if (known == by_content_.end() || known->second == &list) return false;
  holder_of_.insert_or_assign(&list, std::make_pair(&list, known->second));
  return true;
}

const Files& SharedLists::FilesOf(const v1::FileList& list) const {
  const auto holder = holder_of_.find(&list);
  return holder == holder_of_.end() ? list.files() : holder->second.second->files();
}

void SharedLists::Part(v1::FileList& list) {
  if (const auto holder = holder_of_.find(&list); holder != holder_of_.end()) {
    *list.mutable_files() = holder->second.second->files();
    holder_of_.erase(holder);
    return;
  }
  // Those that stood for this one stand for one of themselves from now on.
  v1::FileList* heir = nullptr;
  for (auto& [key, pair] : holder_of_) {
    auto& [other, holder] = pair;
    if (holder != &list) continue;
    if (heir == nullptr) heir = other;
    holder = heir;
  }
  if (heir != nullptr) {
    *heir->mutable_files() = list.files();
    holder_of_.erase(heir);
  }
  for (auto one = by_content_.begin(); one != by_content_.end();) {
    const auto at = one++;
    if (at->second != &list) continue;
    if (heir != nullptr) {
      at->second = heir;
    } else {
      by_content_.erase(at);
    }
  }
}

}  // namespace paritect
