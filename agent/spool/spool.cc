#include "agent/spool/spool.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "agent/spool/spool_recovery.h"
#include "common/file_system.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using spool_format::kRecordHeaderBytes;
using spool_format::kRecordsOffset;

constexpr std::uint64_t kMaxBytesMin = 64 << 10;
constexpr std::uint64_t kSegmentBytesMin = 4 << 10;
constexpr std::uint64_t kGroupBytesMax = 4 << 20;  // what one fdatasync covers, beside the first batch

SpoolOptions Sane(SpoolOptions options) {
  options.max_bytes = std::max(options.max_bytes, kMaxBytesMin);
  options.segment_bytes = std::clamp(options.segment_bytes, kSegmentBytesMin, options.max_bytes / 8);
  const std::uint64_t fits = std::min<std::uint64_t>(options.segment_bytes - kRecordsOffset - kRecordHeaderBytes,
                                                     spool_format::kPayloadBytesMax);
  options.max_record_bytes = std::clamp<std::uint64_t>(options.max_record_bytes, 1, fits);
  return options;
}

std::uint64_t BytesOnDisk(absl::Span<const NewRecord> batch) {
  std::uint64_t bytes = 0;
  for (const NewRecord& record : batch) bytes += kRecordHeaderBytes + record.payload.size();
  return bytes;
}

}  // namespace

Spool::Spool(std::string directory, SpoolOptions options, Clock clock, SpoolIo& io, std::unique_ptr<SpoolLock> lock)
    : directory_(std::move(directory)),
      options_(Sane(options)),
      clock_(std::move(clock)),
      io_(io),
      lock_(std::move(lock)),
      state_(directory_, io, options.sync),
      reader_(directory_, io, index_, mutex_) {}

Spool::~Spool() {
  (void)Close();
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(absl::string_view directory, SpoolOptions options, Clock clock,
                                                   SpoolIo& io) {
  PARITECT_RETURN_IF_ERROR(io.MakeDirectory(directory));
  PARITECT_RETURN_IF_ERROR(io.SyncDirectory(DirName(directory)));
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<SpoolLock> lock, io.Lock(JoinPath(directory, "lock")));
  std::unique_ptr<Spool> spool(new Spool(std::string(directory), options, std::move(clock), io, std::move(lock)));
  const absl::Status recovered = spool->Recover();
  if (!recovered.ok()) {
    absl::MutexLock commit(&spool->commit_mutex_);
    spool->closed_ = true;  // nothing is known that could be noted
    return recovered;
  }
  return spool;
}

absl::Status Spool::Recover() {
  absl::MutexLock commit(&commit_mutex_);
  PARITECT_ASSIGN_OR_RETURN(const SpoolState::Loaded loaded, state_.Load());
  PARITECT_ASSIGN_OR_RETURN(RecoveredSpool recovered, RecoverSpool(directory_, io_, loaded, options_.sync));
  if (recovered.save) PARITECT_RETURN_IF_ERROR(state_.Save(recovered.slot));
  epoch_ = recovered.slot.epoch;
  foreign_files_ = recovered.foreign_files;
  next_ = reserved_ = recovered.slot.reserved;
  pending_skip_ = recovered.skip;
  {
    absl::MutexLock read(&read_mutex_);
    reader_.SetEpoch(epoch_);
    absl::MutexLock lock(&mutex_);
    index_ = std::move(recovered.index);
    accepted_ = recovered.slot.accepted;
    low_water_ = recovered.slot.low_water;
    index_.ForgetSkipsUpTo(low_water_);
  }
  (void)DeleteAcknowledged();  // tried again with every acknowledgement
  identity_ = IdentityNow().value_or("");
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> Spool::Append(RecordClass record_class, absl::Span<const NewRecord> batch) {
  if (batch.empty()) return absl::InvalidArgumentError("an empty batch");
  for (const NewRecord& record : batch) {
    if (record.payload.size() > options_.max_record_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a record of ", record.payload.size(), " bytes; the spool takes ", options_.max_record_bytes));
    }
  }
  Waiter own = {record_class, batch, BytesOnDisk(batch), 0, absl::OkStatus(), false};
  if (own.bytes > options_.segment_bytes - kRecordsOffset) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", own.bytes, " bytes; a segment of the spool takes ",
                                                   options_.segment_bytes - kRecordsOffset, "; append it in parts"));
  }
  absl::MutexLock lock(&mutex_);
  queue_.push_back(&own);
  const auto ready = [this, &own] {
    mutex_.AssertReaderHeld();
    return own.done || !led_;
  };
  mutex_.Await(absl::Condition(&ready));
  if (!own.done) Lead(own);
  if (!own.status.ok()) {
    ++refused_appends_;
    return own.status;
  }
  return own.last;
}

// Commits groups until the own batch is done; whoever waits then leads the next.
void Spool::Lead(Waiter& own) {
  led_ = true;
  while (!own.done) {
    std::vector<Waiter*> group = TakeGroup();
    mutex_.Unlock();
    absl::Status status = Commit(group);
    mutex_.Lock();
    if (absl::IsResourceExhausted(status) && group.size() > 1) {
      // A smaller group may fit: the others go back to their places.
      mutex_.Unlock();
      status = Commit({group.front()});
      mutex_.Lock();
      queue_.insert(queue_.begin(), group.begin() + 1, group.end());
      group.resize(1);
    }
    for (Waiter* waiter : group) {
      waiter->status = status;
      waiter->done = true;
    }
  }
  led_ = false;
}

// Batches of one class from the head of the queue: one file, one sync.
std::vector<Spool::Waiter*> Spool::TakeGroup() {
  std::vector<Waiter*> group;
  std::uint64_t bytes = 0;
  while (!queue_.empty()) {
    Waiter* const waiter = queue_.front();
    bytes += waiter->bytes;
    const bool fits = bytes <= std::min(kGroupBytesMax, options_.segment_bytes - kRecordsOffset);
    if (!group.empty() && (waiter->record_class != group.front()->record_class || !fits)) break;
    group.push_back(waiter);
    queue_.pop_front();
  }
  return group;
}

absl::StatusOr<std::vector<SpoolEntry>> Spool::Read(std::uint64_t from, std::uint64_t max_bytes,
                                                    std::size_t max_entries) {
  absl::MutexLock read(&read_mutex_);
  std::uint64_t through = 0;
  {
    absl::MutexLock lock(&mutex_);
    through = accepted_;
    from = std::max(from, low_water_ + 1);
  }
  return reader_.Read(from, through, max_bytes, max_entries);
}

absl::Status Spool::Acknowledge(std::uint64_t sequence) {
  absl::MutexLock commit(&commit_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (sequence > accepted_) {
      return absl::InvalidArgumentError(absl::StrCat("acknowledged: ", sequence, "; the last record is ", accepted_));
    }
    low_water_ = std::max(low_water_, sequence);
    index_.ForgetSkipsUpTo(low_water_);
  }
  (void)state_.Mark(SlotNow());
  return DeleteAcknowledged();
}

absl::Status Spool::Expire() {
  absl::MutexLock commit(&commit_mutex_);
  return DropOld();
}

absl::Status Spool::Close() {
  absl::MutexLock commit(&commit_mutex_);
  if (closed_) return absl::OkStatus();
  closed_ = true;
  // Nothing beyond next_ was given away, so the reservation may be taken back.
  spool_format::Slot slot = SlotNow();
  slot.reserved = next_;
  PARITECT_RETURN_IF_ERROR(state_.Save(slot));
  return state_.Mark(slot);
}

spool_format::Slot Spool::SlotNow() const {
  absl::MutexLock lock(&mutex_);
  return {epoch_, reserved_, accepted_, low_water_};
}

SpoolStats Spool::Stats() const {
  absl::MutexLock lock(&mutex_);
  SpoolStats stats;
  stats.epoch = epoch_;
  stats.accepted_sequence = accepted_;
  stats.next_sequence = accepted_ + 1;
  stats.low_water = low_water_;
  stats.bytes = index_.bytes();
  stats.foreign_files = foreign_files_;
  stats.dropped_records = dropped_records_;
  stats.refused_appends = refused_appends_;
  std::int64_t oldest_ms = std::numeric_limits<std::int64_t>::max();
  for (const RecordClass record_class : {RecordClass::kCritical, RecordClass::kBulk}) {
    for (const auto& [first, segment] : index_.Of(record_class)) {
      ++stats.segments;
      if (segment.last <= low_water_ || segment.records == 0) continue;
      stats.records += std::min(segment.records, segment.last - low_water_);
      if (segment.created_ms != 0) oldest_ms = std::min(oldest_ms, segment.created_ms);
    }
  }
  const std::int64_t now_ms = clock_();
  if (oldest_ms < now_ms) stats.oldest_age_ms = now_ms - oldest_ms;
  return stats;
}

}  // namespace paritect
