// The spool's ways out: room for what is new, age, acknowledgement.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/spool/spool.h"
#include "common/file_system.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using spool_format::kRecordsOffset;

// Dropped segments that keep a file (a block) of their own; above, neighbours are joined.
std::size_t DroppedFilesMax(std::uint64_t max_bytes) {
  constexpr std::uint64_t kPartOfBytes = 32;
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(max_bytes / kPartOfBytes / SpoolIndex::DiskBytes(1), 1, 64));
}

std::string PathOf(const std::string& directory, const Segment& segment) {
  return JoinPath(directory, spool_format::EncodeSegmentName({segment.record_class, segment.first}));
}

// The oldest bulk segment with records.
const Segment* OldestBulk(const SpoolIndex& index) {
  for (const auto& [first, segment] : index.Of(RecordClass::kBulk)) {
    if (!segment.dropped.has_value() && segment.records > 0) return &segment;
  }
  return nullptr;
}

}  // namespace

bool Spool::IsActive(const Segment& segment) const {
  const Active& active = active_[static_cast<int>(segment.record_class)];
  return active.file != nullptr && active.key.first == segment.first;
}

absl::Status Spool::MakeRoom(std::uint64_t bytes) {
  // A new segment may be begun; its head and the rest of a block come on top.
  const std::uint64_t wanted = SpoolIndex::DiskBytes(bytes + kRecordsOffset) + SpoolIndex::DiskBytes(1);
  for (bool deleted = false;;) {
    std::optional<Segment> oldest;
    {
      absl::MutexLock lock(&mutex_);
      if (index_.bytes() + wanted <= options_.max_bytes) return absl::OkStatus();
    }
    if (!std::exchange(deleted, true)) {
      (void)DeleteAcknowledged();  // what an earlier try left
      continue;
    }
    {
      absl::MutexLock lock(&mutex_);
      const Segment* segment = OldestBulk(index_);
      if (segment != nullptr) oldest = *segment;
      // Where dropping all of it would not do, nothing is dropped.
      if (segment == nullptr || index_.bytes(RecordClass::kCritical) + wanted > options_.max_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the spool is full: ", index_.bytes(), " of ", options_.max_bytes,
                         " bytes wait for a server, and critical records are not dropped"));
      }
    }
    if (IsActive(*oldest)) active_[static_cast<int>(RecordClass::kBulk)] = Active();
    PARITECT_RETURN_IF_ERROR(Drop(*oldest, GapReason::kDroppedFull));
  }
}

absl::Status Spool::DropOld() {
  if (options_.max_age_ms <= 0) return absl::OkStatus();
  // A segment's last record came at most RollMs after its first.
  const std::int64_t born_before_ms = clock_() - options_.max_age_ms - RollMs();
  while (true) {
    std::optional<Segment> oldest;
    {
      absl::MutexLock lock(&mutex_);
      const Segment* segment = OldestBulk(index_);
      if (segment == nullptr || segment->created_ms == 0 || segment->created_ms > born_before_ms) break;
      oldest = *segment;
    }
    if (IsActive(*oldest)) active_[static_cast<int>(RecordClass::kBulk)] = Active();
    PARITECT_RETURN_IF_ERROR(Drop(*oldest, GapReason::kDroppedAge));
  }
  return absl::OkStatus();
}

// First the drop is durable in the segment itself, in place, so that it works on a full disk; then the space goes.
absl::Status Spool::Drop(const Segment& segment, GapReason reason) {
  absl::MutexLock read(&read_mutex_);
  auto opened = io_.Open(PathOf(directory_, segment), SpoolIo::OpenMode::kReadWrite);
  if (absl::IsNotFound(opened.status())) {  // somebody was faster: what it held shows as damaged
    absl::MutexLock lock(&mutex_);
    index_.Erase(segment.record_class, segment.first);
    return absl::OkStatus();
  }
  PARITECT_RETURN_IF_ERROR(opened.status());
  const std::unique_ptr<SpoolFile> file = *std::move(opened);
  const spool_format::Drop drop = {segment.first, segment.last, reason};
  PARITECT_RETURN_IF_ERROR(file->WriteAt(spool_format::DropOffset(segment.drop_slot),
                                         spool_format::EncodeDrop({epoch_, segment.first}, drop)));
  if (options_.sync) PARITECT_RETURN_IF_ERROR(file->Sync());
  const bool cut = file->Truncate(kRecordsOffset).ok();  // else the next start cuts it; until then it counts in full
  reader_.Forget();
  {
    absl::MutexLock lock(&mutex_);
    Segment dropped = segment;
    dropped.dropped = NumberRange{drop.from, drop.to, reason};
    dropped.drop_slot = 1 - segment.drop_slot;
    dropped.records = 0;
    if (cut) dropped.end = kRecordsOffset;
    index_.Put(dropped);
    dropped_records_ += segment.records;
  }
  return MergeDropped();
}

// Lets one file tell what two neighbours tell, when there are many.
absl::Status Spool::MergeDropped() {
  std::optional<Segment> into;
  std::optional<Segment> gone;
  {
    absl::MutexLock lock(&mutex_);
    std::size_t count = 0;
    const Segment* before = nullptr;
    for (const auto& [first, segment] : index_.Of(RecordClass::kBulk)) {
      const bool dropped = segment.dropped.has_value();
      if (dropped) ++count;
      const bool joins = dropped && before != nullptr && before->dropped.has_value();
      if (joins && (!into.has_value() || (into->dropped->reason != gone->dropped->reason &&
                                          before->dropped->reason == segment.dropped->reason))) {
        into = *before;
        gone = segment;
      }
      before = &segment;
    }
    if (count <= DroppedFilesMax(options_.max_bytes) || !into.has_value()) return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<SpoolFile> file,
                            io_.Open(PathOf(directory_, *into), SpoolIo::OpenMode::kReadWrite));
  into->dropped->to = into->last = gone->dropped->to;
  const spool_format::Drop drop = {into->dropped->from, into->dropped->to, into->dropped->reason};
  PARITECT_RETURN_IF_ERROR(
      file->WriteAt(spool_format::DropOffset(into->drop_slot), spool_format::EncodeDrop({epoch_, into->first}, drop)));
  if (options_.sync) PARITECT_RETURN_IF_ERROR(file->Sync());
  into->drop_slot = 1 - into->drop_slot;
  (void)io_.Remove(PathOf(directory_, *gone));  // if it stays, the next start removes it
  absl::MutexLock lock(&mutex_);
  index_.Erase(gone->record_class, gone->first);
  index_.Put(*into);
  return absl::OkStatus();
}

absl::Status Spool::DeleteAcknowledged() {
  std::vector<Segment> past;
  {
    absl::MutexLock lock(&mutex_);
    for (const RecordClass record_class : {RecordClass::kCritical, RecordClass::kBulk}) {
      for (const auto& [first, segment] : index_.Of(record_class)) {
        if (first > low_water_) break;
        if (segment.last <= low_water_ && !IsActive(segment)) past.push_back(segment);
      }
    }
  }
  if (past.empty()) return absl::OkStatus();
  // The mark of what is past must outlive the files, or they would look lost.
  PARITECT_RETURN_IF_ERROR(state_.Save(SlotNow()));
  for (const Segment& segment : past) {
    const absl::Status removed = io_.Remove(PathOf(directory_, segment));
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    absl::MutexLock lock(&mutex_);
    index_.Erase(segment.record_class, segment.first);
  }
  return absl::OkStatus();
}

}  // namespace paritect
