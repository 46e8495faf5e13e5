// Curves of both sides over one axis: what they printed, how far they are apart, where they part, where steps were
// skipped.
#include <cmath>
#include <limits>
#include <map>

#include "checks/pictures/pictures.h"
#include "checks/runs/run_pairs.h"
#include "checks/runs/step_axis.h"
#include "checks/series/curve_figures.h"
#include "checks/series/metric_limits.h"
#include "checks/series/rank_curves.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr Metric kDrawn[] = {Metric::kLoss, Metric::kLearningRate, Metric::kGradNorm, Metric::kLossScale};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Where a step of one side stands on the picture's axis.
class Positions {
 public:
  Positions(const StepAxis& axis, bool migrated) : axis_(axis), migrated_(migrated) {}
  double operator()(std::int64_t step) const {
    if (axis_.kind == StepAxis::Kind::kShifted && migrated_) step += axis_.shift;
    if (axis_.kind != StepAxis::Kind::kSamples) return static_cast<double>(step);
    return static_cast<double>(step) * (migrated_ ? axis_.migrated_per_step : axis_.baseline_per_step);
  }

 private:
  const StepAxis& axis_;
  const bool migrated_;
};

template <typename Marks>
void AddMark(double at, std::size_t max, Marks& marks) {
  if (static_cast<std::size_t>(marks.size()) < max) marks.Add(at);
}

template <typename Marks>
void MarkOverflows(const RunSeries& run, const Positions& position, std::size_t max, Marks& marks) {
  std::set<std::int64_t> steps;  // ranks tell of the same step
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (record.overflow() || record.skipped() > 0) steps.insert(record.step());
    }
  }
  for (const std::int64_t step : steps) AddMark(position(step), max, marks);
}

template <typename Marks>
void MarkNonFinite(const Curve& curve, std::size_t max, Marks& marks) {
  for (const CurvePoint& point : curve.points) {
    if (!std::isfinite(point.value)) AddMark(static_cast<double>(point.step), max, marks);
  }
}

// Both curves at every position that either has.
struct Joined {
  std::vector<double> at;
  std::vector<double> values[2];
};

Joined Join(const Curve& a, const Curve& b) {
  std::map<std::int64_t, std::pair<double, double>> rows;
  const auto finite = [](double value) { return std::isfinite(value) ? value : kNone; };
  for (const CurvePoint& point : a.points) rows[point.step] = {finite(point.value), kNone};
  for (const CurvePoint& point : b.points) {
    rows.try_emplace(point.step, kNone, kNone).first->second.second = finite(point.value);
  }
  Joined joined;
  for (const auto& [step, values] : rows) {
    joined.at.push_back(static_cast<double>(step));
    joined.values[0].push_back(values.first);
    joined.values[1].push_back(values.second);
  }
  return joined;
}

class Drawing {
 public:
  Drawing(const CheckContext& context, const PictureBounds& bounds, const RunSeries& a, const RunSeries& b)
      : context_(context), bounds_(bounds), a_(a), b_(b) {}

  void Add(Metric metric, v1::ReportPictures& out) const {
    const std::vector<Curve> left = a_.Curves(metric).curves, right = b_.Curves(metric).curves;
    const bool only = left.size() == 1 && right.size() == 1;
    for (const Curve& a : left) {
      for (const Curve& b : right) {
        if (!only && a.engine != b.engine) continue;
        if (static_cast<std::size_t>(out.curves_size()) == bounds_.curves_max) return;
        Draw(metric, a, b, *out.add_curves());
      }
    }
  }

 private:
  void Draw(Metric metric, Curve a, Curve b, v1::CurvePicture& out) const {
    out.set_metric(std::string(MetricName(metric)));
    out.set_baseline_run(DisplayBytes(a_.name));
    out.set_migrated_run(DisplayBytes(b_.name));
    out.set_engine(DisplayBytes(b.engine));
    PairRanks(context_.profile, a, b);
    const StepAxis axis = ChooseAxis(context_, a_, b_, a, b);
    MoveToAxis(axis, a, b);
    out.set_axis(axis.kind == StepAxis::Kind::kSamples ? "samples" : "steps");
    Points(Join(a, b), out);
    Difference(a, b, out);
    MarkNonFinite(a, bounds_.marks_max, *out.mutable_baseline_nonfinite());
    MarkNonFinite(b, bounds_.marks_max, *out.mutable_migrated_nonfinite());
    MarkOverflows(a_, Positions(axis, false), bounds_.marks_max, *out.mutable_baseline_overflows());
    MarkOverflows(b_, Positions(axis, true), bounds_.marks_max, *out.mutable_migrated_overflows());
  }

  void Points(const Joined& joined, v1::CurvePicture& out) const {
    out.set_points_total(static_cast<std::int64_t>(joined.at.size()));
    for (const std::size_t i : DrawnPoints(joined.values, bounds_.curve_points_max)) {
      out.add_at(joined.at[i]);
      out.add_baseline(joined.values[0][i]);
      out.add_migrated(joined.values[1][i]);
    }
  }

  void Difference(const Curve& a, const Curve& b, v1::CurvePicture& out) const {
    const CurveLimits limits = LimitsOfMetric(context_.profile, out.metric());
    out.set_limit(limits.mean_relative);
    const AlignedCurves aligned = Align(a, b);
    if (aligned.steps.empty()) return;
    const CurveComparison figures =
        Compare(aligned, limits, IsComputed(out.metric()) ? std::optional<bool>(true) : std::nullopt);
    out.set_paired(figures.mode == CurveMode::kPaired);
    const auto parts = DivergesSince(aligned, limits.onset_dead_zone, out.paired());
    if (parts.has_value()) out.set_first_divergent(static_cast<double>(*parts));
    const std::vector<double> difference[] = {RelativeDifferences(aligned.a, aligned.b, SizeFloor(aligned.a))};
    for (const std::size_t i : DrawnPoints(difference, bounds_.curve_points_max)) {
      out.add_difference_at(static_cast<double>(aligned.steps[i]));
      out.add_difference(difference[0][i]);
    }
  }

  const CheckContext& context_;
  const PictureBounds& bounds_;
  const RunSeries& a_;
  const RunSeries& b_;
};

}  // namespace

void AddCurvePictures(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out) {
  const RunPairs pairs(context);
  const RunSeries* reference = pairs.reference();
  if (reference == nullptr) return;
  for (const RunSeries* migrated : pairs.Comparable(Side::kMigrated)) {
    const Drawing drawing(context, bounds, *reference, *migrated);
    for (const Metric metric : kDrawn) drawing.Add(metric, out);
  }
}

}  // namespace paritect
