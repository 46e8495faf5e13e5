// training.flow.evaluation: are evaluation samples and mode the same? The part that logs can tell.
// Source: pre-tuning checklist, 训练流程：与基准一致. A validation that gives several results for one checkpoint runs
// in training mode (dropout, batch statistics) or over other samples each time.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/observed/conduct.h"
#include "checks/scripts/faults.h"
#include "checks/scripts/flow.h"
#include "checks/scripts/pipeline.h"
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
  const double same = context.profile.threshold("evaluation_difference");
  for (const v1::StepRecord& record : source.log().records()) {
    if (record.step_unknown()) continue;
    if (record.step() < last_step) seen.clear();
    last_step = record.step();
    const std::pair<const char*, std::optional<double>> values[] = {
        {"accuracy", record.has_accuracy() && !record.accuracy_of_training() ? std::optional<double>(record.accuracy())
                                                                             : std::nullopt},
        {"eval_loss", record.has_eval_loss() ? std::optional<double>(record.eval_loss()) : std::nullopt}};
    for (const auto& [metric, value] : values) {
      if (!value.has_value() || !std::isfinite(*value)) continue;
      const int rank = record.has_rank() ? record.rank() : -1;
      const std::string key = absl::StrCat(metric, "/", record.engine(), "/", rank);
      auto [it, added] = seen.try_emplace({key, record.step()}, Seen{*value, record.line()});
      if (added || std::fabs(it->second.value - *value) <= same * std::fabs(*value)) continue;
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

// What lines of evaluations tell of the weights and the mode (formats/logs/machinery/evaluation_modes.h), by notes.
struct Told {
  std::int64_t in_training = 0;
  std::int64_t in_evaluation = 0;
  const v1::Note* first_in_training = nullptr;
  const LogSource* log_of_it = nullptr;
  const v1::Note* not_repeated = nullptr;
  const LogSource* log_of_repeats = nullptr;
};

Told ToldBy(const RunSeries& run) {
  Told told;
  for (const LogSource& source : run.logs) {
    for (const v1::Note& note : source.log().notes()) {
      told.in_evaluation += note.kind() == "evaluated_in_evaluation_mode" ? 1 : 0;
      if (note.kind() == "evaluated_in_training_mode" && told.in_training++ == 0) {
        told.first_in_training = &note;
        told.log_of_it = &source;
      } else if (note.kind() == "evaluation_not_repeated" && told.not_repeated == nullptr) {
        told.not_repeated = &note;
        told.log_of_repeats = &source;
      }
    }
  }
  return told;
}

// Dropout and batch statistics in a validation: a fault on either side, whatever the other does.
void Report(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Told& told) {
  if (told.first_in_training != nullptr) {
    v1::Finding& finding = AddError(
        context, result, "train_mode_at_eval", run.name,
        {{"run", run.name}, {"count", absl::StrCat(told.in_training)}, {"first", told.first_in_training->message()}});
    SetFact(finding, "in_training_mode", told.in_training);
    SetFact(finding, "in_evaluation_mode", told.in_evaluation);
    finding.add_evidence(Where(*told.log_of_it, told.first_in_training->line()));
  }
  if (told.not_repeated != nullptr) {
    v1::Finding& finding = AddError(context, result, "eval_not_repeatable/checkpoint", run.name,
                                    {{"run", run.name}, {"results", told.not_repeated->message()}});
    finding.add_evidence(Where(*told.log_of_repeats, told.not_repeated->line()));
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  CompareSharding(context, result);
  const std::vector<ObservedPair> pairs = ObservedPairs(context);
  bool same_rows = !pairs.empty() && pairs.size() == context.evidence.Runs(Side::kMigrated).size();
  for (const ObservedPair& pair : pairs) {
    CompareObservedTrainingModes(context, result, pair.baseline, pair.migrated);
    CompareObservedCopies(context, result, pair.baseline, pair.migrated);
    same_rows = CompareObservedEvaluations(context, result, pair.baseline, pair.migrated) && same_rows;
  }
  const std::vector<RunView> baseline = context.evidence.Runs(Side::kBaseline);
  for (const RunView& migrated : context.evidence.Runs(Side::kMigrated)) {
    if (!baseline.empty()) CompareEvaluationData(context, result, baseline[0], migrated);
  }
  for (const Side side : kBothSides) {
    if (context.evidence.bundles(side).empty()) RequireEvidence(context, result, side, v1::EVIDENCE_KIND_SCRIPTS);
    AddScriptFaults(context, result, "training.flow.evaluation", side);
    const std::vector<RunSeries>& runs = SeriesOf(context, side);
    bool all_told = !runs.empty();
    for (const RunSeries& run : runs) {
      for (const LogSource& source : run.logs) CheckLog(context, result, run, source);
      const Told told = ToldBy(run);
      Report(context, result, run, told);
      all_told = all_told && told.in_training + told.in_evaluation > 0;
    }
    const std::vector<RunView> views = context.evidence.Runs(side);
    bool observed = same_rows;
    for (const RunView& run : views) observed = JudgeObservedModes(context, result, side, run) && observed;
    if (observed) continue;
    // Scripts that are given already are not asked for again.
    const bool scripts = std::any_of(views.begin(), views.end(),
                                     [&](const RunView& run) { return ScriptFlow::Of(context, run).read(); });
    const absl::string_view samples = scripts ? "evaluation_samples_unknown/scripts" : "evaluation_samples_unknown";
    const absl::string_view mode = scripts ? "evaluation_mode_unknown/scripts" : "evaluation_mode_unknown";
    AddMissing(context, result, all_told ? samples : mode, SideName(side));
  }
}

}  // namespace

extern const Check kFlowEvaluation;
const Check kFlowEvaluation = {"training.flow.evaluation", {}, &Evaluate};

}  // namespace paritect
