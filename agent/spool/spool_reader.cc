#include "agent/spool/spool_reader.h"

#include <utility>

#include "common/file_system.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr RecordClass kClasses[] = {RecordClass::kCritical, RecordClass::kBulk};

}  // namespace

void SpoolReader::Forget() {
  for (Cursor& cursor : cursors_) cursor = Cursor();
}

absl::StatusOr<std::vector<SpoolEntry>> SpoolReader::Read(std::uint64_t from, std::uint64_t through,
                                                          std::uint64_t max_bytes, std::size_t max_entries) {
  if (from != position_) Forget();
  position_ = from;
  std::vector<SpoolEntry> entries;
  std::uint64_t bytes = 0;
  while (position_ <= through && (entries.empty() || entries.size() < max_entries)) {
    RecordClass nearest = RecordClass::kCritical;
    for (const RecordClass record_class : kClasses) {
      const absl::Status advanced = Advance(record_class, position_);
      // What is read already is handed out; the error shows at the next call.
      if (!advanced.ok() && entries.empty()) return advanced;
      if (!advanced.ok()) return entries;
    }
    const std::optional<SpoolEntry>& critical = At(RecordClass::kCritical).ahead;
    const std::optional<SpoolEntry>& bulk = At(RecordClass::kBulk).ahead;
    if (bulk.has_value() && (!critical.has_value() || bulk->sequence < critical->sequence)) {
      nearest = RecordClass::kBulk;
    }
    std::optional<SpoolEntry>& record = At(nearest).ahead;
    const std::uint64_t sequence = record.has_value() ? record->sequence : through + 1;
    if (sequence > position_) {
      EmitGap(position_, std::min(sequence - 1, through), max_entries, entries);
      continue;
    }
    bytes += record->payload.size();
    if (bytes > max_bytes && !entries.empty()) break;
    Emit(*std::exchange(record, std::nullopt), entries);
  }
  return entries;
}

void SpoolReader::Emit(SpoolEntry entry, std::vector<SpoolEntry>& entries) {
  position_ = entry.last_sequence + 1;
  entries.push_back(std::move(entry));
}

void SpoolReader::EmitGap(std::uint64_t from, std::uint64_t to, std::size_t max_entries,
                          std::vector<SpoolEntry>& entries) {
  std::vector<NumberRange> ranges;
  {
    absl::MutexLock lock(&mutex_);
    ranges = index_.Explain(from, to);
  }
  for (const NumberRange& range : ranges) {
    if (!entries.empty() && entries.size() >= max_entries) return;
    SpoolEntry gap;
    gap.sequence = range.from;
    gap.last_sequence = range.to;
    gap.gap = range.reason;
    Emit(std::move(gap), entries);
  }
}

absl::Status SpoolReader::Advance(RecordClass record_class, std::uint64_t from) {
  Cursor& cursor = At(record_class);
  if (cursor.ahead.has_value() && cursor.ahead->sequence >= from) return absl::OkStatus();
  cursor.ahead.reset();
  while (true) {
    if (cursor.scanner != nullptr && Refresh(record_class)) {
      PARITECT_ASSIGN_OR_RETURN(const bool found, Step(record_class, from));
      if (found) return absl::OkStatus();
    }
    PARITECT_ASSIGN_OR_RETURN(const bool opened, OpenNext(record_class, from));
    if (!opened) return absl::OkStatus();
  }
}

// Whether the segment is still there; what was added to it may be read.
bool SpoolReader::Refresh(RecordClass record_class) {
  Cursor& cursor = At(record_class);
  absl::MutexLock lock(&mutex_);
  const Segment* segment = index_.Find(record_class, cursor.first);
  if (segment == nullptr || segment->dropped.has_value()) {
    cursor = Cursor();
    return false;
  }
  cursor.end = segment->end;
  cursor.scanner->ExtendTo(segment->end);
  return true;
}

absl::StatusOr<bool> SpoolReader::Step(RecordClass record_class, std::uint64_t from) {
  Cursor& cursor = At(record_class);
  while (true) {
    PARITECT_ASSIGN_OR_RETURN(const std::optional<ScannedRecord> record, cursor.scanner->Next());
    if (!record.has_value()) return false;
    const std::uint64_t sequence = record->header.sequence;
    if (sequence < from) continue;
    {
      absl::MutexLock lock(&mutex_);
      if (index_.IsSkipped(sequence)) continue;
    }
    SpoolEntry entry;
    entry.sequence = entry.last_sequence = sequence;
    entry.record_class = record_class;
    entry.observed_ms = record->header.observed_ms;
    entry.payload.assign(record->payload.data(), record->payload.size());
    cursor.ahead = std::move(entry);
    return true;
  }
}

absl::StatusOr<bool> SpoolReader::OpenNext(RecordClass record_class, std::uint64_t from) {
  Cursor& cursor = At(record_class);
  Segment segment;
  {
    absl::MutexLock lock(&mutex_);
    // Records that came while the segment was read stand before those of any segment behind it.
    const Segment* present = cursor.scanner != nullptr ? index_.Find(record_class, cursor.first) : nullptr;
    if (present != nullptr && present->end > cursor.end) return true;
    const Segment* found =
        cursor.placed ? index_.Behind(record_class, cursor.first) : index_.Holding(record_class, from);
    if (found == nullptr) return false;
    segment = *found;
  }
  const std::string path = JoinPath(directory_, spool_format::EncodeSegmentName({segment.record_class, segment.first}));
  auto file = io_.Open(path, SpoolIo::OpenMode::kRead);
  // Descriptors may have run out, rights may come back: only a file that is gone is given up.
  if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
  cursor = Cursor();
  cursor.placed = true;
  cursor.first = segment.first;
  cursor.end = segment.end;
  if (!file.ok()) return true;  // it is gone: what it held shows as a gap
  cursor.file = *std::move(file);
  cursor.scanner = std::make_unique<SegmentScanner>(*cursor.file, spool_format::SegmentKey{epoch_, segment.first},
                                                    record_class, segment.end);
  return true;
}

}  // namespace paritect
