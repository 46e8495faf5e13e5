// Reads the records of one segment in order, stepping over damage. A record is handed out only if both its checksums,
// its class and its place hold; after anything else the search for the next record goes on at the next byte (damaged
// header) or behind the record (damaged payload). What is skipped shows as a jump in the sequences.
#ifndef PARITECT_AGENT_SPOOL_SEGMENT_SCANNER_H_
#define PARITECT_AGENT_SPOOL_SEGMENT_SCANNER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/spool/spool_format.h"
#include "agent/spool/spool_io.h"

namespace paritect {

struct ScannedRecord {
  spool_format::RecordHeader header;
  absl::string_view payload;  // valid until the scanner is used again
  std::uint64_t end_offset = 0;
};

// Not thread-safe. Memory: one chunk (64 KiB) or the largest record of the segment.
class SegmentScanner {
 public:
  // `file` must outlive this. Looks at bytes before `end` only; records have `record_class` and rising sequences.
  SegmentScanner(SpoolFile& file, spool_format::SegmentKey key, RecordClass record_class, std::uint64_t end);

  // The next record; nothing at the end. An error of the disk comes back as it is and leaves the scanner where it was;
  // after kReadTries of them at one place, while the segment's head can be read, the unreadable blocks count as
  // damaged.
  absl::StatusOr<std::optional<ScannedRecord>> Next();

  // More of the segment may be read from now on: records were added.
  void ExtendTo(std::uint64_t end) { end_ = end; }

  static constexpr int kReadTries = 20;

 private:
  // `size` bytes at `offset`, all before end_.
  absl::StatusOr<absl::string_view> Peek(std::uint64_t offset, std::size_t size);
  absl::Status Fill(std::uint64_t offset, std::size_t size);
  absl::Status FillAroundBadBlocks(std::uint64_t offset, std::size_t size);
  // The next place at or behind `offset` where a record header may begin; end_ if there is none.
  absl::StatusOr<std::uint64_t> FindMagic(std::uint64_t offset);
  absl::StatusOr<std::optional<spool_format::RecordHeader>> HeaderAt(std::uint64_t offset);

  SpoolFile& file_;
  const spool_format::SegmentKey key_;
  const RecordClass class_;
  std::uint64_t end_;
  std::uint64_t offset_ = spool_format::kRecordsOffset;
  std::uint64_t last_sequence_;
  std::string window_;  // bytes from window_offset_
  std::uint64_t window_offset_ = 0;
  int failed_reads_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SEGMENT_SCANNER_H_
