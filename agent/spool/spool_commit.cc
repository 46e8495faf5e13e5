// The spool's way in: numbers, segments and writes of one commit.
#include "absl/strings/str_cat.h"
#include "agent/spool/spool.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using spool_format::kRecordsOffset;

// Numbers that one sync of the state gives away; as many are left out after a crash, of 2^62.
constexpr std::uint64_t kReservation = 1 << 16;
constexpr int kCreateTries = 16;
// A segment is closed after this part of the age bound, so that its beginning tells its age.
constexpr std::int64_t kRollsPerAge = 8;

}  // namespace

std::int64_t Spool::RollMs() const {
  return options_.max_age_ms / kRollsPerAge;
}

absl::Status Spool::Commit(const std::vector<Waiter*>& group) {
  absl::MutexLock commit(&commit_mutex_);
  if (closed_) return absl::FailedPreconditionError("the spool is closed");
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  for (const Waiter* waiter : group) {
    records += waiter->batch.size();
    bytes += waiter->bytes;
  }
  const RecordClass record_class = group.front()->record_class;
  (void)DropOld();  // what cannot be dropped now will be later
  PARITECT_RETURN_IF_ERROR(MakeRoom(bytes));
  // Making a segment may leave out some numbers.
  PARITECT_RETURN_IF_ERROR(Reserve(records + kCreateTries));
  PARITECT_RETURN_IF_ERROR(EnsureActive(record_class, bytes));
  return Write(group, records);
}

absl::Status Spool::Reserve(std::uint64_t records) {
  if (next_ + records <= reserved_) return absl::OkStatus();
  spool_format::Slot slot = SlotNow();
  slot.reserved = next_ + records + kReservation;
  PARITECT_RETURN_IF_ERROR(state_.Save(slot));
  reserved_ = slot.reserved;
  return absl::OkStatus();
}

absl::Status Spool::Write(const std::vector<Waiter*>& group, std::uint64_t records) {
  const RecordClass record_class = group.front()->record_class;
  Active& active = active_[static_cast<int>(record_class)];
  buffer_.clear();
  std::uint64_t sequence = next_;
  for (Waiter* waiter : group) {
    for (const NewRecord& record : waiter->batch) {
      spool_format::RecordHeader header;
      header.sequence = sequence++;
      header.observed_ms = record.observed_ms;
      header.record_class = record_class;
      spool_format::AppendRecord(active.key, active.end + buffer_.size(), header, record.payload, buffer_);
    }
    waiter->last = sequence - 1;
  }
  absl::Status written = active.file->WriteAt(active.end, buffer_);
  if (written.ok() && options_.sync) written = active.file->Sync();
  if (!written.ok()) {
    Abandon(record_class, records);
    return written;
  }
  active.end += buffer_.size();
  next_ = sequence;
  pending_skip_ = NumberRange();
  constexpr std::size_t kKeptBytes = 1 << 20;
  if (buffer_.capacity() > kKeptBytes) std::string().swap(buffer_);
  {
    absl::MutexLock lock(&mutex_);
    Segment segment = *index_.Find(record_class, active.key.first);
    segment.last = next_ - 1;
    segment.records += records;
    segment.end = active.end;
    index_.Put(segment);
    accepted_ = segment.last;
  }
  (void)state_.Mark(SlotNow());
  return absl::OkStatus();
}

// After a failed write or sync: what the disk now holds behind the end is not known, so the segment is not written any
// more and the numbers are not used again. If the file could be cut and synced, nothing of them can come back.
void Spool::Abandon(RecordClass record_class, std::uint64_t records) {
  Active& active = active_[static_cast<int>(record_class)];
  if (active.file->Truncate(active.end).ok()) (void)active.file->Sync();
  Burn(records, GapReason::kNotWritten);
}

// Leaves out the next numbers. The next segment of either class tells it, so neither goes on with its present one.
void Spool::Burn(std::uint64_t numbers, GapReason reason) {
  if (pending_skip_.from == 0) pending_skip_ = {next_, next_, reason};
  next_ += numbers;
  pending_skip_.to = next_ - 1;
  for (Active& active : active_) active = Active();
  absl::MutexLock lock(&mutex_);
  index_.AddSkip(pending_skip_);
}

absl::Status Spool::EnsureActive(RecordClass record_class, std::uint64_t bytes) {
  Active& active = active_[static_cast<int>(record_class)];
  if (active.file != nullptr) {
    const bool full = active.end + bytes > options_.segment_bytes;
    const bool old = options_.max_age_ms > 0 && clock_() - active.created_ms > RollMs();
    if (active.end == kRecordsOffset || (!full && !old)) return absl::OkStatus();
    active = Active();
  }
  return CreateSegment(record_class);
}

absl::Status Spool::CreateSegment(RecordClass record_class) {
  for (int attempt = 0; attempt < kCreateTries; ++attempt) {
    spool_format::SegmentHeader header;
    header.record_class = record_class;
    header.epoch = epoch_;
    header.first = next_;
    header.created_ms = clock_();
    header.skip_from = pending_skip_.from;
    header.skip_to = pending_skip_.to;
    header.skip_reason = pending_skip_.reason;
    Active active;
    const absl::Status created = CreateFile(header, active);
    if (created.ok()) {
      Segment segment;
      segment.record_class = record_class;
      segment.first = header.first;
      segment.last = header.first - 1;
      segment.end = kRecordsOffset;
      segment.created_ms = header.created_ms;
      absl::MutexLock lock(&mutex_);
      index_.AddSkip(pending_skip_);
      index_.Put(segment);
      active_[static_cast<int>(record_class)] = std::move(active);
      return absl::OkStatus();
    }
    if (!absl::IsAlreadyExists(created)) return created;
    Burn(1, GapReason::kNotWritten);  // the name is taken
  }
  return absl::UnavailableError(absl::StrCat("no name is free for a segment in ", DisplayBytes(directory_)));
}

absl::Status Spool::CreateFile(const spool_format::SegmentHeader& header, Active& active) {
  const std::string path = JoinPath(directory_, spool_format::EncodeSegmentName({header.record_class, header.first}));
  PARITECT_ASSIGN_OR_RETURN(active.file, io_.Open(path, SpoolIo::OpenMode::kCreateNew));
  std::string head = spool_format::EncodeSegmentHeader(header);
  head.resize(kRecordsOffset, '\0');
  absl::Status status = active.file->WriteAt(0, head);
  // Before any record, so that none can be there without its header.
  if (status.ok() && options_.sync) status = active.file->Sync();
  if (status.ok() && options_.sync) status = io_.SyncDirectory(directory_);
  if (!status.ok()) {
    active.file.reset();
    (void)io_.Remove(path);  // if it stays, the name is taken at the next attempt
    return status;
  }
  active.key = {header.epoch, header.first};
  active.end = kRecordsOffset;
  active.created_ms = header.created_ms;
  return absl::OkStatus();
}

}  // namespace paritect
