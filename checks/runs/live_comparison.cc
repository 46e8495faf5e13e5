#include "checks/runs/live_comparison.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/runs/loss_comparison.h"
#include "checks/runs/run_pairs.h"
#include "checks/runs/scaler.h"
#include "checks/runs/step_axis.h"
#include "checks/series/curve_progress.h"
#include "checks/series/curves.h"
#include "checks/series/nonfinite.h"
#include "checks/series/overflow.h"
#include "checks/series/rank_curves.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

// ---- losses ----

LiveFinding TellParting(const CheckContext& context, const LossComparison& c, const Parting& parting) {
  const AlignedCurves& curves = c.aligned;
  const double a = curves.a[parting.shown];
  const double b = curves.b[parting.shown];
  const double relative = RelativeDifference(a, b, SizeFloor(curves.a));
  // As the baseline counts them, like the check.
  const std::int64_t step = BaselineStep(c.axis, curves.steps[parting.shown]);
  const std::int64_t since = BaselineStep(c.axis, curves.steps[parting.since]);
  v1::CheckResult result;
  v1::Finding& finding = AddError(context, result, "loss_differs/live", c.subject,
                                  {{"migrated", c.subject},
                                   {"baseline", c.baseline_name},
                                   {"step", absl::StrCat(step)},
                                   {"since", absl::StrCat(since)},
                                   {"value", Short(b)},
                                   {"expected", Short(a)},
                                   {"error", Percent(std::fabs(relative))},
                                   {"limit", Percent(parting.limit)}});
  finding.set_baseline(absl::StrCat("step ", step, ": ", Short(a)));
  finding.set_migrated(absl::StrCat("step ", step, ": ", Short(b)));
  SetFact(finding, "step", step);
  SetFact(finding, "first_divergent_step", since);
  SetFact(finding, "baseline_loss", a);
  SetFact(finding, "migrated_loss", b);
  SetFact(finding, "relative_difference", relative);
  SetFact(finding, "limit", parting.limit);
  SetFact(finding, "mode", parting.paired ? "paired" : "unpaired");
  SetFact(finding, "common_steps", static_cast<std::int64_t>(curves.steps.size()));
  finding.add_evidence(curves.at_b[parting.shown]->where);
  return {"divergence", c.migrated->name, since, std::move(finding)};
}

// How many common steps there will be when the run has come as far as the baseline.
std::size_t ExpectedSteps(const LossComparison& c) {
  const std::vector<CurvePoint>& points = c.against.points;
  if (c.aligned.steps.empty() || points.empty()) return 0;
  const std::int64_t newest = c.aligned.steps.back();
  const auto reached =
      std::count_if(points.begin(), points.end(), [newest](const CurvePoint& point) { return point.step <= newest; });
  if (reached == 0) return c.aligned.steps.size();
  return c.aligned.steps.size() * points.size() / static_cast<std::size_t>(reached);
}

void CompareCurves(const CheckContext& context, const RunPairs& pairs, const std::vector<const RunSeries*>& runs,
                   std::vector<LiveFinding>& out) {
  v1::CheckResult scratch;
  for (const LossComparison& c : CompareLosses(context, scratch, pairs, runs)) {
    const std::optional<Parting> parting = FindParting(c.aligned, c.limits, ExpectedSteps(c), c.same_order);
    if (parting) out.push_back(TellParting(context, c, *parting));
  }
}

// One rank that leaves the others needs no baseline; it is told once there are steps enough to tell it from chance.
void CompareRanks(const CheckContext& context, const RunPairs& pairs, const RunSeries& run,
                  std::vector<LiveFinding>& out) {
  constexpr std::size_t kStepsMin = 50;
  const CurveSet reference = pairs.reference() != nullptr ? pairs.reference()->Curves(Metric::kLoss) : CurveSet();
  for (const Curve& curve : run.Curves(Metric::kLoss).curves) {
    if (curve.ranks.empty() || curve.points.size() < kStepsMin) continue;
    const Curve* other = reference.curves.size() == 1 ? &reference.curves[0] : nullptr;
    for (const RankParting& one : FindPartingRanks(curve, other, true, RankLimitsOf(context.profile))) {
      v1::CheckResult result;
      v1::Finding finding = ReportRank(context, result, run, curve, one);
      out.push_back({"divergence", run.name, one.since, std::move(finding)});
    }
  }
}

// ---- overflows ----

double FactOf(const v1::Finding& finding, const std::string& name) {
  const auto found = finding.facts().fields().find(name);
  return found == finding.facts().fields().end() ? 0 : found->second.number_value();
}

// Whether the rate will be over its limit at the end: for certain, where it is known how long the run is; else by its
// steps after the search for a scale, at the lower end of the interval that holds their true rate.
bool IsSettled(const Profile& profile, const v1::Finding& finding, std::int64_t total) {
  const double limit = FactOf(finding, "limit");
  const double steps = FactOf(finding, "steps");
  const double skipped = FactOf(finding, "skipped");
  if (total > 0 && skipped > limit * static_cast<double>(total)) return true;
  const double later = skipped - FactOf(finding, "skipped_at_start");
  // A short burst may still be within the limit of the whole.
  const bool long_enough = total <= 0 && limit > 0 && steps >= 1 / limit;
  if (later < (long_enough ? 2 : profile.threshold("live_overflows"))) return false;
  return RateInterval(static_cast<std::int64_t>(later), static_cast<std::int64_t>(steps)).low > limit;
}

// Steps that the run will have, by its own word or by the reference run's.
std::int64_t LengthOf(const RunPairs& pairs, const RunSeries& run) {
  if (run.ending.total_steps.has_value()) return *run.ending.total_steps;
  return pairs.reference() != nullptr ? pairs.reference()->ending.last_step.value_or(0) : 0;
}

void CompareOverflows(const CheckContext& context, const RunPairs& pairs, std::vector<LiveFinding>& out) {
  v1::CheckResult result;
  EvaluateOverflowRate(context, result, Side::kMigrated);
  for (v1::Finding& finding : *result.mutable_findings()) {
    if (finding.severity() != v1::SEVERITY_ERROR || finding.kind() != "overflow_rate_exceeded") continue;
    const auto name = finding.facts().fields().find("run");
    for (const RunSeries& run : pairs.runs(Side::kMigrated)) {
      if (name == finding.facts().fields().end() || run.name != name->second.string_value()) continue;
      if (IsSettled(context.profile, finding, LengthOf(pairs, run)))
        out.push_back({"overflow_rate", run.name, run.ending.last_step, finding});
    }
  }
}

}  // namespace

std::vector<LiveFinding> CompareLive(const CheckContext& context) {
  std::vector<LiveFinding> out;
  const RunPairs pairs(context);
  std::vector<const RunSeries*> runs;
  for (const RunSeries& run : pairs.runs(Side::kMigrated)) {
    if (run.logs.empty()) continue;
    runs.push_back(&run);
    v1::CheckResult result;
    FindNonFinite(context, result, run, &GuardOf);
    for (v1::Finding& finding : *result.mutable_findings()) {
      if (finding.severity() != v1::SEVERITY_ERROR) continue;
      out.push_back({"non_finite", run.name, static_cast<std::int64_t>(FactOf(finding, "step")), finding});
    }
    CompareRanks(context, pairs, run, out);
  }
  if (pairs.reference() != nullptr) CompareCurves(context, pairs, runs, out);
  CompareOverflows(context, pairs, out);
  return out;
}

}  // namespace paritect
