// training.flow.state: are gradients cleared, and counters and data position restored on resume?
// Source: pre-tuning checklist, 训练流程：与基准一致 (中间状态的清除与恢复).
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/data_position.h"
#include "checks/gradient_ratio.h"
#include "checks/repeats.h"
#include "checks/run_pairs.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG}};

// A loss that is n times as large has a gradient that is: said once, of the loss.
bool LossHasRatio(const RunSeries& baseline, const RunSeries& migrated, double ratio) {
  const CurveSet a = baseline.Curves(Metric::kLoss);
  const CurveSet b = migrated.Curves(Metric::kLoss);
  if (a.curves.empty() || b.curves.empty()) return false;
  const Curve left = FiniteOnly(a.curves[0]);
  const Curve right = FiniteOnly(b.curves[0]);
  const AlignedCurves losses = Align(left, right);
  const std::optional<double> of_loss = ConstantRatio(losses.a, losses.b);
  return of_loss.has_value() && *of_loss / ratio > 0.98 && *of_loss / ratio < 1.02;
}

// Norms that differ by more than half (docs/thresholds.md, R7) without a pattern that names the cause.
bool FarFromOne(double ratio) { return ratio > 1.5 || ratio < 1 / 1.5; }

void CheckGradients(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                    const RunSeries& migrated, const CurvePair& pair) {
  const std::string subject = SubjectOf(migrated, pair.migrated);
  const AlignedCurves norms = Align(pair.baseline, pair.migrated);
  const std::optional<GradientRatio> ratio = CompareGradients(norms);
  if (!ratio.has_value()) {
    AddMissing(context, result, "too_few_common_steps", subject,
               {{"common", absl::StrCat(norms.steps.size())}, {"coverage", Percent(norms.coverage)}, {"needed", "5"}});
    return;
  }
  const MessageArgs args = {{"migrated", subject},
                            {"baseline", baseline.name},
                            {"ratio", Short(ratio->ratio)},
                            {"step", absl::StrCat(ratio->last_step)},
                            {"common", absl::StrCat(ratio->steps)}};
  const bool constant = ratio->pattern == GradientPattern::kConstantRatio;
  v1::Finding* finding = nullptr;
  if (ratio->pattern == GradientPattern::kGrowing) {
    finding = &AddError(context, result, "gradients_not_cleared", subject, args);
    SetFact(*finding, "exponent", ratio->exponent);
  } else if (constant && !LossHasRatio(baseline, migrated, ratio->ratio)) {
    finding = &AddError(context, result, "constant_gradient_ratio", subject, args);
  } else if (ratio->pattern == GradientPattern::kAlike && FarFromOne(ratio->ratio)) {
    finding = &AddWarning(context, result, "gradient_norm_differs", subject, args);
  } else {
    finding = &AddNote(context, result, "measured/gradients_cleared", subject, args);
  }
  finding->set_baseline(absl::StrCat("step ", norms.steps.front(), ": ", Short(norms.a.front())));
  finding->set_migrated(absl::StrCat("step ", norms.steps.front(), ": ", Short(norms.b.front())));
  SetFact(*finding, "ratio", ratio->ratio);
  SetFact(*finding, "common_steps", ratio->steps);
  SetFact(*finding, "last_step", ratio->last_step);
  finding->add_evidence(pair.baseline.points.front().where);
  finding->add_evidence(pair.migrated.points.front().where);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) CheckSampleNumbers(context, result, side);
  const RunPairs pairs(context);
  for (const Side side : kBothSides) {
    for (const RunSeries& run : pairs.runs(side)) {
      CheckConsumedSamples(context, result, run);
      if (WasResumed(run) && run.Curves(Metric::kSamples).curves.empty()) {
        AddMissing(context, result, "position_not_printed", run.name, {{"run", run.name}});
      }
    }
  }
  const RunSeries* reference = pairs.reference();
  if (reference == nullptr) return;
  for (const RunSeries* migrated : pairs.Comparable(Side::kMigrated)) {
    for (const CurvePair& pair : PairCurves(context, result, *reference, *migrated, Metric::kGradNorm)) {
      CheckGradients(context, result, *reference, *migrated, pair);
    }
  }
}

}  // namespace

extern const Check kFlowState;
const Check kFlowState = {"training.flow.state", kNeeds, &Evaluate};

}  // namespace paritect
