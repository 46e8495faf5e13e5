// training.flow.evaluation: are evaluation samples and mode the same? The part that logs can tell.
// Source: pre-tuning checklist, 训练流程：与基准一致. A validation that gives several results for one checkpoint runs
// in training mode (dropout, batch statistics) or over other samples each time.
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/series/repeats.h"
#include "checks/series/run_series.h"
#include "checks/shards/view.h"

namespace paritect {
namespace {

struct Seen {
  double value = 0;
  std::int64_t line = 0;
};

// Two results at one step of one stretch of training. After a restart a step may be evaluated again with weights that
// were trained again.
void CheckLog(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const LogSource& source) {
  std::map<std::pair<std::string, std::int64_t>, Seen> seen;
  std::int64_t last_step = -1;
  for (const v1::StepRecord& record : source.log().records()) {
    if (record.step_unknown()) continue;
    if (record.step() < last_step) seen.clear();
    last_step = record.step();
    const std::pair<const char*, std::optional<double>> values[] = {
        {"accuracy", record.has_accuracy() ? std::optional<double>(record.accuracy()) : std::nullopt},
        {"eval_loss", record.has_eval_loss() ? std::optional<double>(record.eval_loss()) : std::nullopt}};
    for (const auto& [metric, value] : values) {
      if (!value.has_value() || !std::isfinite(*value)) continue;
      const int rank = record.has_rank() ? record.rank() : -1;
      const std::string key = absl::StrCat(metric, "/", record.engine(), "/", rank);
      auto [it, added] = seen.try_emplace({key, record.step()}, Seen{*value, record.line()});
      if (added || std::fabs(it->second.value - *value) <= 1e-4 * std::fabs(*value)) continue;
      v1::Finding& finding = AddError(context, result, "eval_not_repeatable", run.name,
                                      {{"run", run.name},
                                       {"step", absl::StrCat(record.step())},
                                       {"metric", metric},
                                       {"a", Short(it->second.value)},
                                       {"b", Short(*value)}});
      SetFact(finding, "first", it->second.value);
      SetFact(finding, "second", *value);
      SetFact(finding, "step", record.step());
      finding.add_evidence(Where(source, it->second.line));
      finding.add_evidence(Where(source, record.line()));
      return;  // one such step says it all
    }
  }
}

bool IsWhole(const ShardRun& run) {
  return run.evaluation == EvaluationRead::kByEvery || run.evaluation == EvaluationRead::kByOne;
}

// One side evaluates all samples on a rank, the other shares them out: padding and dropped rests change the result.
void CompareSharding(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context)) {
    if (!pair.baseline) continue;
    for (const ShardRun& run : pair.migrated) {
      const bool split[2] = {pair.baseline->evaluation == EvaluationRead::kSplit,
                             run.evaluation == EvaluationRead::kSplit};
      if (!(split[0] && IsWhole(run)) && !(split[1] && IsWhole(*pair.baseline))) continue;
      v1::Finding& finding = AddWarning(context, result, "evaluation_sharding_differs", run.run,
                                        {{"dataset", pair.dataset}, {"run", run.run}});
      SetFact(finding, "sharded", SideName(split[0] ? Side::kBaseline : Side::kMigrated));
    }
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  CompareSharding(context, result);
  for (const Side side : kBothSides) {
    if (context.evidence.bundles(side).empty()) RequireEvidence(context, result, side, v1::EVIDENCE_KIND_SCRIPTS);
    for (const RunSeries& run : SeriesOf(context, side)) {
      for (const LogSource& source : run.logs) CheckLog(context, result, run, source);
    }
    AddMissing(context, result, "evaluation_mode_unknown", SideName(side));
  }
}

}  // namespace

extern const Check kFlowEvaluation;
const Check kFlowEvaluation = {"training.flow.evaluation", {}, &Evaluate};

}  // namespace paritect
