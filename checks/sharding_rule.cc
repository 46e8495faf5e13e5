// data.sharding.rule: is the rule behind the lists the same, and if ranks conflict, between whom?
//   node_order   the lists agree within each node and conflict between nodes: the nodes sort differently
//   rank_order   lists of one node conflict: the ranks shuffle differently before the split
// Source: pre-tuning checklist, 多节点分片方式与基准一致 (文件名排序).
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/shard_findings.h"
#include "checks/shard_rule.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_SHARDS}};

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

// True when the lists of the epoch conflict: then no rule can be told from them.
bool ReportConflict(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
                    const ShardEpoch& epoch) {
  const SharedItems shared = FindSharedItems(pair, epoch, PaddingOf(pair, run, epoch));
  if (shared.items.empty()) return false;
  // Ranks that read everything, or worlds of their own, do not conflict over an order.
  if (shared.not_sharded || RankOnTwoNodes(epoch) || !run.one_world_size()) return true;
  const SharedItem& first = shared.items[0];
  std::vector<std::string> readers;
  for (const ShardReader* reader : first.readers) readers.push_back(absl::StrCat("rank ", reader->rank));
  const std::string example = absl::StrCat(DisplayBytes(pair.names[first.item]), ": ", absl::StrJoin(readers, ", "));
  const absl::string_view id = shared.within_node ? "rank_order" : "node_order";
  v1::Finding& finding = AddShardFinding(context, result, v1::SEVERITY_ERROR, id, run.run,
                                         {{"nodes", OrdersByNode(pair, epoch)}, {"example", PlainText(example)}});
  SetFact(finding, "side", SideName(run.side));
  SetFact(finding, "shared", static_cast<std::uint64_t>(shared.items.size()));
  finding.add_evidence(example);
  return true;
}

void ReportDifference(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, RuleDifference what,
                      const ShardRule& baseline, const ShardRule& migrated, int baseline_ranks, int migrated_ranks) {
  const bool order = what == RuleDifference::kOrder;
  const v1::Text texts[2] = {order ? DescribeOrder(pair, baseline) : DescribeSplit(baseline, baseline_ranks),
                             order ? DescribeOrder(pair, migrated) : DescribeSplit(migrated, migrated_ranks)};
  const absl::string_view id = !order                                         ? "split_rule_differs"
                               : baseline.orders == 0 && migrated.orders == 0 ? "order_rule_differs/shuffled"
                                                                              : "order_rule_differs";
  v1::Finding& finding = AddShardFinding(context, result, v1::SEVERITY_ERROR, id, pair.dataset,
                                         {{"baseline", texts[0]}, {"migrated", texts[1]}});
  finding.set_baseline(texts[0].en());
  finding.set_migrated(texts[1].en());
}

void CompareEpoch(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
                  const ShardEpoch& baseline_epoch, const ShardEpoch& migrated_epoch) {
  const auto baseline = ListsByRank(*pair.baseline, baseline_epoch), migrated = ListsByRank(run, migrated_epoch);
  if (!baseline.empty() && baseline == migrated) return;
  const int ranks[2] = {static_cast<int>(baseline.size()), static_cast<int>(migrated.size())};
  const ShardRule rules[2] = {InferShardRule(pair, baseline), InferShardRule(pair, migrated)};
  const RuleDifference difference = CompareShardRules(rules[0], ranks[0], rules[1], ranks[1]);
  if (difference == RuleDifference::kNone) return;
  if (difference == RuleDifference::kUnknown) {
    AddMissing(context, result, "shard_rule_not_told", run.run, {{"run", run.run}});
    return;
  }
  ReportDifference(context, result, pair, difference, rules[0], rules[1], ranks[0], ranks[1]);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context.evidence)) {
    std::set<const ShardEpoch*> conflicting;
    for (const ShardRun* run : pair.Runs()) {
      for (const ShardEpoch& epoch : run->epochs) {
        if (ReportConflict(context, result, pair, *run, epoch)) conflicting.insert(&epoch);
      }
      AddWhatIsMissing(context, result, *run);
    }
    if (!Comparable(context, result, pair)) continue;
    for (const ShardRun& run : pair.migrated) {
      for (const ShardEpoch& epoch : pair.baseline->epochs) {
        const ShardEpoch* migrated = FindEpoch(*pair.baseline, epoch, run);
        if (migrated == nullptr || conflicting.contains(&epoch) || conflicting.contains(migrated)) continue;
        CompareEpoch(context, result, pair, run, epoch, *migrated);
      }
    }
  }
}

}  // namespace

extern const Check kShardingRule;
const Check kShardingRule = {"data.sharding.rule", kNeeds, &Evaluate};

}  // namespace paritect
