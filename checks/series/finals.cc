#include "checks/series/finals.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/validation_metrics.h"

namespace paritect {
namespace {

// Both samples in one unit: points where one side prints fractions and the other points.
void SameUnit(FinalMetrics& a, FinalMetrics& b) {
  if (!a.is_share || a.fractions == b.fractions) return;
  FinalMetrics& fractions = a.fractions ? a : b;
  for (double& value : fractions.values) value *= 100;
  fractions.fractions = false;
}

struct Question {
  const CheckContext& context;
  v1::CheckResult& result;
  const FinalMetrics& a;
  const FinalMetrics& b;
  absl::string_view kind;
  double margin;

  // How much worse b is: positive is worse.
  double Worse(double of_a, double of_b) const { return a.higher_is_better ? of_a - of_b : of_b - of_a; }
  const std::string& metric() const { return a.metric; }
};

void Answer(const Question& q, bool within, const std::string& subject, double value_a, double value_b,
            const std::string& where_a, const std::string& where_b) {
  const MessageArgs args = {{"metric", q.metric()},
                            {"baseline", Short(value_a)},
                            {"migrated", Short(value_b)},
                            {"margin", Short(q.margin)},
                            {"worse", Short(q.Worse(value_a, value_b))}};
  v1::Finding& finding =
      within ? AddNote(q.context, q.result, q.a.of_quality ? "measured/final" : "measured/final_loss", subject, args)
             : AddError(q.context, q.result, q.kind, subject, args);
  finding.set_baseline(Short(value_a));
  finding.set_migrated(Short(value_b));
  SetFact(finding, "metric", q.metric());
  SetFact(finding, "baseline_values", absl::MakeConstSpan(q.a.values));
  SetFact(finding, "migrated_values", absl::MakeConstSpan(q.b.values));
  SetFact(finding, "baseline", value_a);
  SetFact(finding, "migrated", value_b);
  SetFact(finding, "margin", q.margin);
  // What one more run of the baseline may give by itself, where its own runs tell.
  if (const auto half = PredictionHalfWidth(StandardDeviation(q.a.values), static_cast<int>(q.a.values.size()), 1)) {
    SetFact(finding, "baseline_next_run_within", *half);
  }
  if (!where_a.empty()) finding.add_evidence(where_a);
  if (!where_b.empty()) finding.add_evidence(where_b);
}

void CompareMeans(const Question& q) {
  const double mean_a = Mean(q.a.values);
  const double mean_b = Mean(q.b.values);
  const double worse = q.Worse(mean_a, mean_b);
  const std::optional<double> p = EquivalencePValue(q.a.values, q.b.values, q.margin);
  // Runs that do not vary at all leave nothing to test.
  const bool equivalent = p.has_value() ? *p < q.context.profile.threshold("equivalence_chance") : worse <= q.margin;
  if (equivalent || worse <= 0 || worse > q.margin) {
    Answer(q, worse <= q.margin, JoinNames(q.b.runs), mean_a, mean_b, q.a.where.front(), q.b.where.front());
    if (p.has_value()) {
      SetFact(*q.result.mutable_findings()->rbegin(), "equivalence_p", *p);
    }
    return;
  }
  const double sd = std::max(StandardDeviation(q.a.values), StandardDeviation(q.b.values));
  const std::int64_t needed = RunsNeeded(sd, q.margin - worse);
  const auto have = static_cast<std::int64_t>(std::min(q.a.values.size(), q.b.values.size()));
  AddMissing(q.context, q.result, "more_runs_needed", SideName(Side::kMigrated),
             {{"baseline", Short(mean_a)},
              {"migrated", Short(mean_b)},
              {"margin", Short(q.margin)},
              {"sd", Short(sd)},
              {"more", absl::StrCat(std::max<std::int64_t>(1, needed - have))}});
}

// How far the run had come when it was evaluated, of its own last step.
std::optional<double> ShareOfRun(const FinalMetrics& finals, std::size_t i) {
  const std::optional<std::int64_t>& last = finals.runs[i]->ending.last_step;
  if (!finals.steps[i].has_value() || !last.has_value() || *last <= 0) return std::nullopt;
  return static_cast<double>(*finals.steps[i]) / static_cast<double>(*last);
}

// Metrics of other moments of the training: told, since a longer training is a better one.
void WarnOfSteps(const CheckContext& context, v1::CheckResult& result, const FinalMetrics& a, const FinalMetrics& b) {
  const double alike = context.profile.threshold("final_moment_share");
  for (std::size_t i = 0; i < b.runs.size(); ++i) {
    const std::optional<double> share_a = ShareOfRun(a, 0);
    const std::optional<double> share_b = ShareOfRun(b, i);
    if (!share_a || !share_b || std::fabs(*share_a - *share_b) <= alike) continue;
    v1::Finding& finding = AddWarning(
        context, result, "final_at_other_steps", b.runs[i]->name,
        {{"metric", a.metric}, {"baseline", absl::StrCat(*a.steps[0])}, {"migrated", absl::StrCat(*b.steps[i])}});
    finding.set_baseline(absl::StrCat("step ", *a.steps[0]));
    finding.set_migrated(absl::StrCat("step ", *b.steps[i]));
  }
}

// A run that is under way, or broke off, is judged where it has come to the baseline's last evaluation.
void TakeOutUnderWay(const CheckContext& context, v1::CheckResult& result, const FinalMetrics& a, FinalMetrics& b) {
  const double as_far = context.profile.threshold("final_reached_share");
  for (std::size_t i = b.runs.size(); i-- > 0;) {
    const bool finished = b.runs[i]->ending.state == v1::RunEnd::STATE_FINISHED;
    if (finished || !a.steps[0].has_value() || !b.steps[i].has_value()) continue;
    if (static_cast<double>(*b.steps[i]) >= as_far * static_cast<double>(*a.steps[0])) continue;
    AddMissing(context, result, "final_not_reached", b.runs[i]->name,
               {{"run", b.runs[i]->name},
                {"metric", b.metric},
                {"step", absl::StrCat(*b.steps[i])},
                {"last", absl::StrCat(*a.steps[0])}});
    const auto at = static_cast<std::ptrdiff_t>(i);
    b.runs.erase(b.runs.begin() + at);
    b.values.erase(b.values.begin() + at);
    b.where.erase(b.where.begin() + at);
    b.steps.erase(b.steps.begin() + at);
  }
}

}  // namespace

void CompareFinalsOfTwo(const CheckContext& context, v1::CheckResult& result, const std::vector<const RunSeries*>& a,
                        const std::vector<const RunSeries*>& b, absl::string_view kind) {
  std::vector<const RunSeries*> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const std::string metric = CommonMetric(all);
  FinalMetrics left = FinalsOf(a, metric);
  FinalMetrics right = FinalsOf(b, metric);
  for (const FinalMetrics* side : {&left, &right}) ReportWithoutFinal(context, result, *side);
  if (left.values.empty() || right.values.empty()) {
    const std::string of_a = CommonMetric(a);
    const std::string of_b = CommonMetric(b);
    if (of_a.empty() || of_b.empty() || of_a == of_b) return;
    AddMissing(context, result, "other_metric", SideName(Side::kMigrated), {{"baseline", of_a}, {"migrated", of_b}});
    return;
  }
  TakeOutUnderWay(context, result, left, right);
  if (right.values.empty()) return;
  WarnOfSteps(context, result, left, right);
  SameUnit(left, right);
  const Question question{context, result, left, right, kind, left.Margin(context.profile, Mean(left.values))};
  constexpr std::size_t kRunsForMeans = 3;
  if (left.values.size() >= kRunsForMeans && right.values.size() >= kRunsForMeans) {
    CompareMeans(question);
    return;
  }
  for (std::size_t i = 0; i < right.values.size(); ++i) {
    const double worse = question.Worse(left.values[0], right.values[i]);
    Answer(question, worse <= question.margin * (1 + 1e-9), right.runs[i]->name, left.values[0], right.values[i],
           left.where[0], right.where[i]);
  }
}

void CompareEvaluations(const CheckContext& context, v1::CheckResult& result,
                        const std::vector<const RunSeries*>& baseline, const std::vector<const RunSeries*>& migrated,
                        absl::string_view kind) {
  std::vector<const RunSeries*> all = baseline;
  all.insert(all.end(), migrated.begin(), migrated.end());
  const std::string metric = CommonMetric(all);
  MetricsCompared counts;
  if (!baseline.empty() && !migrated.empty()) {
    counts = CompareValidationMetrics(context, result, baseline, migrated, kind);
  }
  // What is left to compare by its meaning, under whatever names: the accuracy, and the loss where there is no more.
  const bool all_print = FinalsOf(all, metric).without.empty();
  if (counts.compared > 0 && all_print && metric != "accuracy" && metric != "eval_loss") {
    // Beside a metric that is missed, those that are not excuse nothing.
    if (counts.within < counts.compared) return;
    SetFact(AddNote(context, result, "measured/validation_metrics", "", {{"count", absl::StrCat(counts.compared)}}),
            "compared", counts.compared);
    return;
  }
  CompareFinalsOfTwo(context, result, baseline, migrated, kind);
}

}  // namespace paritect
