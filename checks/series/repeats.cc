#include "checks/series/repeats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "checks/numbers/statistics.h"
#include "checks/series/curves.h"
#include "checks/series/nonfinite.h"
#include "common/numbers.h"

namespace paritect {
namespace {

void SetSampleFacts(v1::Finding& finding, const FinalMetrics& finals, double mean, double sd) {
  SetFact(finding, "metric", finals.metric);
  SetFact(finding, "runs", static_cast<std::int64_t>(finals.runs.size() + finals.without.size()));
  SetFact(finding, "run_names", JoinNames(finals.runs));
  SetFact(finding, "finished", static_cast<std::int64_t>(finals.runs.size()));
  SetFact(finding, "mean", mean);
  SetFact(finding, "sd", sd);
  SetFact(finding, "values", absl::MakeConstSpan(finals.values));
  SetFact(finding, "range", Range(finals.values));
  if (mean != 0) SetFact(finding, "variation", sd / std::fabs(mean));
  const int n = static_cast<int>(finals.values.size());
  if (const auto bound = StandardDeviationUpperBound(sd, n)) SetFact(finding, "sd_upper_bound", *bound);
  if (const auto half = PredictionHalfWidth(sd, n, 1)) SetFact(finding, "next_run_within", *half);
  for (const std::string& where : finals.where) finding.add_evidence(where);
}

// The value that stands apart: by Dixon's test, else the one farthest from the median.
std::size_t OddOne(const std::vector<double>& values) {
  if (const auto outlier = DixonOutlier(values)) return *outlier;
  const double median = Median(values);
  std::size_t odd = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::fabs(values[i] - median) > std::fabs(values[odd] - median)) odd = i;
  }
  return odd;
}

// Loss curves of the runs for one engine; a run without one is named under `missing`.
struct LossCurves {
  std::vector<const RunSeries*> runs;
  std::vector<Curve> curves;
};

LossCurves CollectLosses(const CheckContext& context, v1::CheckResult& result,
                         const std::vector<const RunSeries*>& runs, GuardOfRun guard_of) {
  LossCurves losses;
  for (const RunSeries* run : runs) {
    const CurveSet& set = run->Curves(Metric::kLoss);
    AddProblems(context, result, set.problems);
    FindNonFinite(context, result, *run, guard_of);
    if (!set.problems.empty()) continue;
    if (set.curves.empty()) {
      AddMissing(context, result, "metric_not_printed", run->name, {{"run", run->name}, {"metric", "loss"}});
      continue;
    }
    losses.runs.push_back(run);
    losses.curves.push_back(FiniteOnly(set.curves[0]));
  }
  return losses;
}

// Repeats over one data order move together; else only smoothed curves can be compared.
bool SameOrder(const std::vector<const Curve*>& curves, const CurveLimits& limits) {
  for (std::size_t i = 1; i < curves.size(); ++i) {
    if (Compare(Align(*curves[0], *curves[i]), limits).mode != CurveMode::kPaired) return false;
  }
  return true;
}

void ReportLeaving(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                   const AlignedCurves& aligned, const CurveComparison& comparison) {
  const std::int64_t from = comparison.first_divergent_step.value_or(comparison.first_step);
  const double error =
      comparison.mode == CurveMode::kPaired ? comparison.mean_relative_error : comparison.smoothed_relative_error;
  v1::Finding& finding = AddError(context, result, "curve_leaves", run.name,
                                  {{"run", run.name},
                                   {"step", absl::StrCat(from)},
                                   {"error", Percent(error)},
                                   {"tail", Percent(comparison.tail_relative_difference)}});
  SetFacts(finding, comparison);
  SetFact(finding, "run", run.name);
  for (std::size_t i = 0; i < aligned.steps.size(); ++i) {
    if (aligned.steps[i] != from) continue;
    finding.add_evidence(aligned.at_b[i]->where);
    finding.set_baseline(absl::StrCat("step ", from, ": ", Short(aligned.b[i]), " (", run.name, "), ",
                                      Short(aligned.a[i]), " (median)"));
  }
}

}  // namespace

std::string Short(double value) {
  return absl::StrFormat("%.6g", value);
}

std::string Percent(double fraction) {
  constexpr double kTold = 1e6;  // more is no figure that anybody compares
  const double percent = fraction * 100;
  if (std::isnan(percent)) return "nan";
  if (std::fabs(percent) >= kTold) return percent > 0 ? "> 1000000 %" : "< -1000000 %";
  return absl::StrFormat(std::fabs(percent) >= 1000 ? "%.0f %%" : "%.3g %%", percent);
}

std::string JoinNumbers(const std::vector<double>& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, double value) { absl::StrAppend(out, Short(value)); });
}

std::string JoinNames(const std::vector<const RunSeries*>& runs) {
  return absl::StrJoin(runs, ", ", [](std::string* out, const RunSeries* run) { absl::StrAppend(out, run->name); });
}

double FinalMetrics::Margin(const Profile& profile, double mean) const {
  if (!is_share) return profile.threshold("metric_relative_error") * std::fabs(mean);
  return profile.threshold("accuracy_points") * (fractions ? 0.01 : 1);
}

std::string CommonMetric(const std::vector<const RunSeries*>& runs) {
  std::map<std::string, std::pair<FinalMetric, std::size_t>> printed;  // with how many runs print it
  std::size_t printing = 0;
  for (const RunSeries* run : runs) {
    const std::vector<FinalMetric> finals = run->Finals();
    printing += finals.empty() ? 0 : 1;
    for (const FinalMetric& metric : finals) ++printed.try_emplace(metric.name, metric, 0).first->second.second;
  }
  const FinalMetric* best = nullptr;
  const FinalMetric* common = nullptr;
  for (const auto& [name, entry] : printed) {
    const auto& [metric, count] = entry;
    if (best == nullptr || metric.preference < best->preference) best = &metric;
    if (count == printing && (common == nullptr || metric.preference < common->preference)) common = &metric;
  }
  if (best == nullptr) return "";
  return common != nullptr && (common->of_quality || !best->of_quality) ? common->name : best->name;
}

FinalMetrics FinalsOf(const std::vector<const RunSeries*>& runs, absl::string_view metric) {
  FinalMetrics finals;
  finals.metric = std::string(metric);
  std::vector<FinalMetric> found;
  for (const RunSeries* run : runs) {
    const std::vector<FinalMetric> all = run->Finals();
    const auto one = std::find_if(all.begin(), all.end(), [&](const FinalMetric& m) { return m.name == metric; });
    if (one == all.end()) {
      finals.without.push_back(run);
      continue;
    }
    if (!one->finite || one->later.has_value()) {
      finals.unusable.push_back({run, *one});
      continue;
    }
    finals.runs.push_back(run);
    found.push_back(*one);
  }
  finals.fractions = std::all_of(found.begin(), found.end(), [](const FinalMetric& m) { return m.printed != m.value; });
  for (const FinalMetric& one : found) {
    finals.is_share = one.is_share;
    finals.higher_is_better = one.higher_is_better;
    finals.of_quality = one.of_quality;
    finals.steps.push_back(one.step);
    finals.values.push_back(finals.fractions ? one.printed : one.value);
    finals.where.push_back(one.where);
  }
  return finals;
}

void ReportWithoutFinal(const CheckContext& context, v1::CheckResult& result, const FinalMetrics& finals) {
  for (const RunSeries* run : finals.without) {
    if (const std::optional<FinalMetric> other = run->Final()) {
      AddMissing(context, result, "other_metric_of_run", run->name,
                 {{"run", run->name}, {"metric", other->name}, {"other", finals.metric}});
      continue;
    }
    AddMissing(context, result, "metric_not_printed", run->name,
               {{"run", run->name}, {"metric", finals.metric.empty() ? "val_accuracy, eval_loss" : finals.metric}});
  }
  for (const FinalMetrics::Unusable& one : finals.unusable) {
    const std::string& metric = one.metric.name;
    if (!one.metric.finite) {
      v1::Finding& finding =
          AddError(context, result, "final_not_finite", one.run->name,
                   {{"run", one.run->name}, {"value", FormatDouble(one.metric.printed)}, {"where", one.metric.where}});
      SetFact(finding, "metric", metric);
      finding.add_evidence(one.metric.where);
      continue;
    }
    AddMissing(context, result, "final_not_last", one.run->name,
               {{"run", one.run->name},
                {"metric", metric},
                {"value", Short(one.metric.printed)},
                {"step", absl::StrCat(one.metric.step.value_or(0))},
                {"last", absl::StrCat(one.metric.later.value_or(0))}});
  }
}

bool RequireRepeats(const CheckContext& context, v1::CheckResult& result, const FinishedRuns& runs,
                    absl::string_view too_few) {
  const auto needed = static_cast<std::size_t>(context.profile.threshold("repeat_runs"));
  const bool enough = runs.finished.size() >= needed;
  if (!enough) {
    AddMissing(context, result, too_few, SideName(Side::kBaseline),
               {{"needed", absl::StrCat(needed)}, {"finished", absl::StrCat(runs.finished.size())}});
  }
  for (const FinishedRuns::Left& left : runs.others) {
    if (enough) {
      AddNote(context, result, left.message_id, left.run->name, left.args).add_evidence(left.run->ending.where);
    } else {
      AddMissing(context, result, left.message_id, left.run->name, left.args);
    }
  }
  return runs.finished.size() >= 2;
}

void CompareFinals(const CheckContext& context, v1::CheckResult& result, const std::vector<const RunSeries*>& runs) {
  const FinalMetrics finals = FinalsOf(runs, CommonMetric(runs));
  ReportWithoutFinal(context, result, finals);
  if (finals.values.size() < 2) return;
  const double mean = Mean(finals.values);
  const double sd = StandardDeviation(finals.values);
  const double range = Range(finals.values);
  const double margin = finals.Margin(context.profile, mean);
  const double variation = mean != 0 ? sd / std::fabs(mean) : 0;
  // Values such as 76.1 and 76.6 differ by the margin and not by a rounding error more.
  const bool spread = range > margin * (1 + 1e-9) || variation > context.profile.threshold("repeat_variation");
  MessageArgs args = {{"metric", finals.metric},
                      {"values", JoinNumbers(finals.values)},
                      {"mean", Short(mean)},
                      {"sd", Short(sd)},
                      {"range", Short(range)},
                      {"margin", Short(margin)},
                      {"variation", Percent(variation)}};
  if (!spread) {
    SetSampleFacts(AddNote(context, result, finals.of_quality ? "measured/repeat" : "measured/repeat_loss", "", args),
                   finals, mean, sd);
    return;
  }
  const std::size_t odd = OddOne(finals.values);
  args.emplace_back("run", finals.runs[odd]->name);
  args.emplace_back("value", Short(finals.values[odd]));
  v1::Finding& finding = AddError(context, result, "accuracy_spread", finals.runs[odd]->name, args);
  finding.set_baseline(JoinNumbers(finals.values));
  SetSampleFacts(finding, finals, mean, sd);
  SetFact(finding, "margin", margin);
}

void CompareRepeatCurves(const CheckContext& context, v1::CheckResult& result,
                         const std::vector<const RunSeries*>& runs, GuardOfRun guard_of) {
  const LossCurves losses = CollectLosses(context, result, runs, guard_of);
  if (losses.curves.size() < 2) return;
  const CurveLimits limits = LimitsOf(context.profile);
  std::vector<const Curve*> curves;
  for (const Curve& curve : losses.curves) curves.push_back(&curve);
  const bool same_order = SameOrder(curves, limits);
  // With two runs the median lies between them and would halve the difference.
  const Curve reference = curves.size() > 2 ? PointwiseMedian(curves) : *curves[0];
  double largest = 0;
  std::int64_t common = 0;
  bool inconclusive = false;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const AlignedCurves aligned = Align(reference, *curves[i]);
    const CurveComparison comparison = Compare(aligned, limits, same_order);
    common = comparison.common_steps;
    const bool too_few = static_cast<double>(common) < context.profile.threshold("common_steps_min") ||
                         comparison.coverage < context.profile.threshold("coverage_min");
    if (comparison.verdict == CurveVerdict::kDiffer) {
      ReportLeaving(context, result, *losses.runs[i], aligned, comparison);
    } else if (too_few || comparison.verdict == CurveVerdict::kInconclusive) {
      inconclusive = true;
      AddMissing(context, result, too_few ? TooFewSteps(context.profile, comparison.coverage) : "curve_inconclusive",
                 losses.runs[i]->name,
                 {{"common", absl::StrCat(common)},
                  {"coverage", Percent(comparison.coverage)},
                  {"needed", Short(context.profile.threshold("common_steps_min"))},
                  {"error", Percent(comparison.smoothed_relative_error)}});
    }
    largest = std::max(largest, same_order ? comparison.mean_relative_error : comparison.smoothed_relative_error);
  }
  if (inconclusive) return;
  v1::Finding& note =
      AddNote(context, result, "measured/repeat_curves", "",
              {{"runs", JoinNames(losses.runs)}, {"error", Percent(largest)}, {"common", absl::StrCat(common)}});
  SetFact(note, "runs", static_cast<std::int64_t>(losses.runs.size()));
  SetFact(note, "run_names", JoinNames(losses.runs));
  SetFact(note, "largest_relative_error", largest);
  SetFact(note, "common_steps", common);
  SetFact(note, "mode", same_order ? "paired" : "unpaired");
}

}  // namespace paritect
