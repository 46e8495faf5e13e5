// training.flow.state: are gradients cleared, and counters and data position restored on resume?
// Source: pre-tuning checklist, 训练流程：与基准一致 (中间状态的清除与恢复).
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/numbers/statistics.h"
#include "checks/observed/conduct.h"
#include "checks/runs/accumulation.h"
#include "checks/runs/data_position.h"
#include "checks/runs/ratio_cause.h"
#include "checks/runs/run_pairs.h"
#include "checks/scripts/faults.h"
#include "checks/series/gradient_ratio.h"
#include "checks/series/repeats.h"
#include "checks/weights/restored_state.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG}};
constexpr std::size_t kStepsOfCorrelation = 20;

// The losses of the pair's engine, step by step.
AlignedCurves LossesOf(const RunSeries& baseline, const RunSeries& migrated, const CurvePair& pair, Curve& right) {
  const auto find = [](const RunSeries& run, const std::string& engine) {
    const CurveSet& set = run.Curves(Metric::kLoss);
    for (const Curve& curve : set.curves) {
      if (set.curves.size() == 1 || curve.engine == engine) return FiniteOnly(curve);
    }
    return Curve();
  };
  right = find(migrated, pair.migrated.engine);
  return Align(find(baseline, pair.baseline.engine), right);
}

// Whether both sides read the same data step by step: their losses move together or are all but equal; where losses do
// not tell, their norms move together.
bool ArePaired(const CheckContext& context, const AlignedCurves& losses, const AlignedCurves& norms) {
  const CurveLimits limits = LimitsOf(context.profile);
  if (!losses.steps.empty()) {
    const CurveMode mode = Compare(losses, limits).mode;
    if (mode == CurveMode::kPaired) return true;
    std::vector<double> sizes = RelativeDifferences(losses.a, losses.b, SizeFloor(losses.a));
    for (double& one : sizes) one = std::fabs(one);
    if (Median(std::move(sizes)) <= limits.paired_difference) return true;
    if (mode == CurveMode::kUnpaired) return false;
  }
  if (ConstantRatio(norms.a, norms.b, limits.ratio).has_value()) return true;
  const std::optional<double> together = DifferenceCorrelation(norms.a, norms.b);
  return norms.steps.size() >= kStepsOfCorrelation && together.has_value() && *together > limits.pairing_correlation;
}

// A loss that is n times as large has a gradient that is: said once, of the loss.
bool LossHasRatio(const CheckContext& context, const AlignedCurves& losses, double ratio) {
  const std::optional<double> of_loss = ConstantRatio(losses.a, losses.b, RatioLimitsOf(context.profile));
  return of_loss.has_value() && std::fabs(*of_loss / ratio - 1) < context.profile.threshold("gradient_ratio_of_loss");
}

// Norms that differ by far (docs/thresholds.md) without a pattern that names the cause.
bool FarFromOne(const CheckContext& context, double ratio) {
  const double far = 1 + context.profile.threshold("gradient_norm_far");
  return ratio > far || ratio < 1 / far;
}

v1::Finding& ReportConstant(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                            const RunSeries& migrated, const std::string& subject, double ratio, MessageArgs args) {
  const RatioCause cause = CauseOfRatio(context, baseline, migrated, ratio);
  args.emplace_back("cause", cause.text);
  v1::Finding& finding =
      AddError(context, result, RatioMessage(context, "constant_gradient_ratio", cause, ratio), subject, args);
  for (const std::string& place : cause.evidence) finding.add_evidence(place);
  return finding;
}

v1::Finding& ReportRatio(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                         const RunSeries& migrated, const std::string& subject, const GradientRatio& ratio,
                         const AlignedCurves& losses) {
  // Growth is told of the side that has it, against the other.
  const MessageArgs args = {{"migrated", ratio.of_baseline ? baseline.name : subject},
                            {"baseline", ratio.of_baseline ? subject : baseline.name},
                            {"ratio", Short(ratio.ratio)},
                            {"tail", Short(ratio.tail_ratio)},
                            {"largest", Short(ratio.largest)},
                            {"largest_step", absl::StrCat(ratio.largest_step)},
                            {"from", absl::StrCat(ratio.explodes_at)},
                            {"jumps", absl::StrCat(ratio.jumps)},
                            {"step", absl::StrCat(ratio.last_step)},
                            {"period", absl::StrCat(ratio.period)},
                            {"common", absl::StrCat(ratio.steps)}};
  switch (ratio.pattern) {
    case GradientPattern::kGrowing: {
      v1::Finding& finding = AddError(context, result, "gradients_not_cleared", subject, args);
      SetFact(finding, "exponent", ratio.exponent);
      return finding;
    }
    case GradientPattern::kPeriodic: {
      v1::Finding& finding = AddError(context, result, "gradients_not_cleared/periodic", subject, args);
      SetFact(finding, "period_steps", ratio.period);
      return finding;
    }
    case GradientPattern::kConstantRatio:
      if (LossHasRatio(context, losses, ratio.ratio)) break;
      return ReportConstant(context, result, baseline, migrated, subject, ratio.ratio, args);
    case GradientPattern::kExploding: return AddError(context, result, "gradients_explode", subject, args);
    case GradientPattern::kAlike:
      if (ratio.unpaired_ratio) return AddWarning(context, result, "gradient_norm_differs/unpaired", subject, args);
      if (FarFromOne(context, ratio.ratio)) return AddWarning(context, result, "gradient_norm_differs", subject, args);
      if (FarFromOne(context, ratio.tail_ratio))
        return AddWarning(context, result, "gradient_norm_differs/tail", subject, args);
      if (ratio.jumps > 2 * ratio.baseline_jumps) {
        return AddWarning(context, result, "gradient_norm_differs/jumps", subject, args);
      }
      break;
  }
  return AddNote(context, result, "measured/gradients_cleared", subject, args);
}

// Norms of exactly 0 where the baseline's are not: one or two may be a batch without labels. True: nothing else can be
// said of the norms.
bool ReportZeros(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                 const std::string& subject, const CurvePair& pair, const AlignedCurves& norms) {
  constexpr std::int64_t kToleratedSteps = 2;
  const ZeroNorms zero = FindZeroNorms(norms);
  if (zero.steps == 0) return false;
  const MessageArgs args = {{"migrated", subject},
                            {"baseline", baseline.name},
                            {"zeros", absl::StrCat(zero.steps)},
                            {"common", absl::StrCat(zero.common)},
                            {"step", absl::StrCat(zero.first)}};
  const bool many = zero.steps > kToleratedSteps;
  v1::Finding& finding = many ? AddError(context, result, "gradient_norm_differs/zero", subject, args)
                              : AddWarning(context, result, "gradient_norm_differs/zero", subject, args);
  SetFact(finding, "zero_steps", zero.steps);
  SetFact(finding, "common_steps", zero.common);
  finding.add_evidence(pair.baseline.points.front().where);
  const auto first = std::find_if(pair.migrated.points.begin(), pair.migrated.points.end(),
                                  [&](const CurvePoint& point) { return point.value == 0; });
  if (first != pair.migrated.points.end()) finding.add_evidence(first->where);
  return many;
}

void CheckGradients(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                    const RunSeries& migrated, const CurvePair& pair) {
  const std::string subject = SubjectOf(migrated, pair.migrated);
  const AlignedCurves norms = Align(pair.baseline, pair.migrated);
  if (ReportZeros(context, result, baseline, subject, pair, norms)) return;
  Curve of_losses;  // that `losses` borrows from
  const AlignedCurves losses = LossesOf(baseline, migrated, pair, of_losses);
  const GradientLimits limits = GradientLimitsOf(context.profile);
  const std::optional<GradientRatio> ratio = CompareGradients(norms, limits, ArePaired(context, losses, norms));
  if (!ratio.has_value()) {
    AddMissing(context, result, TooFewSteps(context.profile, norms.coverage), subject,
               {{"common", absl::StrCat(norms.steps.size())}, {"coverage", Percent(norms.coverage)}, {"needed", "5"}});
    return;
  }
  v1::Finding& finding = ReportRatio(context, result, baseline, migrated, subject, *ratio, losses);
  finding.set_baseline(absl::StrCat("step ", norms.steps.front(), ": ", Short(norms.a.front())));
  finding.set_migrated(absl::StrCat("step ", norms.steps.front(), ": ", Short(norms.b.front())));
  SetFact(finding, "ratio", ratio->ratio);
  SetFact(finding, "spread", ratio->spread);
  SetFact(finding, "common_steps", ratio->steps);
  SetFact(finding, "last_step", ratio->last_step);
  if (ratio->largest > 0) {
    SetFact(finding, "tail_ratio", ratio->tail_ratio);
    SetFact(finding, "largest_ratio", ratio->largest);
    SetFact(finding, "largest_ratio_step", ratio->largest_step);
  }
  finding.add_evidence(pair.baseline.points.front().where);
  finding.add_evidence(pair.migrated.points.front().where);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) CheckSampleNumbers(context, result, side);
  for (const Side side : kBothSides) CheckRestoredState(context, result, side);
  for (const Side side : kBothSides) AddScriptFaults(context, result, "training.flow.state", side);
  const RunPairs pairs(context);
  for (const Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side)) JudgeObservedGradients(context, result, run);
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
    JudgeDivision(context, result, *reference, *migrated);
    for (const CurvePair& pair : PairCurves(context, result, *reference, *migrated, Metric::kGradNorm)) {
      CheckGradients(context, result, *reference, *migrated, pair);
    }
  }
}

}  // namespace

extern const Check kFlowState;
const Check kFlowState = {"training.flow.state", kNeeds, &Evaluate};

}  // namespace paritect
