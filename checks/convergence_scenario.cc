// convergence.scenario: which scenario: no convergence, another curve, or equal curves with another accuracy?
// Source: MindSpore precision checklist: 1 the loss does not converge; 2 it converges, but the curve or its end
// differs; 3 curves agree, accuracy does not.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/finals.h"
#include "checks/loss_comparison.h"
#include "checks/nonfinite.h"
#include "checks/repeats.h"
#include "checks/statistics.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kMigrated}};

constexpr std::size_t kPointsMin = 20;

// Where a loss begins and ends: means of its first and last tenth.
struct Course {
  double start = 0;
  double end = 0;
  double noise = 0;      // of a single value, in the last tenth
  double uncertain = 0;  // standard error of end - start
  double fall() const { return start - end; }
  bool rises() const { return end > start + 2 * noise; }
  bool flat() const { return fall() <= std::max(3 * uncertain, 0.01 * std::fabs(start)); }
};

std::optional<Course> CourseOf(const Curve& curve) {
  std::vector<double> values;
  for (const CurvePoint& point : FiniteOnly(curve).points) values.push_back(point.value);
  if (values.size() < kPointsMin) return std::nullopt;
  const std::size_t tenth = values.size() / 10;
  const absl::Span<const double> all = values;
  Course course;
  course.start = Mean(all.subspan(0, tenth));
  course.end = Mean(all.subspan(values.size() - tenth));
  course.noise = StandardDeviation(all.subspan(values.size() - tenth));
  course.uncertain = course.noise * std::sqrt(2.0 / static_cast<double>(tenth));
  return course;
}

// The reference run's course of the same engine.
std::optional<Course> ReferenceCourse(const RunSeries* reference, const Curve& migrated) {
  if (reference == nullptr) return std::nullopt;
  const CurveSet set = reference->Curves(Metric::kLoss);
  for (const Curve& curve : set.curves) {
    if (set.curves.size() == 1 || curve.engine == migrated.engine) return CourseOf(curve);
  }
  return std::nullopt;
}

// A loss that stands still where the baseline's falls has not converged; where the baseline's stands still as well
// (a resumed or fine-tuned model), the curves decide.
bool StandsStill(const Course& migrated, const std::optional<Course>& baseline) {
  constexpr double kShareOfFall = 0.1;
  if (!migrated.flat() || !baseline.has_value() || baseline->flat()) return false;
  return baseline->fall() > 0.05 * std::fabs(baseline->start) && migrated.fall() < kShareOfFall * baseline->fall();
}

void ReportNoConvergence(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Curve& curve,
                         const Course& course, const std::optional<Course>& baseline) {
  const bool flat = !course.rises();
  MessageArgs args = {{"run", SubjectOf(run, curve)}, {"start", Short(course.start)}, {"end", Short(course.end)}};
  if (baseline.has_value()) {
    args.emplace_back("baseline_start", Short(baseline->start));
    args.emplace_back("baseline_end", Short(baseline->end));
  }
  v1::Finding& finding = AddError(context, result, flat ? "scenario_no_convergence/flat" : "scenario_no_convergence",
                                  SubjectOf(run, curve), args);
  finding.set_migrated(absl::StrCat(Short(course.start), " -> ", Short(course.end)));
  if (baseline.has_value()) {
    finding.set_baseline(absl::StrCat(Short(baseline->start), " -> ", Short(baseline->end)));
  }
  SetFact(finding, "scenario", 1);
  SetFact(finding, "start", course.start);
  SetFact(finding, "end", course.end);
  finding.add_evidence(curve.points.back().where);
}

// A training that converges ends below where it began. How far is not said here: that is what a baseline is for.
bool Converges(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const RunSeries* reference) {
  if (FindNonFinite(context, result, run)) return false;
  const CurveSet set = run.Curves(Metric::kLoss);
  for (const Curve& curve : set.curves) {
    const std::optional<Course> course = CourseOf(curve);
    if (!course.has_value()) {
      AddMissing(context, result, "too_short_to_judge", run.name,
                 {{"run", run.name},
                  {"count", absl::StrCat(FiniteOnly(curve).points.size())},
                  {"needed", absl::StrCat(kPointsMin)}});
      continue;
    }
    const std::optional<Course> baseline = ReferenceCourse(reference, curve);
    if (course->rises() || StandsStill(*course, baseline)) {
      ReportNoConvergence(context, result, run, curve, *course, baseline);
      return false;
    }
    if (course->flat() && !baseline.has_value()) {
      AddMissing(context, result, "loss_stands_still", run.name,
                 {{"run", SubjectOf(run, curve)}, {"start", Short(course->start)}, {"end", Short(course->end)}});
    }
  }
  return true;
}

bool CurveAgrees(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  const MessageArgs args = {{"migrated", c.subject},
                            {"baseline", c.baseline_name},
                            {"step", absl::StrCat(c.shown_step)},
                            {"tail", Percent(c.figures.tail_relative_difference)},
                            {"common", absl::StrCat(c.figures.common_steps)},
                            {"coverage", Percent(c.figures.coverage)},
                            {"needed", Short(context.profile.threshold("common_steps_min"))},
                            {"error", Percent(c.figures.smoothed_relative_error)}};
  if (c.figures.common_steps > 0 && c.figures.verdict == CurveVerdict::kDiffer) {
    v1::Finding& finding = AddError(context, result, "scenario_curve", c.subject, args);
    finding.set_baseline(Short(c.baseline_value));
    finding.set_migrated(Short(c.migrated_value));
    SetFacts(finding, c.figures);
    SetFact(finding, "scenario", 2);
    if (!c.migrated_where.empty()) finding.add_evidence(c.migrated_where);
    return false;
  }
  if (c.too_short || c.figures.verdict == CurveVerdict::kInconclusive) {
    AddMissing(context, result, c.too_short ? "too_few_common_steps" : "curve_inconclusive", c.subject, args);
  }
  return true;
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const RunPairs pairs(context);
  bool converges = true;
  for (const RunSeries& run : pairs.runs(Side::kMigrated)) {
    if (!run.logs.empty()) converges = Converges(context, result, run, pairs.reference()) && converges;
  }
  if (!converges || pairs.runs(Side::kMigrated).empty()) return;
  if (pairs.reference() == nullptr) {
    // Developed from scratch: whether the curve is as it should be, a person says.
    AddMissing(context, result, "no_baseline_curve", SideName(Side::kBaseline));
    return;
  }
  pairs.RequireFinished(context, result, Side::kMigrated);
  bool curves_agree = true;
  for (const LossComparison& c : CompareLosses(context, result, pairs)) {
    curves_agree = CurveAgrees(context, result, c) && curves_agree;
  }
  if (!curves_agree) return;
  const FinalMetrics a = FinalsOf(pairs.Comparable(Side::kBaseline));
  const FinalMetrics b = FinalsOf(pairs.Comparable(Side::kMigrated));
  if (!a.values.empty() || !b.values.empty()) CompareFinalsOfTwo(context, result, a, b, "scenario_accuracy");
}

}  // namespace

extern const Check kConvergenceScenario;
const Check kConvergenceScenario = {"convergence.scenario", kNeeds, &Evaluate};

}  // namespace paritect
