// The agent's spool: records that must reach a server, kept on disk until it acknowledges them.
//
// An append-only log of segments (format: agent/spool/spool_format.h; guarantees and bounds: docs/spool.md).
// What it promises:
// - Append returns OK only after fdatasync of the records and, after a new segment, fsync of the folder.
// - (epoch, sequence) names one record for ever. Numbers rise within an epoch and are never used twice, also after a
//   crash, a failed write or damage; numbers left out show as gaps. A spool that was lost gets a new epoch.
// - Read hands out exactly what was appended, or a gap in its place: the entries cover every number. Damage costs the
//   damaged records, never a crash and never a wrong record.
// - Bounds in bytes and age drop the oldest bulk segments (a gap each), never critical records; where only critical
//   ones remain, Append says ResourceExhausted and the caller waits.
// - Memory is bounded by the number of segments and one batch, not by the number of records.
//
// Thread-safe: any number of threads may call any method. Concurrent Appends share one fdatasync.
#ifndef PARITECT_AGENT_SPOOL_SPOOL_H_
#define PARITECT_AGENT_SPOOL_SPOOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "agent/spool/spool_format.h"
#include "agent/spool/spool_index.h"
#include "agent/spool/spool_io.h"
#include "agent/spool/spool_reader.h"
#include "agent/spool/spool_state.h"

namespace paritect {

struct SpoolOptions {
  std::uint64_t max_bytes = std::uint64_t{256} << 20;      // of disk, counted in blocks of 4 KiB; at least 64 KiB
  std::int64_t max_age_ms = std::int64_t{7} * 86'400'000;  // of bulk records; 0: any age
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;   // lowered to an eighth of max_bytes
  std::uint64_t max_record_bytes = 4 << 20;                // of payload; lowered to a segment
  bool sync = true;                                        // false: a power failure may cost records (benchmarks)
};

// What Append takes.
struct NewRecord {
  std::string payload;           // opaque bytes
  std::int64_t observed_ms = 0;  // when it was seen, milliseconds since 1970; carried, not judged
};

struct SpoolStats {
  std::uint64_t epoch = 0;
  std::uint64_t next_sequence = 1;      // no record to come gets a lower number
  std::uint64_t accepted_sequence = 0;  // everything readable ends here
  std::uint64_t low_water = 0;          // acknowledged up to and including
  std::uint64_t bytes = 0;              // of disk
  std::uint64_t records = 0;            // not acknowledged; an upper bound while a segment is acknowledged in part
  std::int64_t oldest_age_ms = 0;       // of the oldest segment with records that are not acknowledged
  std::uint64_t segments = 0;
  std::uint64_t foreign_files = 0;    // in the folder and not of this spool, seen when it was opened
  std::uint64_t dropped_records = 0;  // since it was opened, for space or age
  std::uint64_t refused_appends = 0;  // since it was opened, batches that got an error
};

class Spool {
 public:
  using Clock = std::function<std::int64_t()>;  // milliseconds since 1970; called under locks, must not call back

  // Opens or makes the spool in folder `directory` (its parent must exist). Reads every segment once.
  // FailedPrecondition: another process has it (named). `io` must outlive the spool.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(absl::string_view directory, SpoolOptions options, Clock clock,
                                                     SpoolIo& io = PosixSpoolIo());
  ~Spool();  // Close(); no call may be under way
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Makes a batch durable, all of it or (on an error) none, and returns the last record's number; the others precede it
  // without a jump. After a crash a batch whose Append had not returned may be there in part.
  // InvalidArgument: empty batch, or a record or batch larger than the bounds. ResourceExhausted: the bounds are
  // reached with critical records alone, or the disk is full; try again later. Unavailable, PermissionDenied: the disk
  // fails or is read-only. After any error the spool stays readable, and later Appends work once the cause is gone.
  absl::StatusOr<std::uint64_t> Append(RecordClass record_class, absl::Span<const NewRecord> batch);

  // Entries in order from number `from` (or from what is not acknowledged, if that is later), until `max_bytes` of
  // payload or `max_entries`; at least one if there is any. Empty: nothing there yet. Unavailable: the disk could not
  // be read; after some tries the unreadable part becomes a gap.
  absl::StatusOr<std::vector<SpoolEntry>> Read(std::uint64_t from, std::uint64_t max_bytes, std::size_t max_entries);

  // Everything up to `sequence` is safe elsewhere: deletes whole segments. InvalidArgument above accepted_sequence.
  // After another error the spool has noted it; the deletion is tried again with the next call.
  absl::Status Acknowledge(std::uint64_t sequence);

  // Drops bulk segments that are too old; Append does it too. To be called now and then where nothing is appended.
  absl::Status Expire();

  // To be called now and then: notices that the folder was taken away, emptied or replaced under the spool's feet, and
  // makes it anew. What was in it is a gap from then on; numbers and epoch go on. 0: nothing was amiss, else the number
  // of records that are lost, at least 1. FailedPrecondition: another process uses the new folder.
  absl::StatusOr<std::uint64_t> Mend();

  // Notes the exact end, so that the next Open leaves no number out. Append fails from then on.
  absl::Status Close();

  SpoolStats Stats() const;
  std::uint64_t epoch() const { return epoch_; }

 private:
  // One Append under way.
  struct Waiter {
    RecordClass record_class;
    absl::Span<const NewRecord> batch;
    std::uint64_t bytes = 0;  // on disk
    std::uint64_t last = 0;   // number of its last record
    absl::Status status;
    bool done = false;
  };
  struct Active {
    std::unique_ptr<SpoolFile> file;
    spool_format::SegmentKey key;
    std::uint64_t end = 0;
    std::int64_t created_ms = 0;
  };

  Spool(std::string directory, SpoolOptions options, Clock clock, SpoolIo& io, std::unique_ptr<SpoolLock> lock);
  // What the folder and its state are now; empty: not there, or the I/O tells no identities.
  absl::StatusOr<std::string> IdentityNow() const;
  std::vector<Segment> MissingSegments() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::uint64_t ForgetSegments(const std::vector<Segment>& gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status Recover() ABSL_LOCKS_EXCLUDED(commit_mutex_, mutex_);

  // Group commit.
  std::vector<Waiter*> TakeGroup() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lead(Waiter& own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Commit(const std::vector<Waiter*>& group) ABSL_LOCKS_EXCLUDED(commit_mutex_, mutex_);
  absl::Status Write(const std::vector<Waiter*>& group, std::uint64_t records)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  void Abandon(RecordClass record_class, std::uint64_t records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);

  absl::Status Reserve(std::uint64_t records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status MakeRoom(std::uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status Drop(const Segment& segment, GapReason reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status MergeDropped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status DropOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status EnsureActive(RecordClass record_class, std::uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status CreateSegment(RecordClass record_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status CreateFile(const spool_format::SegmentHeader& header, Active& active);
  void Burn(std::uint64_t numbers, GapReason reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status DeleteAcknowledged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  spool_format::Slot SlotNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  bool IsActive(const Segment& segment) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  std::int64_t RollMs() const;

  const std::string directory_;
  const SpoolOptions options_;
  const Clock clock_;
  SpoolIo& io_;
  std::unique_ptr<SpoolLock> lock_;
  std::uint64_t epoch_ = 0;  // set by Recover, constant afterwards
  std::uint64_t foreign_files_ = 0;

  // Order of locks: commit_mutex_, read_mutex_, mutex_. The first is held across writes, the second across reads of
  // the disk, the third for moments.
  absl::Mutex commit_mutex_;
  absl::Mutex read_mutex_ ABSL_ACQUIRED_AFTER(commit_mutex_);
  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(read_mutex_);

  SpoolState state_ ABSL_GUARDED_BY(commit_mutex_);
  Active active_[kRecordClasses] ABSL_GUARDED_BY(commit_mutex_);
  std::uint64_t next_ ABSL_GUARDED_BY(commit_mutex_) = 1;
  std::uint64_t reserved_ ABSL_GUARDED_BY(commit_mutex_) = 1;
  // Numbers that no record has, still to be told by the header of the next segment.
  NumberRange pending_skip_ ABSL_GUARDED_BY(commit_mutex_);
  std::string buffer_ ABSL_GUARDED_BY(commit_mutex_);
  bool closed_ ABSL_GUARDED_BY(commit_mutex_) = false;
  std::string identity_ ABSL_GUARDED_BY(commit_mutex_);  // of the folder, as it was opened or made

  SpoolReader reader_ ABSL_GUARDED_BY(read_mutex_);

  SpoolIndex index_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t accepted_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t low_water_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_records_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_appends_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Waiter*> queue_ ABSL_GUARDED_BY(mutex_);
  bool led_ ABSL_GUARDED_BY(mutex_) = false;  // some thread commits for all
};

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SPOOL_H_
