// convergence.scenario: which scenario: no convergence, another curve, or equal curves with another accuracy?
// Source: MindSpore precision checklist: 1 the loss does not converge; 2 it converges, but the curve or its end
// differs; 3 curves agree, accuracy does not.
#include <algorithm>
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

// A training that converges ends below where it began. How far is not said here: that is what a baseline is for.
bool Converges(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  if (FindNonFinite(context, result, run)) return false;
  const CurveSet set = run.Curves(Metric::kLoss);
  for (const Curve& curve : set.curves) {
    std::vector<double> values;
    for (const CurvePoint& point : FiniteOnly(curve).points) values.push_back(point.value);
    if (values.size() < kPointsMin) {
      AddMissing(context, result, "too_short_to_judge", run.name,
                 {{"run", run.name}, {"count", absl::StrCat(values.size())}, {"needed", absl::StrCat(kPointsMin)}});
      continue;
    }
    const std::size_t tenth = values.size() / 10;
    const absl::Span<const double> all = values;
    const double start = Mean(all.subspan(0, tenth));
    const double end = Mean(all.subspan(values.size() - tenth));
    const double noise = StandardDeviation(all.subspan(values.size() - tenth));
    if (end <= start + 2 * noise) continue;
    v1::Finding& finding = AddError(context, result, "scenario_no_convergence", SubjectOf(run, curve),
                                    {{"run", SubjectOf(run, curve)}, {"start", Short(start)}, {"end", Short(end)}});
    finding.set_migrated(absl::StrCat(Short(start), " -> ", Short(end)));
    SetFact(finding, "scenario", 1);
    SetFact(finding, "start", start);
    SetFact(finding, "end", end);
    finding.add_evidence(curve.points.back().where);
    return false;
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
    if (!run.logs.empty()) converges = Converges(context, result, run) && converges;
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
