#include "checks/runs/loss_comparison.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/repeats.h"
#include "checks/series/running_mean.h"

namespace paritect {
namespace {

// The baseline's loss curves of one engine: the reference's first.
struct BaselineCurves {
  std::vector<const RunSeries*> runs;
  std::vector<Curve> curves;
  bool same_order = true;  // the repeats read their data in one order
};

BaselineCurves CollectBaseline(const RunPairs& pairs, const Curve& reference, const CurveLimits& limits) {
  BaselineCurves result;
  result.runs.push_back(pairs.reference());
  result.curves.push_back(reference);
  for (const RunSeries* run : pairs.Comparable(Side::kBaseline)) {
    if (run == pairs.reference()) continue;
    const CurveSet& set = run->Curves(Metric::kLoss);
    for (const Curve& curve : set.curves) {
      const Curve finite = FiniteOnly(curve);
      // Of equal length: a mean over other steps would be another curve.
      if (curve.engine != reference.engine || finite.points.size() != reference.points.size()) continue;
      if (finite.points.back().step != reference.points.back().step) continue;
      result.runs.push_back(run);
      result.curves.push_back(finite);
    }
  }
  for (std::size_t i = 1; i < result.curves.size(); ++i) {
    const CurveMode mode = Compare(Align(reference, result.curves[i]), limits).mode;
    result.same_order = result.same_order && mode == CurveMode::kPaired;
  }
  return result;
}

// What the migrated curve is measured against.
struct Yardstick {
  Curve curve;
  std::string name;
  CurveLimits limits;
  bool widened = false;
  std::optional<bool> same_order;
};

Yardstick ChooseYardstick(const BaselineCurves& baseline, const Curve& migrated, const CurveLimits& limits) {
  Yardstick yardstick{baseline.curves[0], baseline.runs[0]->name, limits, false, {}};
  if (baseline.curves.size() < 2) return yardstick;
  const CurveMode mode = Compare(Align(baseline.curves[0], migrated), limits).mode;
  // One of several shuffles: step by step against that one, since a mean over other orders blurs the steps.
  if (mode == CurveMode::kPaired && !baseline.same_order) return yardstick;
  std::vector<const Curve*> all;
  for (const Curve& curve : baseline.curves) all.push_back(&curve);
  const std::vector<const Curve*> kept = WithoutOddOnes(all, limits);
  if (kept.size() < 2) return yardstick;
  std::vector<const RunSeries*> runs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(kept.begin(), kept.end(), all[i]) != kept.end()) runs.push_back(baseline.runs[i]);
  }
  yardstick.curve = PointwiseMean(kept);
  yardstick.name = absl::StrCat("mean of ", JoinNames(runs));
  yardstick.limits = Widened(limits, NoiseOf(kept, limits));
  yardstick.widened = mode == CurveMode::kPaired ? yardstick.limits.mean_relative > limits.mean_relative
                                                 : yardstick.limits.smoothed_relative > limits.smoothed_relative ||
                                                       yardstick.limits.tail_relative > limits.tail_relative;
  if (mode != CurveMode::kUndecided) yardstick.same_order = mode == CurveMode::kPaired;
  return yardstick;
}

void ShowStep(LossComparison& comparison) {
  const AlignedCurves& aligned = comparison.aligned;
  const CurveComparison& figures = comparison.figures;
  comparison.shown_step = figures.first_divergent_step.value_or(figures.first_step);
  // Smoothed curves may part at a step whose own values are equal: that would show no difference.
  for (std::size_t i = 0; i < aligned.steps.size(); ++i) {
    const bool equal = aligned.steps[i] == comparison.shown_step && Short(aligned.a[i]) == Short(aligned.b[i]);
    if (equal && figures.verdict == CurveVerdict::kDiffer) comparison.shown_step = figures.max_step;
  }
  for (std::size_t i = 0; i < aligned.steps.size(); ++i) {
    if (aligned.steps[i] != comparison.shown_step) continue;
    comparison.baseline_value = aligned.a[i];
    comparison.migrated_value = aligned.b[i];
    comparison.migrated_where = aligned.at_b[i]->where;
  }
  for (const CurvePoint& point : comparison.against.points) {
    if (point.step == comparison.shown_step) comparison.baseline_where = point.where;
  }
}

std::vector<std::int64_t> SpikeSteps(const AlignedCurves& aligned, absl::Span<const double> values) {
  std::vector<std::int64_t> steps;
  for (const std::size_t at : Spikes(values)) steps.push_back(aligned.steps[at]);
  return steps;
}

// Positions of the axis told as the baseline's steps.
void TellBaselineSteps(LossComparison& c) {
  if (c.axis.kind != StepAxis::Kind::kSamples) return;
  if (c.stretch.has_value()) {
    c.stretch->first_step = BaselineStep(c.axis, c.stretch->first_step);
    c.stretch->last_step = BaselineStep(c.axis, c.stretch->last_step);
  }
  for (std::int64_t* step : {&c.figures.first_step, &c.figures.max_step, &c.shown_step}) {
    *step = BaselineStep(c.axis, *step);
  }
  if (c.figures.first_divergent_step.has_value()) {
    c.figures.first_divergent_step = BaselineStep(c.axis, *c.figures.first_divergent_step);
  }
  if (c.figures.left_out.has_value()) c.figures.left_out = BaselineStep(c.axis, *c.figures.left_out);
  for (auto* const steps : {&c.spikes_of_baseline, &c.spikes_of_migrated}) {
    for (std::int64_t& step : *steps) step = BaselineStep(c.axis, step);
  }
}

// A running mean on one side lags behind the loss of the other: compared with that one's running mean.
void TakeRunningMean(LossComparison& comparison) {
  std::optional<RunningMean> mean = FindRunningMean(comparison.aligned, comparison.limits);
  if (!mean.has_value()) return;
  const CurveComparison figures = Compare(mean->curves, comparison.limits, true);
  if (figures.verdict == CurveVerdict::kDiffer) return;  // as it was found
  const double coverage = comparison.figures.coverage;
  comparison.figures = figures;
  comparison.figures.coverage = coverage;
  comparison.aligned = std::move(mean->curves);
  comparison.running_mean = mean->window;
  comparison.running_mean_of_migrated = mean->of_b;
}

LossComparison CompareOne(const CheckContext& context, const RunPairs& pairs, const RunSeries& migrated,
                          const CurvePair& pair) {
  const CurveLimits limits = LimitsOf(context.profile);
  LossComparison comparison;
  comparison.baseline = pairs.reference();
  comparison.migrated = &migrated;
  comparison.subject = SubjectOf(migrated, pair.migrated);
  comparison.axis = ChooseAxis(context, *pairs.reference(), migrated, pair.baseline, pair.migrated);
  // On another axis the reference run stands alone: the mean of repeats is one over steps.
  const bool by_steps = comparison.axis.kind == StepAxis::Kind::kSteps;
  Yardstick yardstick{pair.baseline, pairs.reference()->name, limits, false, {}};
  Curve curve = pair.migrated;
  if (by_steps) yardstick = ChooseYardstick(CollectBaseline(pairs, pair.baseline, limits), pair.migrated, limits);
  MoveToAxis(comparison.axis, yardstick.curve, curve);
  comparison.against = std::move(yardstick.curve);
  comparison.curve = std::move(curve);
  comparison.aligned = Align(comparison.against, comparison.curve);
  comparison.same_order = yardstick.same_order;
  const AlignedCurves& aligned = comparison.aligned;
  comparison.baseline_name = yardstick.name;
  comparison.limits = yardstick.limits;
  comparison.widened = yardstick.widened;
  comparison.figures = Compare(aligned, yardstick.limits, yardstick.same_order);
  if (comparison.figures.verdict != CurveVerdict::kAgree) TakeRunningMean(comparison);
  comparison.too_short =
      static_cast<double>(comparison.figures.common_steps) < context.profile.threshold("common_steps_min") ||
      comparison.figures.coverage < context.profile.threshold("coverage_min");
  comparison.bias = BiasInterval(aligned);
  if (comparison.figures.verdict != CurveVerdict::kDiffer) {
    comparison.stretch = FindStretch(aligned, comparison.limits, comparison.figures.mode == CurveMode::kPaired,
                                     context.profile.threshold("loss_leaving_steps"));
  }
  comparison.spikes_of_baseline = SpikeSteps(aligned, aligned.a);
  comparison.spikes_of_migrated = SpikeSteps(aligned, aligned.b);
  ShowStep(comparison);
  TellBaselineSteps(comparison);
  return comparison;
}

}  // namespace

std::vector<LossComparison> CompareLosses(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs) {
  return CompareLosses(context, result, pairs, pairs.Comparable(Side::kMigrated));
}

std::vector<LossComparison> CompareLosses(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs,
                                          const std::vector<const RunSeries*>& migrated_runs) {
  std::vector<LossComparison> comparisons;
  const RunSeries* reference = pairs.reference();
  if (reference == nullptr) return comparisons;
  for (const RunSeries* migrated : migrated_runs) {
    for (const CurvePair& pair : PairCurves(context, result, *reference, *migrated, Metric::kLoss)) {
      comparisons.push_back(CompareOne(context, pairs, *migrated, pair));
    }
  }
  return comparisons;
}

}  // namespace paritect
