// convergence.scenario: which scenario: no convergence, another curve, or equal curves with another accuracy?
// Source: MindSpore precision checklist: 1 the loss does not converge; 2 it converges, but the curve or its end
// differs; 3 curves agree, accuracy does not.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/numbers/statistics.h"
#include "checks/runs/loss_comparison.h"
#include "checks/runs/scaler.h"
#include "checks/runs/step_axis.h"
#include "checks/series/finals.h"
#include "checks/series/nonfinite.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kMigrated}};

constexpr std::size_t kPointsMin = 20;

// Where a loss begins and ends: means of its first and last tenth.
struct Course {
  double start = 0;
  double end = 0;
  double noise = 0;   // of a single value, in the last tenth
  double lowest = 0;  // of the means of all tenths
  std::int64_t lowest_step = 0;
  double latest = 0;        // median of the last fiftieth: a spike is no end
  double noise_before = 0;  // ... in the tenth that is lowest
  double uncertain = 0;     // standard error of end - start
  double fall() const { return start - end; }
  bool rises() const { return end > start + 2 * noise || (end > start && latest > start + std::fabs(start)); }
  // Fallen and risen again: the share of the fall that is lost at the end, 0 where that is within the noise.
  double lost() const {
    const double fallen = start - lowest;
    return fallen > 0 && latest > lowest + 3 * noise_before ? (latest - lowest) / fallen : 0;
  }
  bool flat(const Profile& profile) const {
    return fall() <= std::max(3 * uncertain, profile.threshold("convergence_flat") * std::fabs(start));
  }
};

std::optional<Course> CourseOf(const Curve& curve) {
  const Curve finite = FiniteOnly(curve);
  std::vector<double> values;
  for (const CurvePoint& point : finite.points) values.push_back(point.value);
  if (values.size() < kPointsMin) return std::nullopt;
  const std::size_t tenth = values.size() / 10;
  const absl::Span<const double> all = values;
  Course course;
  course.start = Mean(all.subspan(0, tenth));
  course.end = Mean(all.subspan(values.size() - tenth));
  course.noise = StandardDeviation(all.subspan(values.size() - tenth));
  course.lowest = course.start;
  course.noise_before = course.noise;
  for (std::size_t at = 0; at + tenth <= values.size(); at += tenth) {
    const absl::Span<const double> part = all.subspan(at, tenth);
    if (at > 0 && Mean(part) >= course.lowest) continue;
    course.lowest = Mean(part);
    course.lowest_step = finite.points[at + tenth - 1].step;
    course.noise_before = StandardDeviation(part);
  }
  const std::size_t last = std::min(values.size(), std::max<std::size_t>(5, values.size() / 50));
  course.latest = Median(std::vector<double>(values.end() - static_cast<std::ptrdiff_t>(last), values.end()));
  course.uncertain = course.noise * std::sqrt(2.0 / static_cast<double>(tenth));
  return course;
}

// The reference run's course of the same engine over the steps that the migrated run has.
std::optional<Course> ReferenceCourse(const CheckContext& context, const RunSeries* reference, const RunSeries& run,
                                      const Curve& migrated) {
  if (reference == nullptr || migrated.points.empty()) return std::nullopt;
  const CurveSet& set = reference->Curves(Metric::kLoss);
  for (const Curve& curve : set.curves) {
    if (set.curves.size() != 1 && curve.engine != migrated.engine) continue;
    const StepAxis axis = ChooseAxis(context, *reference, run, {}, {});
    // The same part of the training: a log of a resumed job begins where the loss has fallen already.
    const double first = static_cast<double>(migrated.points.front().step) * axis.migrated_per_step;
    const double last = static_cast<double>(migrated.points.back().step) * axis.migrated_per_step;
    Curve part = curve;
    std::erase_if(part.points, [&](const CurvePoint& point) {
      const double at = static_cast<double>(point.step) * axis.baseline_per_step;
      return at < first - axis.baseline_per_step || at > last + axis.baseline_per_step;
    });
    return CourseOf(part);
  }
  return std::nullopt;
}

// A loss that stands still where the baseline's falls has not converged, a drift included: it has learned next to
// nothing and ends nearer to where the baseline began. Where the baseline's stands still as well (a resumed or
// fine-tuned model), the curves decide.
bool StandsStill(const Course& migrated, const std::optional<Course>& baseline, const Profile& profile) {
  if (!baseline.has_value() || baseline->flat(profile)) return false;
  const double fall = baseline->fall();
  if (fall <= profile.threshold("convergence_falls") * std::fabs(baseline->start)) return false;
  if (migrated.fall() >= profile.threshold("convergence_fall_share") * fall) return false;
  return migrated.end > baseline->end + fall / 2;
}

// A loss that ends above its begin has not converged, unless the baseline's does so as well (an adversary's, a
// reward's, a curriculum's): then the curves decide.
bool Rises(const Course& migrated, const std::optional<Course>& baseline) {
  return migrated.rises() && !(baseline.has_value() && baseline->rises());
}

// A loss that falls and then loses much of its fall diverges, unless the baseline's does so as well (a curriculum).
bool Diverges(const Course& migrated, const std::optional<Course>& baseline, const Profile& profile) {
  const double lost = migrated.lost();
  // Without a baseline nothing tells what is usual.
  if (!baseline.has_value()) return lost > profile.threshold("convergence_lost_share_alone");
  return lost > profile.threshold("convergence_lost_share") && lost > 2 * baseline->lost();
}

void ReportNoConvergence(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Curve& curve,
                         const Course& course, const std::optional<Course>& baseline) {
  const bool diverges = Diverges(course, baseline, context.profile);
  const double end = diverges ? course.latest : course.end;
  MessageArgs args = {{"run", SubjectOf(run, curve)},
                      {"start", Short(course.start)},
                      {"end", Short(end)},
                      {"lowest", Short(course.lowest)},
                      {"lowest_step", absl::StrCat(course.lowest_step)}};
  if (baseline.has_value()) {
    args.emplace_back("baseline_start", Short(baseline->start));
    args.emplace_back("baseline_end", Short(baseline->end));
  }
  v1::Finding& finding = AddError(context, result,
                                  diverges         ? "scenario_no_convergence/diverges"
                                  : course.rises() ? "scenario_no_convergence"
                                                   : "scenario_no_convergence/flat",
                                  SubjectOf(run, curve), args);
  finding.set_migrated(diverges ? absl::StrCat(Short(course.start), " -> ", Short(course.lowest), " -> ", Short(end))
                                : absl::StrCat(Short(course.start), " -> ", Short(end)));
  if (diverges) SetFact(finding, "lowest", course.lowest);
  if (diverges) SetFact(finding, "lowest_step", course.lowest_step);
  if (baseline.has_value()) {
    finding.set_baseline(absl::StrCat(Short(baseline->start), " -> ", Short(baseline->end)));
  }
  SetFact(finding, "scenario", 1);
  SetFact(finding, "start", course.start);
  SetFact(finding, "end", end);
  finding.add_evidence(curve.points.back().where);
}

// A training that converges ends below where it began. How far is not said here: that is what a baseline is for.
bool Converges(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const RunSeries* reference,
               bool& validates) {
  v1::CheckResult found;
  const NonFinite nonfinite = FindNonFinite(context, found, run, &GuardOf);
  for (v1::Finding& finding : *found.mutable_findings()) {
    if (finding.severity() == v1::SEVERITY_ERROR) SetFact(finding, "scenario", nonfinite.training ? 1 : 3);
    *result.add_findings() = std::move(finding);
  }
  // A validation that gives no number is no training that does not converge: scenario 3, if the curves agree.
  validates = validates && !nonfinite.validation;
  if (nonfinite.training) return false;
  const CurveSet& set = run.Curves(Metric::kLoss);
  for (const Curve& curve : set.curves) {
    const std::optional<Course> course = CourseOf(curve);
    if (!course.has_value()) {
      AddMissing(context, result, "too_short_to_judge", run.name,
                 {{"run", run.name},
                  {"count", absl::StrCat(FiniteOnly(curve).points.size())},
                  {"needed", absl::StrCat(kPointsMin)}});
      continue;
    }
    const std::optional<Course> baseline = ReferenceCourse(context, reference, run, curve);
    if (Rises(*course, baseline) || Diverges(*course, baseline, context.profile) ||
        StandsStill(*course, baseline, context.profile)) {
      ReportNoConvergence(context, result, run, curve, *course, baseline);
      return false;
    }
    if (course->flat(context.profile) && !baseline.has_value()) {
      AddMissing(context, result, "loss_stands_still", run.name,
                 {{"run", SubjectOf(run, curve)}, {"start", Short(course->start)}, {"end", Short(course->end)}});
    }
  }
  return true;
}

enum class Agreement { kAgree, kDiffer, kUndecided };

Agreement CurveAgrees(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
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
    finding.set_baseline(absl::StrCat("step ", c.shown_step, ": ", Short(c.baseline_value)));
    finding.set_migrated(absl::StrCat("step ", c.shown_step, ": ", Short(c.migrated_value)));
    SetFacts(finding, c.figures);
    SetFact(finding, "scenario", 2);
    if (!c.migrated_where.empty()) finding.add_evidence(c.migrated_where);
    return Agreement::kDiffer;
  }
  if (c.too_short || c.figures.verdict == CurveVerdict::kInconclusive) {
    AddMissing(context, result, c.too_short ? TooFewSteps(context.profile, c.figures.coverage) : "curve_inconclusive",
               c.subject, args);
    return Agreement::kUndecided;
  }
  return Agreement::kAgree;
}

// Scenario 3 needs curves that were compared and agree: without them an accuracy that is missed tells of no scenario.
void CompareAccuracy(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs, bool curves_agree) {
  v1::CheckResult found;
  CompareEvaluations(context, found, pairs.Comparable(Side::kBaseline), pairs.Comparable(Side::kMigrated),
                     "scenario_accuracy");
  bool undecided = false;
  for (v1::Finding& finding : *found.mutable_findings()) {
    if (finding.kind() == "scenario_accuracy" && !curves_agree) {
      undecided = true;
      continue;
    }
    if (finding.kind() == "scenario_accuracy") SetFact(finding, "scenario", 3);
    *result.add_findings() = std::move(finding);
  }
  for (v1::Missing& one : *found.mutable_missing()) *result.add_missing() = std::move(one);
  if (undecided) AddMissing(context, result, "scenario_needs_curves", SideName(Side::kMigrated));
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const RunPairs pairs(context);
  bool converges = true;
  bool validates = true;
  for (const RunSeries& run : pairs.runs(Side::kMigrated)) {
    if (!run.logs.empty()) converges = Converges(context, result, run, pairs.reference(), validates) && converges;
  }
  if (!converges || pairs.runs(Side::kMigrated).empty()) return;
  if (pairs.reference() == nullptr) {
    // Developed from scratch: whether the curve is as it should be, a person says.
    // ... unless there is a log that could not be read: that is said of the evidence.
    bool unread = false;
    context.evidence.ForEach(Side::kBaseline, v1::EVIDENCE_KIND_RUN_LOG,
                             [&](const v1::Bundle&, const v1::Evidence&) { unread = true; });
    if (unread) {
      RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_RUN_LOG);
    } else {
      AddMissing(context, result, "no_baseline_curve", SideName(Side::kBaseline));
    }
    return;
  }
  for (const Side side : kBothSides) pairs.RequireFinished(context, result, side);
  const std::vector<LossComparison> comparisons = CompareLosses(context, result, pairs);
  bool curves_agree = !comparisons.empty();
  bool curves_differ = false;
  for (const LossComparison& c : comparisons) {
    const Agreement agreement = CurveAgrees(context, result, c);
    curves_agree = curves_agree && agreement == Agreement::kAgree;
    curves_differ = curves_differ || agreement == Agreement::kDiffer;
  }
  if (!curves_differ && validates) CompareAccuracy(context, result, pairs, curves_agree);
}

}  // namespace

extern const Check kConvergenceScenario;
const Check kConvergenceScenario = {"convergence.scenario", kNeeds, &Evaluate};

}  // namespace paritect
