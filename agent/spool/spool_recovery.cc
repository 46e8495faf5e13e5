#include "agent/spool/spool_recovery.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/spool/segment_scanner.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using spool_format::SegmentHeader;
using spool_format::SegmentName;

constexpr std::uint64_t kDoubtJump = std::uint64_t{1} << 48;

struct Candidate {
  SegmentName name;
  std::unique_ptr<SpoolFile> file;
  std::string head;  // header and drop slots, as far as the file goes
  std::optional<SegmentHeader> header;
  std::uint64_t size = 0;
};

class Recovery {
 public:
  Recovery(const std::string& directory, SpoolIo& io, bool sync) : directory_(directory), io_(io), sync_(sync) {}

  absl::StatusOr<RecoveredSpool> Run(const SpoolState::Loaded& loaded) {
    PARITECT_RETURN_IF_ERROR(ReadHeads());
    PARITECT_RETURN_IF_ERROR(SettleEpoch(loaded));
    LeaveForeign();
    for (const Candidate& candidate : candidates_) NoteSkip(candidate);
    for (Candidate& candidate : candidates_) PARITECT_RETURN_IF_ERROR(ReadSegment(candidate));
    RemoveJoined();
    PARITECT_RETURN_IF_ERROR(SettleNumbers());
    return std::move(result_);
  }

 private:
  std::string PathOf(const SegmentName& name) const {
    return JoinPath(directory_, spool_format::EncodeSegmentName(name));
  }
  absl::Status ReadHeads();
  absl::StatusOr<Candidate> ReadHead(const SegmentName& name, const std::string& file_name);
  absl::Status SettleEpoch(const SpoolState::Loaded& loaded);
  void LeaveForeign();
  void NoteSkip(const Candidate& candidate);
  absl::Status ReadSegment(Candidate& candidate);
  absl::Status CountRecords(Candidate& candidate, Segment& segment);
  static absl::Status MakeDurable(SpoolFile& file, std::uint64_t begin, std::uint64_t end);
  absl::Status ConfirmDrop(SpoolFile& file, const Segment& segment) const;
  void RemoveJoined();
  absl::Status SettleNumbers();

  const std::string& directory_;
  SpoolIo& io_;
  const bool sync_;
  std::vector<Candidate> candidates_;
  bool doubt_ = false;        // the reservation is not known
  std::uint64_t synced_ = 0;  // numbers up to here were accepted, so their bytes are durable
  RecoveredSpool result_;
};

absl::Status Recovery::ReadHeads() {
  PARITECT_ASSIGN_OR_RETURN(std::vector<std::string> names, io_.List(directory_));
  std::sort(names.begin(), names.end());
  for (const std::string& file_name : names) {
    if (file_name == "lock" || file_name == "state" || file_name == "mark") continue;
    const std::optional<SegmentName> name = spool_format::DecodeSegmentName(file_name);
    if (!name.has_value()) {
      ++result_.foreign_files;
      continue;
    }
    auto candidate = ReadHead(*name, file_name);
    if (candidate.ok()) {
      candidates_.push_back(*std::move(candidate));
    } else if (absl::IsFailedPrecondition(candidate.status())) {
      ++result_.foreign_files;  // a folder, link or pipe of that name
    } else {
      return candidate.status();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Candidate> Recovery::ReadHead(const SegmentName& name, const std::string& file_name) {
  Candidate candidate;
  candidate.name = name;
  PARITECT_ASSIGN_OR_RETURN(candidate.file, io_.Open(JoinPath(directory_, file_name), SpoolIo::OpenMode::kReadWrite));
  PARITECT_ASSIGN_OR_RETURN(candidate.size, candidate.file->Size());
  candidate.head.assign(spool_format::kRecordsOffset, '\0');
  // A head that cannot be read at all counts as damaged: the records behind it may be whole.
  absl::StatusOr<std::size_t> got = absl::UnavailableError("");
  for (int attempt = 0; attempt < SegmentScanner::kReadTries && !got.ok(); ++attempt) {
    got = candidate.file->ReadAt(0, absl::MakeSpan(candidate.head));
  }
  candidate.head.resize(got.value_or(0));
  candidate.header =
      spool_format::DecodeSegmentHeader(absl::string_view(candidate.head).substr(0, spool_format::kHeaderBytes));
  return candidate;
}

absl::Status Recovery::SettleEpoch(const SpoolState::Loaded& loaded) {
  if (loaded.slot.has_value()) {
    result_.slot = *loaded.slot;
    result_.save = !loaded.whole;
    synced_ = loaded.slot->accepted;
    return absl::OkStatus();
  }
  result_.save = true;
  std::map<std::uint64_t, int> votes;
  for (const Candidate& candidate : candidates_) {
    if (candidate.header.has_value() && candidate.header->first == candidate.name.first) {
      ++votes[candidate.header->epoch];
    }
  }
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.end()) {
    while (result_.slot.epoch == 0) {
      PARITECT_ASSIGN_OR_RETURN(result_.slot.epoch, io_.Random());
    }
    return absl::OkStatus();
  }
  doubt_ = true;
  result_.slot.epoch = most->first;
  if (loaded.mark.has_value() && loaded.mark->epoch == most->first) result_.slot = *loaded.mark;
  synced_ = result_.slot.accepted;
  return absl::OkStatus();
}

void Recovery::LeaveForeign() {
  const auto foreign = [this](const Candidate& candidate) {
    if (!candidate.header.has_value()) return false;
    return candidate.header->epoch != result_.slot.epoch || candidate.header->first != candidate.name.first ||
           candidate.header->record_class != candidate.name.record_class;
  };
  const auto kept = std::remove_if(candidates_.begin(), candidates_.end(), foreign);
  result_.foreign_files += static_cast<std::uint64_t>(candidates_.end() - kept);
  candidates_.erase(kept, candidates_.end());
}

// A header is a witness that the numbers before its first were given away.
void Recovery::NoteSkip(const Candidate& candidate) {
  if (!candidate.header.has_value()) return;
  result_.slot.reserved = std::max(result_.slot.reserved, candidate.header->first);
  result_.index.AddSkip({candidate.header->skip_from, candidate.header->skip_to, candidate.header->skip_reason});
}

absl::Status Recovery::ReadSegment(Candidate& candidate) {
  Segment segment;
  segment.record_class = candidate.name.record_class;
  segment.first = candidate.name.first;
  segment.last = segment.first - 1;
  segment.end = std::max<std::uint64_t>(candidate.size, spool_format::kRecordsOffset);
  if (candidate.header.has_value()) segment.created_ms = candidate.header->created_ms;
  const spool_format::SegmentKey key = {result_.slot.epoch, segment.first};
  for (int slot = 0; slot < 2; ++slot) {
    const auto at = static_cast<std::size_t>(spool_format::DropOffset(slot));
    if (candidate.head.size() < at + spool_format::kDropBytes) break;
    const auto drop =
        spool_format::DecodeDrop(key, absl::string_view(candidate.head).substr(at, spool_format::kDropBytes));
    if (!drop.has_value() || (segment.dropped.has_value() && drop->to <= segment.dropped->to)) continue;
    segment.dropped = NumberRange{drop->from, drop->to, drop->reason};
    segment.last = drop->to;
    segment.drop_slot = 1 - slot;
  }
  if (segment.dropped.has_value()) {
    PARITECT_RETURN_IF_ERROR(ConfirmDrop(*candidate.file, segment));
    // The space is what the drop was for; if this fails, the next start tries again.
    const bool cut =
        candidate.size <= spool_format::kRecordsOffset || candidate.file->Truncate(spool_format::kRecordsOffset).ok();
    if (cut) segment.end = spool_format::kRecordsOffset;
  } else {
    PARITECT_RETURN_IF_ERROR(CountRecords(candidate, segment));
  }
  // A file without a header or a record that lies where no number was given yet is not ours to count or to delete.
  const bool ours = candidate.header.has_value() || segment.records > 0 || segment.dropped.has_value() ||
                    segment.first < result_.slot.reserved;
  if (!ours) {
    ++result_.foreign_files;
    return absl::OkStatus();
  }
  // Begun and left empty: what its header skips, the next one skips too, or this start does.
  const bool is_empty = !segment.dropped.has_value() && candidate.size <= spool_format::kRecordsOffset;
  if (is_empty && io_.Remove(PathOf(candidate.name)).ok()) return absl::OkStatus();
  if (segment.records > 0 || segment.dropped.has_value()) {
    result_.slot.accepted = std::max(result_.slot.accepted, segment.last);
  }
  result_.index.Put(segment);
  return absl::OkStatus();
}

absl::Status Recovery::CountRecords(Candidate& candidate, Segment& segment) {
  SegmentScanner scanner(*candidate.file, {result_.slot.epoch, segment.first}, segment.record_class, candidate.size);
  std::uint64_t synced_end = spool_format::kRecordsOffset;
  int failures = 0;
  while (true) {
    auto record = scanner.Next();
    // After some tries the scanner steps over what cannot be read, unless nothing can.
    if (!record.ok() && ++failures > SegmentScanner::kReadTries) return record.status();
    if (!record.ok()) continue;
    failures = 0;
    if (!record->has_value()) break;
    if (result_.index.IsSkipped((*record)->header.sequence)) continue;
    segment.last = (*record)->header.sequence;
    ++segment.records;
    if (segment.last <= synced_) synced_end = (*record)->end_offset;
  }
  return sync_ && segment.last > synced_ ? MakeDurable(*candidate.file, synced_end, candidate.size) : absl::OkStatus();
}

// The process may have ended between write and sync, or because a sync failed, after which the kernel takes the pages
// for written. What is handed out from now on must not vanish with the power: the same bytes are written again.
absl::Status Recovery::MakeDurable(SpoolFile& file, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kChunkBytes = 64 << 10;
  std::string chunk;
  for (std::uint64_t at = begin; at < end; at += kChunkBytes) {
    chunk.resize(static_cast<std::size_t>(std::min(kChunkBytes, end - at)));
    const auto got = file.ReadAt(at, absl::MakeSpan(chunk));
    if (!got.ok()) continue;  // nor could its records be read
    PARITECT_RETURN_IF_ERROR(file.WriteAt(at, absl::string_view(chunk).substr(0, *got)));
  }
  return file.Sync();
}

// What tells of a drop may be in the page cache alone (its sync failed, then the process ended): the same bytes are
// written again and synced before anything is taken away, or the other slot written over, because of it.
absl::Status Recovery::ConfirmDrop(SpoolFile& file, const Segment& segment) const {
  const spool_format::Drop drop = {segment.dropped->from, segment.dropped->to, segment.dropped->reason};
  const std::string bytes = spool_format::EncodeDrop({result_.slot.epoch, segment.first}, drop);
  PARITECT_RETURN_IF_ERROR(file.WriteAt(spool_format::DropOffset(1 - segment.drop_slot), bytes));
  return sync_ ? file.Sync() : absl::OkStatus();
}

// Dropped segments whose numbers another one tells by now: the process ended before they could be removed.
void Recovery::RemoveJoined() {
  std::vector<std::uint64_t> joined;
  std::uint64_t told = 0;
  for (const auto& [first, segment] : result_.index.Of(RecordClass::kBulk)) {
    if (!segment.dropped.has_value()) continue;
    if (segment.last <= told) joined.push_back(first);
    told = std::max(told, segment.last);
  }
  for (const std::uint64_t first : joined) {
    (void)io_.Remove(PathOf({RecordClass::kBulk, first}));
    result_.index.Erase(RecordClass::kBulk, first);
  }
}

absl::Status Recovery::SettleNumbers() {
  spool_format::Slot& slot = result_.slot;
  std::uint64_t highest = std::max(slot.accepted, slot.low_water);
  if (doubt_) {
    // Nothing tells whether numbers before the first segment were acknowledged: they are past.
    std::uint64_t lowest = UINT64_MAX;
    for (const RecordClass record_class : {RecordClass::kCritical, RecordClass::kBulk}) {
      const SpoolIndex::Map& segments = result_.index.Of(record_class);
      if (segments.empty()) continue;
      lowest = std::min(lowest, segments.begin()->first);
      highest = std::max(highest, segments.rbegin()->first);
    }
    for (const Candidate& candidate : candidates_) highest = std::max(highest, candidate.name.first);
    if (lowest != UINT64_MAX) slot.low_water = std::max(slot.low_water, lowest - 1);
  }
  slot.accepted = std::max(slot.accepted, slot.low_water);
  slot.reserved = std::max(slot.reserved, slot.accepted + 1);
  if (doubt_) slot.reserved = std::max(slot.reserved, highest + 1) + kDoubtJump;
  if (slot.reserved > spool_format::kSequenceMax) {
    return absl::DataLossError(absl::StrCat("the numbers of spool ", DisplayBytes(directory_),
                                            " are used up; move the folder away and start again"));
  }
  if (slot.reserved > slot.accepted + 1) {
    result_.skip = {slot.accepted + 1, slot.reserved - 1, GapReason::kInterrupted};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecoveredSpool> RecoverSpool(const std::string& directory, SpoolIo& io, const SpoolState::Loaded& loaded,
                                            bool sync) {
  return Recovery(directory, io, sync).Run(loaded);
}

}  // namespace paritect
