#include "agent/spool/spool_state.h"

#include <algorithm>

#include "common/file_system.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using spool_format::Slot;

absl::StatusOr<std::optional<Slot>> ReadSlot(SpoolFile& file, std::uint64_t offset) {
  char bytes[spool_format::kSlotBytes];
  PARITECT_ASSIGN_OR_RETURN(const std::size_t got, file.ReadAt(offset, absl::MakeSpan(bytes)));
  return spool_format::DecodeSlot(absl::string_view(bytes, got));
}

Slot Highest(const Slot& a, const Slot& b) {
  Slot slot = a;
  slot.reserved = std::max(a.reserved, b.reserved);
  slot.accepted = std::max(a.accepted, b.accepted);
  slot.low_water = std::max(a.low_water, b.low_water);
  return slot;
}

bool Same(const Slot& a, const Slot& b) {
  return a.epoch == b.epoch && a.reserved == b.reserved && a.accepted == b.accepted && a.low_water == b.low_water;
}

// The file, or null where there is none.
absl::StatusOr<std::unique_ptr<SpoolFile>> OpenIfThere(SpoolIo& io, const std::string& path) {
  auto file = io.Open(path, SpoolIo::OpenMode::kReadWrite);
  if (absl::IsNotFound(file.status())) return nullptr;
  return file;
}

}  // namespace

absl::StatusOr<SpoolState::Loaded> SpoolState::Load() {
  Loaded loaded;
  PARITECT_ASSIGN_OR_RETURN(mark_, OpenIfThere(io_, JoinPath(directory_, "mark")));
  PARITECT_ASSIGN_OR_RETURN(state_, OpenIfThere(io_, JoinPath(directory_, "state")));
  if (mark_ != nullptr) {
    PARITECT_ASSIGN_OR_RETURN(loaded.mark, ReadSlot(*mark_, 0));
  }
  if (state_ == nullptr) return loaded;
  PARITECT_ASSIGN_OR_RETURN(const std::optional<Slot> first, ReadSlot(*state_, 0));
  PARITECT_ASSIGN_OR_RETURN(const std::optional<Slot> second, ReadSlot(*state_, spool_format::kSecondSlotOffset));
  if (first.has_value() && second.has_value()) {
    if (first->epoch != second->epoch) return loaded;
    loaded.slot = Highest(*first, *second);
    loaded.whole = Same(*first, *second);
  } else {
    loaded.slot = first.has_value() ? first : second;
  }
  first_to_write_ = first.has_value() ? 1 : 0;
  if (loaded.slot.has_value() && loaded.mark.has_value() && loaded.mark->epoch == loaded.slot->epoch) {
    loaded.slot = Highest(*loaded.slot, *loaded.mark);
  }
  return loaded;
}

absl::Status SpoolState::Create() {
  const std::string path = JoinPath(directory_, "state");
  PARITECT_ASSIGN_OR_RETURN(state_, OpenIfThere(io_, path));
  if (state_ == nullptr) {
    PARITECT_ASSIGN_OR_RETURN(state_, io_.Open(path, SpoolIo::OpenMode::kCreateNew));
  }
  const absl::Status synced = sync_ ? io_.SyncDirectory(directory_) : absl::OkStatus();
  if (!synced.ok()) state_.reset();
  return synced;
}

absl::Status SpoolState::Save(const Slot& slot) {
  if (state_ == nullptr) PARITECT_RETURN_IF_ERROR(Create());
  const std::string bytes = spool_format::EncodeSlot(slot);
  const int first = first_to_write_;
  for (const int which : {first, 1 - first}) {
    first_to_write_ = which;  // until it is synced it may be torn; then it comes first the next time
    PARITECT_RETURN_IF_ERROR(state_->WriteAt(which == 0 ? 0 : spool_format::kSecondSlotOffset, bytes));
    if (sync_) PARITECT_RETURN_IF_ERROR(state_->Sync());
  }
  return absl::OkStatus();
}

absl::Status SpoolState::Mark(const Slot& slot) {
  if (mark_ == nullptr) {
    const std::string path = JoinPath(directory_, "mark");
    PARITECT_ASSIGN_OR_RETURN(mark_, OpenIfThere(io_, path));
    if (mark_ == nullptr) {
      PARITECT_ASSIGN_OR_RETURN(mark_, io_.Open(path, SpoolIo::OpenMode::kCreateNew));
    }
  }
  return mark_->WriteAt(0, spool_format::EncodeSlot(slot));
}

}  // namespace paritect
