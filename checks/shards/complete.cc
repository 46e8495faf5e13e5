// data.sharding.complete: is every file of the data set read by some rank?
// Expected are the files of the data set's list; without one, what either side reads; of sample numbers,
// 0 to the largest that either side reads. Source: pre-tuning checklist, 多节点分片方式与基准一致.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/shards/findings.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr std::size_t kNamesShown = 5;
constexpr std::size_t kFindingsMade = 1000;  // far above what a report shows; the count is kept apart

// What nobody of a run read in one epoch. Items by name; numbers that no list holds have no ItemId.
struct Unread {
  std::vector<std::string> names;
  std::size_t total = 0;

  void Add(std::string name) {
    if (names.size() < kFindingsMade) names.push_back(std::move(name));
    ++total;
  }

  // Sample numbers from `begin` up to, not with, `end`; a gap may be of any length.
  void AddNumbers(std::int64_t begin, std::int64_t end) {
    total += static_cast<std::size_t>(end - begin);
    for (; begin < end && names.size() < kFindingsMade; ++begin) names.push_back(absl::StrCat(begin));
  }
};

std::size_t EntriesOf(const ShardEpoch& epoch) {
  std::size_t entries = 0;
  for (const ShardReader& reader : epoch.readers) entries += reader.items.size() + reader.evaluation.size();
  return entries;
}

bool IsAsLong(const ShardEpoch& a, const ShardEpoch& b) {
  return EntriesOf(a) >= EntriesOf(b);
}

// As many entries as an epoch before: then it was not stopped within it.
bool IsAsLongAsBefore(const ShardRun& run, const ShardEpoch& epoch) {
  return run.epochs.size() > 1 && IsAsLong(epoch, run.epochs[run.epochs.size() - 2]);
}

bool MayBeCut(const ShardRun& run, const ShardEpoch& epoch) {
  return run.recorded_by_step && run.epochs.size() > 1 && &epoch == &run.epochs.back() && !IsAsLongAsBefore(run, epoch);
}

void NoteCut(const CheckContext& context, v1::CheckResult& result, const ShardRun& run, const ShardEpoch& epoch) {
  v1::Finding& finding = AddNote(context, result, "last_epoch_not_judged", run.run,
                                 {{"run", run.run}, {"epoch", absl::StrCat(epoch.epoch.value_or(0))}});
  SetFact(finding, "side", SideName(run.side));
  SetFact(finding, "entries", static_cast<std::uint64_t>(EntriesOf(epoch)));
}

// One epoch of one side against the same epoch of the other; `other` may be nullptr.
class EpochCheck {
 public:
  EpochCheck(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
             const ShardEpoch& epoch, const ShardEpoch* other)
      : context_(context), result_(result), pair_(pair), run_(run), epoch_(epoch) {
    read_ = ItemsRead(pair, epoch);
    if (other != nullptr) other_read_ = ItemsRead(pair, *other);
    held_ = HeldFromBefore(pair, run, epoch);
    // What stands beside the shards is opened once for all epochs, or in each.
    for (const ShardEpoch& before : run.epochs) {
      if (&before == &epoch || held_.empty()) break;
      for (const ShardReader& reader : before.readers) {
        for (ItemId id : reader.common) read_[id] = true;
      }
    }
  }

  void Run(bool other_by_step) {
    if (pair_.expected_from == ExpectedFrom::kNumbers) {
      CollectNumbers();
    } else {
      for (ItemId id = 0; id < pair_.names.size(); ++id) Collect(id, std::string(pair_.names[id]));
    }
    if (held_total_ > 0) {
      AddMissing(context_, result_, "shard_held_unknown", run_.run, {{"run", run_.run}});
    }
    if (by_both_.total > 0 && by_both_.total <= DroppedRest()) {
      Report(by_one_, v1::SEVERITY_ERROR);
      AddNote(context_, result_, "not_read/rest", pair_.dataset, {{"count", absl::StrCat(by_both_.total)}});
      return;
    }
    const bool early = by_both_.total > 0 && BothEndEarly(other_by_step);
    // In the first steps of a shuffle each side may just not have come to what the other read.
    if (!early || !HeadOfShuffle()) Report(by_one_, v1::SEVERITY_ERROR);
    if (by_both_.total == 0) return;
    if (early) {
      NoteBoth();
    } else {
      Report(by_both_, v1::SEVERITY_ERROR);
    }
  }

 private:
  // How many samples the loaders of all ranks may leave out, where they drop a last batch that is not full.
  std::size_t DroppedRest() const {
    std::size_t rest = 0;
    for (const ShardReader& reader : epoch_.readers) {
      for (const v1::Note& note : reader.evidence->shards().notes()) {
        if (note.kind() != "drops_rest") continue;
        rest += static_cast<std::size_t>(std::max<std::int64_t>(0, ParseInt(note.message()).value_or(0)));
      }
    }
    return rest;
  }

  void Collect(ItemId id, std::string name) {
    if (read_[id]) return;
    // What the other side reads is data, whether or not this side's folder has it. The recorder also sees files that
    // are none.
    const bool by_other = !pair_.traced && !other_read_.empty() && other_read_[id];
    if (!pair_.expected[id] && !by_other) return;
    if (!held_.empty() && held_[id]) {
      ++held_total_;
      return;
    }
    (other_read_.empty() || other_read_[id] ? by_one_ : by_both_).Add(std::move(name));
  }

  void CollectNumbers() {
    std::vector<std::pair<std::int64_t, ItemId>> numbers;
    numbers.reserve(pair_.names.size());
    for (ItemId id = 0; id < pair_.names.size(); ++id) {
      const std::int64_t number = ParseInt(pair_.names[id]).value_or(-1);
      if (number >= 0) numbers.emplace_back(number, id);
    }
    std::sort(numbers.begin(), numbers.end());
    std::int64_t next = 0;
    for (const auto& [number, id] : numbers) {
      // No list of either side holds what lies between.
      (other_read_.empty() ? by_one_ : by_both_).AddNumbers(next, number);
      Collect(id, absl::StrCat(number));
      next = number + 1;
    }
  }

  // Far more unread than a dropped last batch explains, of lists that are not in ascending order: a recording of the
  // first steps of a shuffled epoch. Ascending lists would have read them on their way.
  bool HeadOfShuffle() const {
    const auto ascending = [&](const ShardReader& reader) {
      for (std::size_t i = 1; i < reader.items.size(); ++i) {
        if (NumberAt(reader.items[i - 1]) >= NumberAt(reader.items[i])) return false;
      }
      return true;
    };
    return pair_.sample_numbers && by_both_.total >= static_cast<std::size_t>(std::max(run_.world_size(), 2)) &&
           !std::all_of(epoch_.readers.begin(), epoch_.readers.end(), ascending);
  }

  std::int64_t NumberAt(ItemId id) const { return ParseInt(pair_.names[id]).value_or(-1); }

  // A recording by step ends where it was stopped: in its last epoch. A list is taken as whole.
  bool BothEndEarly(bool other_by_step) const {
    if (HeadOfShuffle()) return true;
    return run_.recorded_by_step && other_by_step && &epoch_ == &run_.epochs.back() && !IsAsLongAsBefore(run_, epoch_);
  }

  void Report(const Unread& unread, v1::Severity severity) {
    for (const std::string& name : unread.names) {
      v1::Finding& finding = AddShardFinding(context_, result_, severity, "not_read", name,
                                             {{"where", WhereText(context_, run_, &epoch_)}});
      SetFact(finding, "side", SideName(run_.side));
      SetFact(finding, "not_read_total", static_cast<std::uint64_t>(by_one_.total + by_both_.total));
    }
  }

  void NoteBoth() {
    if (run_.side == Side::kBaseline && !other_read_.empty()) return;  // once for both
    v1::Finding& finding = AddNote(context_, result_, "not_read/both", pair_.dataset);
    SetFact(finding, "count", static_cast<std::uint64_t>(by_both_.total));
    for (std::size_t i = 0; i < by_both_.names.size() && i < kNamesShown; ++i) finding.add_evidence(by_both_.names[i]);
    // Whether the recording was stopped or the rest is never read cannot be told of one epoch.
    AddMissing(context_, result_, "recording_of_part", pair_.dataset);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const ShardPair& pair_;
  const ShardRun& run_;
  const ShardEpoch& epoch_;
  std::vector<bool> read_, other_read_;
  std::vector<bool> held_;  // opened once in an epoch before; empty: none
  std::size_t held_total_ = 0;
  Unread by_one_;   // the other side reads it, or there is no other side
  Unread by_both_;  // neither reads it
};

void CheckRun(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
              const ShardRun* other) {
  if (!run.whole()) return;  // what nobody read may stand in the list that is missing
  for (const ShardEpoch& epoch : run.epochs) {
    const ShardEpoch* other_epoch = other == nullptr ? nullptr : FindEpoch(run, epoch, *other);
    // The last of several epochs usually ends where the recording was stopped; it is judged by the other side alone.
    if (MayBeCut(run, epoch) && !(other_epoch != nullptr && IsAsLong(epoch, *other_epoch))) {
      NoteCut(context, result, run, epoch);
      continue;
    }
    if (other_epoch != nullptr && EndsEarlier(run, epoch, *other, *other_epoch)) {
      AddMissing(context, result, "shard_recording_shorter", run.run, {{"run", run.run}});
      continue;
    }
    EpochCheck(context, result, pair, run, epoch, other_epoch).Run(other != nullptr && other->recorded_by_step);
  }
}

// Names that were read and are not in the list of the data set: told once, with their number.
void NoteNotListed(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair) {
  std::size_t count = 0;
  std::vector<std::string> shown;
  for (ItemId id = 0; id < pair.names.size(); ++id) {
    if (pair.expected[id]) continue;
    ++count;
    if (shown.size() < kNamesShown) shown.emplace_back(pair.names[id]);
  }
  if (count == 0) return;
  v1::Finding& finding = AddShardFinding(context, result, v1::SEVERITY_WARNING, "not_listed", shown[0],
                                         {{"where", PlainText(pair.dataset)}});
  SetFact(finding, "count", static_cast<std::uint64_t>(count));
  for (const std::string& name : shown) finding.add_evidence(name);
}

void NoteExpected(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair) {
  if (pair.expected_from != ExpectedFrom::kUnion) return;
  v1::Finding& finding =
      AddNote(context, result, "expected_from_union", pair.dataset, {{"count", absl::StrCat(pair.names.size())}});
  SetFact(finding, "files", static_cast<std::uint64_t>(pair.names.size()));
}

void Judge(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context)) {
    if (pair.numbers_against_names) {
      Comparable(context, result, pair);
      for (const ShardRun* run : pair.Runs()) AddWhatIsMissing(context, result, *run);
      continue;
    }
    const ShardRun* baseline = pair.baseline ? &*pair.baseline : nullptr;
    if (baseline != nullptr) {
      CheckRun(context, result, pair, *baseline, pair.migrated.empty() ? nullptr : &pair.migrated[0]);
    }
    for (const ShardRun& run : pair.migrated) CheckRun(context, result, pair, run, baseline);
    if (pair.expected_from == ExpectedFrom::kFileList) NoteNotListed(context, result, pair);
    NoteExpected(context, result, pair);
    if (pair.file_list_incomplete) {
      AddMissing(context, result, "shard_list_of_files_incomplete", pair.dataset, {{"dataset", pair.dataset}});
    }
    if (pair.file_list_other) {
      AddMissing(context, result, "shard_list_of_files_other", pair.dataset, {{"dataset", pair.dataset}});
    }
    for (const ShardRun* run : pair.Runs()) {
      AddWhatIsMissing(context, result, *run);
      AddUntoldEpochs(context, result, *run);
    }
    BothSides(context, result, pair);
  }
}

}  // namespace

extern const Check kShardingComplete;
const Check kShardingComplete = {"data.sharding.complete", {}, &EvaluateSharding<&Judge>};

}  // namespace paritect
