// data.sharding.rule: is the rule behind the lists the same, and if ranks conflict, between whom?
//   node_order   the lists agree within each node and conflict between nodes: the nodes sort differently
//   rank_order   lists of one node conflict: the ranks shuffle differently before the split
// Source: pre-tuning checklist, 多节点分片方式与基准一致 (文件名排序).
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/coverage.h"
#include "checks/shards/findings.h"
#include "checks/shards/inferred_rule.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// "npu0: byte order; npu1: locale order": the orders that every list of a node follows. Lists too short to tell
// the nodes apart give the names of the nodes alone.
v1::Text OrdersByNode(const ShardPair& pair, const ShardEpoch& epoch) {
  std::map<std::string, NameOrders> orders;
  for (const ShardReader& reader : epoch.readers) {
    auto [it, added] = orders.try_emplace(reader.node, kOrderAll);
    std::vector<absl::string_view> list;
    for (ItemId id : reader.items) list.push_back(pair.names[id]);
    it->second &= FollowedOrders(list, it->second);
  }
  constexpr std::size_t kNodesShown = 8;
  std::vector<std::string> english, chinese, names;
  std::set<std::string> told;
  for (const auto& [node, mask] : orders) {
    if (english.size() == kNodesShown) break;
    ShardRule rule;
    rule.orders = mask;
    const v1::Text order = DescribeOrder(pair, rule);
    names.push_back(node);
    told.insert(order.en());
    english.push_back(absl::StrCat(node, ": ", order.en()));
    chinese.push_back(absl::StrCat(node, "：", order.zh()));
  }
  if (told.size() < 2) return PlainText(absl::StrJoin(names, ", "));
  v1::Text text;
  text.set_en(absl::StrJoin(english, "; "));
  text.set_zh(absl::StrJoin(chinese, "；"));
  return text;
}

bool RankOnTwoNodes(const ShardEpoch& epoch) {
  for (const ShardReader& reader : epoch.readers) {
    if (reader.repeats_rank) return true;
  }
  return false;
}

bool HasUnclearEpochs(const ShardEpoch& epoch) {
  return std::any_of(epoch.readers.begin(), epoch.readers.end(),
                     [](const ShardReader& reader) { return reader.epochs_unclear; });
}

// The rank without which no item would be read twice, where there is one only; else -1.
int OddRank(const ShardEpoch& epoch, const SharedItems& shared) {
  std::set<int> ranks, common;
  for (const ShardReader& reader : epoch.readers) ranks.insert(reader.rank);
  if (ranks.size() < 3 || shared.items.size() < 2) return -1;
  for (std::size_t i = 0; i < shared.items.size(); ++i) {
    std::set<int> readers, both;
    if (shared.items[i].reader_count != 2) return -1;
    for (const ShardReader* reader : shared.items[i].readers) readers.insert(reader->rank);
    std::set_intersection(common.begin(), common.end(), readers.begin(), readers.end(),
                          std::inserter(both, both.begin()));
    common = i == 0 ? readers : both;
    if (common.empty()) return -1;
  }
  return common.size() == 1 ? *common.begin() : -1;
}

// Whether other ranks of its node have lists as well: a rank alone on its node stands for the node.
bool HasNeighbours(const ShardEpoch& epoch, int rank) {
  std::set<std::string> own;
  for (const ShardReader& reader : epoch.readers) {
    if (reader.rank == rank) own.insert(reader.node);
  }
  return std::any_of(epoch.readers.begin(), epoch.readers.end(),
                     [&](const ShardReader& reader) { return reader.rank != rank && own.contains(reader.node); });
}

// True when the lists of the epoch conflict: then no rule can be told from them.
bool ReportConflict(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
                    const ShardEpoch& epoch) {
  const SharedItems shared = FindSharedItems(pair, epoch, PaddingOf(pair, run, epoch));
  if (shared.items.empty()) return false;
  if (epoch.maybe_scan) return true;
  // Ranks that read everything, or worlds of their own, do not conflict over an order.
  if (shared.not_sharded || RankOnTwoNodes(epoch) || !run.one_world_size()) return true;
  if (HasUnclearEpochs(epoch)) return true;
  const SharedItem& first = shared.items[0];
  std::vector<std::string> readers;
  for (const ShardReader* reader : first.readers) readers.push_back(absl::StrCat("rank ", reader->rank));
  const std::string example = absl::StrCat(DisplayBytes(pair.names[first.item]), ": ", absl::StrJoin(readers, ", "));
  const int odd = OddRank(epoch, shared);
  // Conflicts between nodes alone are the order of nodes, whichever ranks they hit.
  const bool one = odd >= 0 && shared.within_node && HasNeighbours(epoch, odd);
  const absl::string_view id = one ? "rank_order/one" : shared.within_node ? "rank_order" : "node_order";
  v1::Finding& finding = AddShardFinding(
      context, result, v1::SEVERITY_ERROR, id, one ? absl::StrCat("rank ", odd) : run.run,
      {{"nodes", OrdersByNode(pair, epoch)}, {"rank", PlainText(absl::StrCat(odd))}, {"example", PlainText(example)}});
  SetFact(finding, "side", SideName(run.side));
  SetFact(finding, "shared", static_cast<std::uint64_t>(shared.items.size()));
  finding.add_evidence(example);
  return true;
}

struct SideRule {
  ShardRule rule;
  int ranks = 0;
};

void ReportDifference(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, RuleDifference what,
                      const SideRule& baseline, const SideRule& migrated) {
  const bool order = what == RuleDifference::kOrder;
  const auto text = [&](const SideRule& side) {
    return order ? DescribeOrder(pair, side.rule) : DescribeSplit(side.rule, side.ranks);
  };
  const v1::Text texts[2] = {text(baseline), text(migrated)};
  const bool unknown = baseline.rule.orders == 0 && migrated.rule.orders == 0;
  const absl::string_view id = !order    ? "split_rule_differs"
                               : unknown ? "order_rule_differs/shuffled"
                                         : "order_rule_differs";
  v1::Finding& finding = AddShardFinding(context, result, v1::SEVERITY_ERROR, id, pair.dataset,
                                         {{"baseline", texts[0]}, {"migrated", texts[1]}});
  finding.set_baseline(texts[0].en());
  finding.set_migrated(texts[1].en());
}

using Lists = std::vector<std::vector<ItemId>>;

Lists Sorted(Lists lists) {
  for (auto& list : lists) std::sort(list.begin(), list.end());
  return lists;
}

// All lists of the baseline are there, under other ranks: the rule is the same.
bool ReportExchanged(const CheckContext& context, v1::CheckResult& result, const ShardRun& run, const Lists& baseline,
                     const Lists& migrated) {
  if (baseline.empty() || baseline.size() != migrated.size()) return false;
  Lists sorted[2] = {baseline, migrated};
  for (Lists& lists : sorted) std::sort(lists.begin(), lists.end());
  if (sorted[0] != sorted[1]) return false;
  std::vector<int> apart;
  for (std::size_t rank = 0; rank < baseline.size(); ++rank) {
    if (baseline[rank] != migrated[rank]) apart.push_back(static_cast<int>(rank));
  }
  v1::Finding& note = AddNote(context, result, "ranks_exchanged", run.run, {{"ranks", FormatRanks(apart, 20)}});
  SetFact(note, "ranks", static_cast<std::uint64_t>(apart.size()));
  return true;
}

// Where most ranks read what they read in the baseline, those that do not are the place: no other rule is told from
// lists of which a few are odd. True when that is so.
bool ReportRanksApart(const CheckContext& context, v1::CheckResult& result, const ShardRun& run, const Lists& baseline,
                      const Lists& migrated) {
  if (baseline.size() != migrated.size() || baseline.size() < 3) return false;
  std::size_t apart = 0;
  std::vector<int> other_order;
  const Lists sets[2] = {Sorted(baseline), Sorted(migrated)};
  for (std::size_t rank = 0; rank < baseline.size(); ++rank) {
    if (baseline[rank] == migrated[rank]) continue;
    ++apart;
    if (sets[0][rank] == sets[1][rank]) other_order.push_back(static_cast<int>(rank));
  }
  if (apart * 2 > baseline.size()) return false;
  if (other_order.empty()) {  // other entries: same-assignment names the ranks
    AddMissing(context, result, "shard_rule_not_told", run.run, {{"run", run.run}});
    return true;
  }
  const std::string ranks = FormatRanks(other_order, 20);
  v1::Finding& finding = AddError(context, result, "rank_order/alone", absl::StrCat("rank ", ranks),
                                  {{"ranks", ranks}, {"count", absl::StrCat(baseline.size() - apart)}});
  SetFact(finding, "side", SideName(run.side));
  SetFact(finding, "ranks", static_cast<std::uint64_t>(other_order.size()));
  return true;
}

bool ReadsNothing(const ShardEpoch& epoch) {
  return std::all_of(epoch.readers.begin(), epoch.readers.end(),
                     [](const ShardReader& reader) { return reader.items.empty(); });
}

std::vector<ItemId> ItemsOfRank(const ShardEpoch& epoch, int rank) {
  std::vector<ItemId> items;
  for (const ShardReader& reader : epoch.readers) {
    if (reader.rank == rank) items.insert(items.end(), reader.items.begin(), reader.items.end());
  }
  return items;
}

// True where the lists differ by no more than what the recordings leave open, or show no epoch at all.
bool ReportLeftOpen(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
                    const ShardEpoch& baseline, const ShardEpoch& migrated) {
  if (pair.baseline->world_size() != run.world_size()) return TellsNoRule(baseline) || TellsNoRule(migrated);
  std::set<int> ranks;
  std::set<std::string> why_all;
  bool differs = false;
  for (const ShardReader& reader : baseline.readers) ranks.insert(reader.rank);
  for (const ShardReader& reader : migrated.readers) {
    if (!ranks.contains(reader.rank)) continue;
    const RankReading ours = {*pair.baseline, baseline, reader.rank, ItemsOfRank(baseline, reader.rank)};
    const RankReading theirs = {run, migrated, reader.rank, ItemsOfRank(migrated, reader.rank)};
    if (ours.list == theirs.list) continue;
    differs = true;
    const std::optional<std::string> why = WhyLeftOpen(ours, theirs);
    if (!why) return false;
    if (!why->empty()) why_all.insert(*why);
  }
  for (const std::string& why : why_all) AddMissing(context, result, why, run.run, {{"run", run.run}});
  return differs;
}

void CompareEpoch(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
                  const ShardEpoch& baseline_epoch, const ShardEpoch& migrated_epoch) {
  const Lists baseline = ListsByRank(*pair.baseline, baseline_epoch), migrated = ListsByRank(run, migrated_epoch);
  if (!baseline.empty() && baseline == migrated) return;
  if (ReadsNothing(baseline_epoch) && ReadsNothing(migrated_epoch)) return;  // all of it for evaluation
  if (ReportLeftOpen(context, result, pair, run, baseline_epoch, migrated_epoch)) return;
  const bool unordered = Unordered(baseline_epoch, migrated_epoch);
  if (unordered && !baseline.empty() && Sorted(baseline) == Sorted(migrated)) {
    AddMissing(context, result, "shard_order_not_recorded", run.run, {{"run", run.run}});
    return;
  }
  if (!unordered && ReportExchanged(context, result, run, baseline, migrated)) return;
  const SideRule sides[2] = {
      {ShardRuleOf(context, pair, *pair.baseline, baseline_epoch), static_cast<int>(baseline.size())},
      {ShardRuleOf(context, pair, run, migrated_epoch), static_cast<int>(migrated.size())}};
  const RuleDifference difference = CompareShardRules(sides[0].rule, sides[0].ranks, sides[1].rule, sides[1].ranks);
  if (difference == RuleDifference::kNone) return;
  if (EndsEarlier(*pair.baseline, baseline_epoch, run, migrated_epoch) ||
      EndsEarlier(run, migrated_epoch, *pair.baseline, baseline_epoch)) {
    AddMissing(context, result, "shard_recording_shorter", run.run, {{"run", run.run}});
    return;
  }
  const auto tells = [](const ShardRule& rule) { return rule.orders != 0 && !rule.shuffled_within; };
  const bool told = difference != RuleDifference::kUnknown && tells(sides[0].rule) && tells(sides[1].rule);
  if (!told && !unordered && ReportRanksApart(context, result, run, baseline, migrated)) return;
  if (difference == RuleDifference::kUnknown) {
    AddMissing(context, result, "shard_rule_not_told", run.run, {{"run", run.run}});
    return;
  }
  ReportDifference(context, result, pair, difference, sides[0], sides[1]);
}

void Judge(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context)) {
    std::set<const ShardEpoch*> conflicting;
    for (const ShardRun* run : pair.Runs()) {
      for (const ShardEpoch& epoch : run->epochs) {
        if (ReportConflict(context, result, pair, *run, epoch)) conflicting.insert(&epoch);
      }
      AddWhatIsMissing(context, result, *run);
      AddWhatOpensHide(context, result, pair, *run);
    }
    if (!Comparable(context, result, pair)) continue;
    for (const ShardRun& run : pair.migrated) {
      bool common = false;
      for (const ShardEpoch& epoch : pair.baseline->epochs) {
        const ShardEpoch* migrated = FindEpoch(*pair.baseline, epoch, run);
        common = common || migrated != nullptr;
        if (migrated == nullptr || conflicting.contains(&epoch) || conflicting.contains(migrated)) continue;
        CompareEpoch(context, result, pair, run, epoch, *migrated);
      }
      if (!common) AddMissing(context, result, "shard_no_common_epoch", run.run, {{"run", run.run}});
    }
  }
}

}  // namespace

extern const Check kShardingRule;
const Check kShardingRule = {"data.sharding.rule", {}, &EvaluateSharding<&Judge>};

}  // namespace paritect
