// What is known of each segment, in memory: one entry a segment, none a record. No I/O, no locks.
#ifndef PARITECT_AGENT_SPOOL_SPOOL_INDEX_H_
#define PARITECT_AGENT_SPOOL_SPOOL_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "agent/spool/spool_format.h"

namespace paritect {

// from..to, both included; none while from is 0.
struct NumberRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  GapReason reason = GapReason::kNone;
};

struct Segment {
  RecordClass record_class = RecordClass::kBulk;
  std::uint64_t first = 0;    // as in its name
  std::uint64_t last = 0;     // its highest number: of a record, or of what was dropped; first - 1 where it has none
  std::uint64_t records = 0;  // that can be read
  std::uint64_t end = 0;      // bytes that count; behind it may be what a failed write left
  std::int64_t created_ms = 0;
  std::optional<NumberRange> dropped;
  int drop_slot = 0;  // where the next drop is written
};

class SpoolIndex {
 public:
  using Map = std::map<std::uint64_t, Segment>;  // by first

  void Put(const Segment& segment);
  void Erase(RecordClass record_class, std::uint64_t first);
  // Null where there is none.
  const Segment* Find(RecordClass record_class, std::uint64_t first) const;
  // The first segment, not dropped, that may hold `sequence` or a later number.
  const Segment* Holding(RecordClass record_class, std::uint64_t sequence) const;
  // The first segment, not dropped, behind the one that begins with `first`.
  const Segment* Behind(RecordClass record_class, std::uint64_t first) const;
  const Map& Of(RecordClass record_class) const { return maps_[static_cast<int>(record_class)]; }

  // Numbers that no record has, whatever a segment holds.
  void AddSkip(const NumberRange& range);
  bool IsSkipped(std::uint64_t sequence) const;
  void ForgetSkipsUpTo(std::uint64_t sequence);

  // Why from..to carry no record: ranges in order that cover them all.
  std::vector<NumberRange> Explain(std::uint64_t from, std::uint64_t to) const;

  std::uint64_t bytes() const { return bytes_[0] + bytes_[1]; }
  std::uint64_t bytes(RecordClass record_class) const { return bytes_[static_cast<int>(record_class)]; }
  // What a file of `size` bytes takes from the disk.
  static std::uint64_t DiskBytes(std::uint64_t size);

 private:
  Map maps_[kRecordClasses];
  std::uint64_t bytes_[kRecordClasses] = {};
  std::map<std::uint64_t, NumberRange> skips_;  // by from; disjoint
  std::map<std::uint64_t, NumberRange> drops_;  // of the dropped segments, by their first; disjoint
};

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SPOOL_INDEX_H_
