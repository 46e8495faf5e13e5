#include "checks/runs/step_axis.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "checks/numbers/statistics.h"
#include "checks/series/curves.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"

namespace paritect {
namespace {

constexpr std::size_t kPointsMin = 20;

double TypicalGap(const Curve& curve) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    gaps.push_back(static_cast<double>(curve.points[i].step - curve.points[i - 1].step));
  }
  return gaps.empty() ? 0 : Median(std::move(gaps));
}

// Samples that a step consumes, by the run's own count.
std::optional<double> PrintedPerStep(const RunSeries& run) {
  const CurveSet& set = run.Curves(Metric::kSamples);
  if (set.curves.size() != 1) return std::nullopt;
  std::vector<double> per_step;
  const std::vector<CurvePoint>& points = set.curves[0].points;
  for (std::size_t i = 1; i < points.size(); ++i) {
    per_step.push_back((points[i].value - points[i - 1].value) /
                       static_cast<double>(points[i].step - points[i - 1].step));
  }
  if (per_step.size() < 3) return std::nullopt;
  const double usual = Median(std::move(per_step));
  return usual > 0 ? std::optional<double>(usual) : std::nullopt;
}

std::optional<double> BatchOf(const CheckContext& context, const RunSeries& run) {
  if (const std::optional<double> printed = PrintedBatch(run)) return printed;
  const Derived batch = GlobalBatch(SettingsView::Of(context, run.side, run.view));
  return batch.value.has_value() && *batch.value > 0 && batch.disagreeing.empty() ? batch.value : std::nullopt;
}

bool SameAmount(const CheckContext& context, double a, double b) {
  return std::fabs(a - b) <= context.profile.threshold("step_samples_same") * std::max(a, b);
}

std::optional<double> CorrelationOf(const Curve& a, const Curve& b) {
  const AlignedCurves aligned = Align(a, b);
  if (aligned.steps.size() < kPointsMin) return std::nullopt;
  return DifferenceCorrelation(aligned.a, aligned.b);
}

void Shift(Curve& curve, std::int64_t by) {
  for (CurvePoint& point : curve.points) point.step += by;
}

// Both print every step, one from 0 and one from 1, and the losses move together only when that is taken into account.
std::int64_t ShiftBetween(const CheckContext& context, const Curve& a, const Curve& b) {
  if (a.points.size() < kPointsMin || b.points.size() < kPointsMin) return 0;
  const std::int64_t shift = a.points.front().step - b.points.front().step;
  if (std::abs(shift) != 1 || std::min(a.points.front().step, b.points.front().step) != 0) return 0;
  if (TypicalGap(a) != 1 || TypicalGap(b) != 1) return 0;
  Curve shifted = b;
  Shift(shifted, shift);
  const std::optional<double> as_printed = CorrelationOf(a, b);
  const std::optional<double> moved = CorrelationOf(a, shifted);
  return moved.has_value() && *moved > context.profile.threshold("shift_correlation") &&
                 *moved > as_printed.value_or(0) + context.profile.threshold("shift_gain")
             ? shift
             : 0;
}

}  // namespace

std::optional<double> PrintedBatch(const RunSeries& run) {
  std::optional<double> batch;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      const auto printed = record.metrics().find("global batch size");
      if (printed == record.metrics().end() || !(printed->second > 0)) continue;
      if (batch.has_value() && *batch != printed->second) return std::nullopt;  // a ramp-up has no one batch
      batch = printed->second;
    }
  }
  return batch;
}

StepAxis ChooseAxis(const CheckContext& context, const RunSeries& baseline, const RunSeries& migrated, const Curve& a,
                    const Curve& b) {
  StepAxis axis;
  std::optional<double> per_a = PrintedPerStep(baseline);
  std::optional<double> per_b = PrintedPerStep(migrated);
  if (!per_a.has_value() || !per_b.has_value()) {
    per_a = BatchOf(context, baseline);
    per_b = BatchOf(context, migrated);
  }
  if (per_a.has_value() && per_b.has_value() && !SameAmount(context, *per_a, *per_b)) {
    axis.kind = StepAxis::Kind::kSamples;
    axis.baseline_per_step = *per_a;
    axis.migrated_per_step = *per_b;
    return axis;
  }
  axis.shift = ShiftBetween(context, a, b);
  if (axis.shift != 0) axis.kind = StepAxis::Kind::kShifted;
  return axis;
}

void MoveToAxis(const StepAxis& axis, Curve& a, Curve& b) {
  if (axis.kind == StepAxis::Kind::kShifted) Shift(b, axis.shift);
  if (axis.kind != StepAxis::Kind::kSamples) return;
  for (auto* const curve : {&a, &b}) {
    const double per_step = curve == &a ? axis.baseline_per_step : axis.migrated_per_step;
    for (CurvePoint& point : curve->points) {
      point.step = std::llround(static_cast<double>(point.step) * per_step);
    }
    curve->interval_means = true;
  }
}

std::int64_t BaselineStep(const StepAxis& axis, std::int64_t position) {
  if (axis.kind != StepAxis::Kind::kSamples) return position;
  return std::llround(static_cast<double>(position) / axis.baseline_per_step);
}

}  // namespace paritect
