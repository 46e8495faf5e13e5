// data.sharding.same-assignment: does each rank read the same list in the same order as in the baseline?
// With another world size rank by rank has no meaning: then the rule behind the lists is compared.
// Source: pre-tuning checklist, 多节点分片方式与基准一致.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/observed/pipeline.h"
#include "checks/shards/findings.h"
#include "checks/shards/inferred_rule.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using RankLists = std::map<int, std::vector<ItemId>>;

// Lists by rank, segments one after another; the first list of a rank counts where it has two.
RankLists ByRank(const ShardEpoch& epoch) {
  RankLists lists;
  for (const ShardReader& reader : epoch.readers) {
    if (reader.rank < 0 || reader.repeats_rank) continue;
    std::vector<ItemId>& list = lists[reader.rank];
    list.insert(list.end(), reader.items.begin(), reader.items.end());
  }
  return lists;
}

class PairCheck {
 public:
  PairCheck(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& migrated)
      : context_(context), result_(result), pair_(pair), baseline_(*pair.baseline), migrated_(migrated) {}

  void Run() {
    bool all = true;
    int compared = 0;
    for (const ShardEpoch& migrated : migrated_.epochs) {
      all = all && FindEpoch(migrated_, migrated, baseline_) != nullptr;
    }
    for (const ShardEpoch& baseline : baseline_.epochs) {
      const ShardEpoch* migrated = FindEpoch(baseline_, baseline, migrated_);
      all = all && migrated != nullptr;
      if (migrated == nullptr) continue;
      ++compared;
      if (SameWorld()) {
        CompareLists(baseline, *migrated);
      } else {
        CompareByRule(baseline, *migrated);
      }
    }
    if (all) return;
    const MessageArgs epochs = {{"baseline", EpochsText(baseline_)}, {"migrated", EpochsText(migrated_)}};
    // What both recorded can fail; what one side alone recorded is not compared (a sampler that never learns the epoch
    // shows only in the second).
    AddMissing(context_, result_, "shard_epochs_differ", migrated_.run, epochs);
    if (compared == 0) return;
    v1::Finding& note = AddNote(context_, result_, "epochs_compared", migrated_.run, epochs);
    SetFact(note, "epochs_compared", compared);
  }

 private:
  // Unknown sizes are told by the number of ranks that reported.
  int Ranks(const ShardRun& run) const {
    if (run.world_size() > 0) return run.world_size();
    int ranks = 0;
    for (const ShardEpoch& epoch : run.epochs) {
      for (const ShardReader& reader : epoch.readers) ranks = std::max(ranks, reader.rank + 1);
    }
    return ranks;
  }

  bool SameWorld() const {
    return baseline_.one_world_size() && migrated_.one_world_size() && Ranks(baseline_) == Ranks(migrated_);
  }

  static std::string EpochsText(const ShardRun& run) {
    std::string text;
    constexpr std::size_t kShown = 8;
    for (std::size_t i = 0; i < run.epochs.size() && i < kShown; ++i) {
      const std::optional<int> epoch = run.epochs[i].epoch;
      absl::StrAppend(&text, text.empty() ? "" : ", ", epoch ? absl::StrCat("epoch ", *epoch) : "no epoch");
    }
    if (run.epochs.size() > kShown) absl::StrAppend(&text, " … (", run.epochs.size(), ")");
    return text;
  }

  void CompareLists(const ShardEpoch& baseline, const ShardEpoch& migrated) {
    for (const bool by_baseline : {true, false}) {
      const bool earlier = by_baseline ? EndsEarlier(baseline_, baseline, migrated_, migrated)
                                       : EndsEarlier(migrated_, migrated, baseline_, baseline);
      if (!earlier) continue;
      const std::string& run = by_baseline ? baseline_.run : migrated_.run;
      AddMissing(context_, result_, "shard_recording_shorter", run, {{"run", run}});
      return;
    }
    const RankLists theirs = ByRank(migrated), ours = ByRank(baseline);
    const std::map<std::vector<ItemId>, int> holders = Holders(ours);
    const bool unordered = Unordered(baseline, migrated), guessed = Guessed(baseline) || Guessed(migrated);
    bool order_unknown = false, rank_unknown = false;
    std::set<std::string> left_open;
    for (const auto& [rank, list] : ours) {
      auto it = theirs.find(rank);
      if (it == theirs.end() || list == it->second) continue;  // a missing rank is reported as such
      if (unordered && Sorted(list) == Sorted(it->second)) {
        order_unknown = true;
        continue;
      }
      const RankReading readings[2] = {{baseline_, baseline, rank, list}, {migrated_, migrated, rank, it->second}};
      if (const std::optional<std::string> why = WhyLeftOpen(readings[0], readings[1])) {
        if (!why->empty()) left_open.insert(*why);
        continue;
      }
      auto holder = holders.find(unordered ? Sorted(it->second) : it->second);
      if (unordered && holder == holders.end()) holder = holders.find(it->second);
      // A list that another rank holds, where ranks were told by the order of birth: the guess may be wrong.
      if (guessed && holder != holders.end() && holder->second >= 0) {
        rank_unknown = true;
        continue;
      }
      ReportRank({rank, holder == holders.end() ? -1 : holder->second}, list, it->second, migrated);
    }
    for (const std::string& why : left_open) {
      AddMissing(context_, result_, why, migrated_.run, {{"run", migrated_.run}});
    }
    if (rank_unknown) AddMissing(context_, result_, "shard_ranks_guessed", migrated_.run, {{"run", migrated_.run}});
    if (order_unknown)
      AddMissing(context_, result_, "shard_order_not_recorded", migrated_.run, {{"run", migrated_.run}});
  }

  // All of it is read for evaluation, whole on one side at least.
  static bool NothingRead(const ShardEpoch& baseline, const ShardEpoch& migrated) {
    const auto evaluates = [](const ShardReader& reader) { return reader.items.empty() && !reader.evaluation.empty(); };
    return std::any_of(baseline.readers.begin(), baseline.readers.end(), evaluates) &&
           std::any_of(migrated.readers.begin(), migrated.readers.end(), evaluates);
  }

  static bool Guessed(const ShardEpoch& epoch) {
    return std::any_of(epoch.readers.begin(), epoch.readers.end(),
                       [](const ShardReader& reader) { return reader.rank_guessed; });
  }

  static std::vector<ItemId> Sorted(std::vector<ItemId> list) {
    std::sort(list.begin(), list.end());
    return list;
  }

  // Which rank holds a list, as it is and sorted; lists that several ranks hold tell nothing.
  static std::map<std::vector<ItemId>, int> Holders(const RankLists& lists) {
    std::map<std::vector<ItemId>, int> holders;
    for (const auto& [rank, list] : lists) {
      if (list.empty()) continue;
      for (std::vector<ItemId> one : {list, Sorted(list)}) {
        auto [it, added] = holders.try_emplace(std::move(one), rank);
        if (!added && it->second != rank) it->second = -1;
      }
    }
    return holders;
  }

  std::string NameAt(const std::vector<ItemId>& list, std::size_t at) const {
    return at < list.size() ? DisplayBytes(pair_.names[list[at]]) : "-";
  }

  struct Rank {
    int rank = 0;
    int holder = -1;  // the baseline's rank that reads this list; -1: none
  };

  void ReportRank(Rank which, const std::vector<ItemId>& baseline, const std::vector<ItemId>& migrated,
                  const ShardEpoch& epoch) {
    const int rank = which.rank;
    const std::size_t common = std::min(baseline.size(), migrated.size());
    std::size_t at = 0;
    while (at < common && baseline[at] == migrated[at]) ++at;
    std::vector<ItemId> sorted[2] = {baseline, migrated};
    for (auto& list : sorted) std::sort(list.begin(), list.end());
    const bool same_set = sorted[0] == sorted[1];
    v1::Text what;
    what.set_en(absl::StrCat(same_set ? "the same entries in another order" : "other entries", ", ", baseline.size(),
                             " and ", migrated.size(), ", from entry ", at + 1, " on (", NameAt(baseline, at), " and ",
                             NameAt(migrated, at), ")"));
    what.set_zh(absl::StrCat(same_set ? "条目相同而次序不同" : "条目不同", "，分别 ", baseline.size(), " 与 ",
                             migrated.size(), " 项，自第 ", at + 1, " 项起（", NameAt(baseline, at), " 与 ",
                             NameAt(migrated, at), "）"));
    if (which.holder >= 0 && which.holder != rank) {
      what.set_en(absl::StrCat("the baseline's list of rank ", which.holder, ", ", what.en()));
      what.set_zh(absl::StrCat("即基准 rank ", which.holder, " 的列表，", what.zh()));
    }
    v1::Finding& finding =
        AddShardFinding(context_, result_, v1::SEVERITY_ERROR, "assignment_differs", absl::StrCat("rank ", rank),
                        {{"rank", PlainText(absl::StrCat(rank))}, {"what", what}});
    finding.set_baseline(NameAt(baseline, at));
    finding.set_migrated(NameAt(migrated, at));
    SetFact(finding, "baseline_count", static_cast<std::uint64_t>(baseline.size()));
    SetFact(finding, "migrated_count", static_cast<std::uint64_t>(migrated.size()));
    SetFact(finding, "first_difference", static_cast<std::uint64_t>(at));
    SetFact(finding, "run", migrated_.run);
    if (which.holder >= 0) SetFact(finding, "baseline_rank_of_list", which.holder);
    if (epoch.epoch) SetFact(finding, "epoch", *epoch.epoch);
  }

  void CompareByRule(const ShardEpoch& baseline, const ShardEpoch& migrated) {
    if (TellsNoRule(baseline) || TellsNoRule(migrated) || NothingRead(baseline, migrated)) return;
    const int ranks[2] = {Ranks(baseline_), Ranks(migrated_)};
    const MessageArgs sizes = {{"baseline", SizesText(baseline_, ranks[0])},
                               {"migrated", SizesText(migrated_, ranks[1])}};
    v1::Finding& note = AddNote(context_, result_, "compared_by_rule", pair_.dataset, sizes);
    SetFact(note, "baseline_world_size", ranks[0]);
    SetFact(note, "migrated_world_size", ranks[1]);
    const ShardRule& of_baseline = ShardRuleOf(context_, pair_, baseline_, baseline);
    const ShardRule& of_migrated = ShardRuleOf(context_, pair_, migrated_, migrated);
    switch (CompareShardRules(of_baseline, ranks[0], of_migrated, ranks[1])) {
      case RuleDifference::kNone: return;
      case RuleDifference::kUnknown: AddMissing(context_, result_, "shard_rule_unknown", migrated_.run, sizes); return;
      default: break;
    }
    const v1::Text texts[2] = {RuleText(of_baseline, ranks[0]), RuleText(of_migrated, ranks[1])};
    v1::Finding& finding = AddShardFinding(context_, result_, v1::SEVERITY_ERROR, "assignment_differs/rule",
                                           pair_.dataset, {{"baseline", texts[0]}, {"migrated", texts[1]}});
    finding.set_baseline(texts[0].en());
    finding.set_migrated(texts[1].en());
  }

  // "8", or "4 -> 8" of a run that was resumed in another world.
  static std::string SizesText(const ShardRun& run, int ranks) {
    if (run.world_sizes.size() < 2) return absl::StrCat(ranks);
    std::string text;
    for (const auto& [segment, size] : run.world_sizes) absl::StrAppend(&text, text.empty() ? "" : " -> ", size);
    return text;
  }

  v1::Text RuleText(const ShardRule& rule, int ranks) const {
    const v1::Text split = DescribeSplit(rule, ranks), order = DescribeOrder(pair_, rule);
    v1::Text text;
    text.set_en(absl::StrCat(split.en(), ", ", order.en()));
    text.set_zh(absl::StrCat(split.zh(), "，", order.zh()));
    return text;
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const ShardPair& pair_;
  const ShardRun& baseline_;
  const ShardRun& migrated_;
};

void Judge(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context)) {
    if (Comparable(context, result, pair)) {
      for (const ShardRun& run : pair.migrated) PairCheck(context, result, pair, run).Run();
    }
    for (const ShardRun* run : pair.Runs()) {
      AddWhatIsMissing(context, result, *run);
      AddWhatOpensHide(context, result, pair, *run);
    }
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side)) JudgeRepeatedOrder(context, result, run);
  }
  for (const ObservedPair& pair : ObservedPairs(context)) {
    CompareRepeatedOrders(context, result, pair.baseline, pair.migrated);
  }
  EvaluateSharding<&Judge>(context, result);
}

}  // namespace

extern const Check kShardingSameAssignment;
const Check kShardingSameAssignment = {"data.sharding.same-assignment", {}, &Evaluate};

}  // namespace paritect
