// training.flow.evaluation: are evaluation samples and mode the same? The part that logs can tell.
// Source: pre-tuning checklist, 训练流程：与基准一致. A validation that gives several results for one checkpoint runs
// in training mode (dropout, batch statistics) or over other samples each time.
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/series/repeats.h"
#include "checks/series/run_series.h"

namespace paritect {
namespace {

constexpr double kSameResult = 1e-4;  // relative: one sample of ten thousand is more

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
      if (added || std::fabs(it->second.value - *value) <= kSameResult * std::fabs(*value)) continue;
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

// Names that are written over as the training goes on: other weights under one name.
bool IsMovingName(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (absl::string_view word : {"last", "latest", "best", "current", "final", "tmp", "temp", "ema"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  return false;
}

// "ckpt_0040", "epoch3.pt", "global_step500": a number of the training, not of a model ("resnet50.pth").
bool IsNumberedName(absl::string_view path) {
  const std::string lower = absl::AsciiStrToLower(path);
  const absl::string_view name = absl::string_view(lower).substr(lower.find_last_of("/\\") + 1);
  for (absl::string_view word : {"epoch", "step", "iter", "ckpt", "checkpoint", "ep"}) {
    for (std::size_t at = name.find(word); at != absl::string_view::npos; at = name.find(word, at + 1)) {
      const std::size_t digit = name.find_first_not_of("-_= .", at + word.size());
      if (digit != absl::string_view::npos && absl::ascii_isdigit(static_cast<unsigned char>(name[digit]))) return true;
    }
  }
  return false;
}

// Whether two results are of the same weights: no training between them in the log of the training, or a name that
// tells the place in the training.
bool OfSameWeights(const v1::RunLog& log, const v1::EvaluationTold& a, const v1::EvaluationTold& b) {
  bool trains = false;
  for (const v1::StepRecord& record : log.records()) {
    if (!record.has_loss()) continue;
    trains = true;
    if (record.line() > a.line() && record.line() < b.line()) return false;
  }
  return trains || (IsNumberedName(b.checkpoint()) && !IsMovingName(b.checkpoint()));
}

void CheckCheckpoints(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                      const LogSource& source) {
  std::map<std::pair<std::string, std::string>, const v1::EvaluationTold*> seen;
  for (const v1::EvaluationTold& one : source.log().evaluations()) {
    if (one.checkpoint().empty() || !std::isfinite(one.value())) continue;
    const v1::EvaluationTold*& first = seen[{one.checkpoint(), one.metric()}];
    if (first == nullptr) first = &one;
    const bool same = std::fabs(first->value() - one.value()) <= kSameResult * std::fabs(one.value());
    if (same) continue;
    if (!OfSameWeights(source.log(), *first, one)) {
      first = &one;
      continue;
    }
    v1::Finding& finding = AddError(context, result, "eval_not_repeatable/checkpoint", run.name,
                                    {{"run", run.name},
                                     {"checkpoint", one.checkpoint()},
                                     {"metric", one.metric()},
                                     {"a", Short(first->value())},
                                     {"b", Short(one.value())}});
    SetFact(finding, "first", first->value());
    SetFact(finding, "second", one.value());
    SetFact(finding, "checkpoint", one.checkpoint());
    finding.add_evidence(Where(source, first->line()));
    finding.add_evidence(Where(source, one.line()));
    return;  // one of them says it all
  }
}

struct ModesTold {
  std::int64_t in_training = 0;
  std::int64_t in_evaluation = 0;
  std::string first_place;
};

ModesTold ModesOf(const RunSeries& run) {
  ModesTold told;
  for (const LogSource& source : run.logs) {
    for (const v1::EvaluationTold& one : source.log().evaluations()) {
      told.in_evaluation += one.mode() == v1::EvaluationTold::MODE_EVALUATION ? 1 : 0;
      if (one.mode() != v1::EvaluationTold::MODE_TRAINING) continue;
      if (told.in_training++ == 0) told.first_place = Where(source, one.line());
    }
  }
  return told;
}

// Dropout and batch statistics in a validation: a fault on either side, whatever the other does.
void CheckMode(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ModesTold& told) {
  if (told.in_training == 0) return;
  v1::Finding& finding = AddError(context, result, "train_mode_at_eval", run.name,
                                  {{"run", run.name},
                                   {"count", absl::StrCat(told.in_training)},
                                   {"all", absl::StrCat(told.in_training + told.in_evaluation)}});
  SetFact(finding, "in_training_mode", told.in_training);
  SetFact(finding, "in_evaluation_mode", told.in_evaluation);
  finding.add_evidence(told.first_place);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) {
    if (context.evidence.bundles(side).empty()) RequireEvidence(context, result, side, v1::EVIDENCE_KIND_SCRIPTS);
    const std::vector<RunSeries>& runs = SeriesOf(context, side);
    bool all_told = !runs.empty();
    for (const RunSeries& run : runs) {
      for (const LogSource& source : run.logs) {
        CheckLog(context, result, run, source);
        CheckCheckpoints(context, result, run, source);
      }
      const ModesTold told = ModesOf(run);
      CheckMode(context, result, run, told);
      all_told = all_told && told.in_training + told.in_evaluation > 0;
    }
    AddMissing(context, result, all_told ? "evaluation_samples_unknown" : "evaluation_mode_unknown", SideName(side));
  }
}

}  // namespace

extern const Check kFlowEvaluation;
const Check kFlowEvaluation = {"training.flow.evaluation", {}, &Evaluate};

}  // namespace paritect
