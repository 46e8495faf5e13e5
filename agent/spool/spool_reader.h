// Reads the segments of both classes as one sequence of records and gaps. Between two reads it keeps its place, so that
// reading on costs no search.
#ifndef PARITECT_AGENT_SPOOL_SPOOL_READER_H_
#define PARITECT_AGENT_SPOOL_SPOOL_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/spool/segment_scanner.h"
#include "agent/spool/spool_index.h"
#include "agent/spool/spool_io.h"

namespace paritect {

// A record, or a gap of numbers that carry none.
struct SpoolEntry {
  std::uint64_t sequence = 0;
  std::uint64_t last_sequence = 0;  // of a gap; a record's own number otherwise
  GapReason gap = GapReason::kNone;
  RecordClass record_class = RecordClass::kBulk;  // of a record
  std::int64_t observed_ms = 0;
  std::string payload;

  bool is_gap() const { return gap != GapReason::kNone; }
};

// Not thread-safe. Looks into `index` under `mutex`, never while it reads the disk.
class SpoolReader {
 public:
  SpoolReader(std::string directory, SpoolIo& io, const SpoolIndex& index, absl::Mutex& mutex)
      : directory_(std::move(directory)), io_(io), index_(index), mutex_(mutex) {}

  void SetEpoch(std::uint64_t epoch) { epoch_ = epoch; }

  // Entries that cover from..through without a jump, as far as the limits go; at least one if from <= through. All
  // records up to `through` must be in the index.
  absl::StatusOr<std::vector<SpoolEntry>> Read(std::uint64_t from, std::uint64_t through, std::uint64_t max_bytes,
                                               std::size_t max_entries);

  // Segments were taken away: look everything up again.
  void Forget();

 private:
  struct Cursor {
    bool placed = false;      // at a segment, perhaps behind its last record
    std::uint64_t first = 0;  // of that segment
    std::uint64_t end = 0;    // up to where it is being read
    std::unique_ptr<SpoolFile> file;
    std::unique_ptr<SegmentScanner> scanner;
    std::optional<SpoolEntry> ahead;  // read, not yet handed out
  };

  // Makes `ahead` the class's first record numbered `from` or higher, if there is one.
  absl::Status Advance(RecordClass record_class, std::uint64_t from);
  // Reads on in the open segment until a record is found; false at its end.
  absl::StatusOr<bool> Step(RecordClass record_class, std::uint64_t from);
  // Places the cursor at the first segment or the one behind the present one; false if there is none.
  absl::StatusOr<bool> OpenNext(RecordClass record_class, std::uint64_t from);
  bool Refresh(RecordClass record_class);
  void Emit(SpoolEntry entry, std::vector<SpoolEntry>& entries);
  void EmitGap(std::uint64_t from, std::uint64_t to, std::size_t max_entries, std::vector<SpoolEntry>& entries);
  Cursor& At(RecordClass record_class) { return cursors_[static_cast<int>(record_class)]; }

  const std::string directory_;
  SpoolIo& io_;
  const SpoolIndex& index_;
  absl::Mutex& mutex_;
  std::uint64_t epoch_ = 0;
  std::uint64_t position_ = 0;  // the number that comes next
  Cursor cursors_[kRecordClasses];
};

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SPOOL_READER_H_
