// data.sharding.ranks: are the ranks 0 to world size - 1, each there once, in one world?
// Source: pre-tuning checklist, 多节点分片方式与基准一致 (each rank prints its list).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/shards/findings.h"

namespace paritect {
namespace {

void CheckOutOfRange(const CheckContext& context, v1::CheckResult& result, const ShardRun& run,
                     const ShardEpoch& epoch) {
  for (const ShardReader& reader : epoch.readers) {
    auto size = run.world_sizes.find(reader.segment);
    const bool beyond = size != run.world_sizes.end() && reader.rank >= size->second;
    if (!beyond && !(reader.evidence->shards().has_rank() && reader.rank < 0)) continue;
    const int world_size = size == run.world_sizes.end() ? 0 : size->second;
    v1::Finding& finding =
        AddShardFinding(context, result, v1::SEVERITY_ERROR, "rank_out_of_range", absl::StrCat("rank ", reader.rank),
                        {{"rank", PlainText(absl::StrCat(reader.rank))},
                         {"world_size", PlainText(absl::StrCat(world_size))},
                         {"where", WhereText(context, run, &epoch)}});
    SetFact(finding, "rank", reader.rank);
    SetFact(finding, "world_size", world_size);
    finding.add_evidence(reader.evidence->source());
  }
}

// Lists of one rank in one segment and epoch stand side by side.
void CheckClaimedTwice(const CheckContext& context, v1::CheckResult& result, const ShardRun& run,
                       const ShardEpoch& epoch) {
  for (std::size_t begin = 0; begin < epoch.readers.size();) {
    std::size_t end = begin + 1;
    while (end < epoch.readers.size() && epoch.readers[end].repeats_rank) ++end;
    const ShardReader& first = epoch.readers[begin];
    std::set<std::string> nodes;
    bool twice_on_a_node = false;
    for (std::size_t i = begin; i < end; ++i)
      twice_on_a_node = !nodes.insert(epoch.readers[i].node).second || twice_on_a_node;
    const std::string subject = absl::StrCat("rank ", first.rank);
    const std::string rank = absl::StrCat(first.rank);
    std::vector<v1::Finding*> made;
    if (nodes.size() > 1) {
      made.push_back(&AddShardFinding(context, result, v1::SEVERITY_ERROR, "rank_on_two_nodes", subject,
                                      {{"rank", PlainText(rank)}, {"nodes", PlainText(absl::StrJoin(nodes, ", "))}}));
    }
    if (twice_on_a_node) {
      made.push_back(&AddShardFinding(context, result, v1::SEVERITY_ERROR, "rank_twice", subject,
                                      {{"rank", PlainText(rank)}, {"where", WhereText(context, run, &epoch)}}));
    }
    for (v1::Finding* finding : made) {
      SetFact(*finding, "rank", first.rank);
      SetFact(*finding, "side", SideName(run.side));
      for (std::size_t i = begin; i < end; ++i) finding->add_evidence(epoch.readers[i].evidence->source());
    }
    begin = end;
  }
}

void CheckWorldSizes(const CheckContext& context, v1::CheckResult& result, const ShardRun& run) {
  for (const WorldSizeConflict& conflict : run.world_size_conflicts) {
    v1::Finding& finding = AddError(context, result, "world_size_mismatch", run.run, {{"values", conflict.text}});
    SetFact(finding, "world_sizes", absl::MakeConstSpan(conflict.sizes));
    SetFact(finding, "side", SideName(run.side));
  }
  for (const RunView& view : context.evidence.Runs(run.side)) {
    if (view.name != run.run || !run.world_size_conflicts.empty()) continue;
    const WorldSizes told = WorldSizesOf(context, run.side, view);
    if (!told.conflict()) continue;
    v1::Finding& finding = AddError(context, result, "world_size_mismatch", run.run, {{"values", told.Text()}});
    SetFact(finding, "side", SideName(run.side));
  }
  std::vector<std::string> sizes;
  for (const auto& [segment, size] : run.world_sizes) {
    if (sizes.empty() || sizes.back() != absl::StrCat(size)) sizes.push_back(absl::StrCat(size));
  }
  if (sizes.size() > 1) {
    v1::Finding& finding = AddWarning(context, result, "world_size_changed", run.run,
                                      {{"run", run.run}, {"sizes", absl::StrJoin(sizes, " -> ")}});
    SetFact(finding, "world_sizes", sizes);
    SetFact(finding, "side", SideName(run.side));
  }
  if (run.world_sizes.empty()) {
    AddMissing(context, result, "shard_world_size_unknown", SideName(run.side), {{"run", run.run}});
  }
}

bool AllEmpty(const ShardRun& run) {
  for (const ShardEpoch& epoch : run.epochs) {
    for (const ShardReader& reader : epoch.readers) {
      if (!reader.items.empty() || !reader.common.empty() || !reader.evaluation.empty()) return false;
    }
  }
  return true;
}

void NoteGuessed(const CheckContext& context, v1::CheckResult& result, const ShardRun& run) {
  for (const ShardEpoch& epoch : run.epochs) {
    const auto guessed = [](const ShardReader& reader) { return reader.rank_guessed; };
    if (std::none_of(epoch.readers.begin(), epoch.readers.end(), guessed)) continue;
    v1::Finding& finding = AddNote(context, result, "rank_by_birth", run.run, {{"run", run.run}});
    SetFact(finding, "side", SideName(run.side));
    return;
  }
}

// A list may then be another rank's: told once a run, by the first rank that says so.
void NoteDisagreement(const CheckContext& context, v1::CheckResult& result, const ShardRun& run) {
  for (const ShardEpoch& epoch : run.epochs) {
    for (const ShardReader& reader : epoch.readers) {
      if (reader.rank_disagreement.empty()) continue;
      v1::Finding& finding = AddNote(context, result, "rank_variables_disagree", run.run,
                                     {{"run", run.run}, {"what", reader.rank_disagreement}});
      SetFact(finding, "side", SideName(run.side));
      return;
    }
  }
}

void Judge(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context)) {
    for (const ShardRun* run : pair.Runs()) {
      CheckWorldSizes(context, result, *run);
      for (const ShardEpoch& epoch : run->epochs) {
        CheckOutOfRange(context, result, *run, epoch);
        CheckClaimedTwice(context, result, *run, epoch);
      }
      NoteGuessed(context, result, *run);
      NoteDisagreement(context, result, *run);
      AddWhatIsMissing(context, result, *run);
      if (AllEmpty(*run)) AddMissing(context, result, "shard_all_empty", SideName(run->side), {{"run", run->run}});
    }
    BothSides(context, result, pair);
  }
}

}  // namespace

extern const Check kShardingRanks;
const Check kShardingRanks = {"data.sharding.ranks", {}, &EvaluateSharding<&Judge>};

}  // namespace paritect
