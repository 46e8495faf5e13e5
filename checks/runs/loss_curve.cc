// training.flow.loss-curve: do the migrated loss curves agree with the baseline's?
// Rules and their calibration on public GPU/NPU pairs: docs/thresholds.md.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/loss_comparison.h"
#include "checks/runs/ratio_cause.h"
#include "checks/runs/scaler.h"
#include "checks/series/nonfinite.h"
#include "checks/series/rank_curves.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG}};

MessageArgs ArgsOf(const LossComparison& c) {
  const bool paired = c.figures.mode == CurveMode::kPaired;
  return {{"migrated", c.subject},
          {"baseline", c.baseline_name},
          {"error", Percent(paired ? c.figures.mean_relative_error : c.figures.smoothed_relative_error)},
          {"limit", Percent(paired ? c.limits.mean_relative : c.limits.smoothed_relative)},
          {"bias", Percent(c.figures.signed_mean_relative_error)},
          {"tail", Percent(c.figures.tail_relative_difference)},
          {"absolute", Short(c.figures.mean_absolute_error)},
          {"tail_limit", Percent(c.limits.tail_relative)},
          {"common", absl::StrCat(c.figures.common_steps)},
          {"coverage", Percent(c.figures.coverage)},
          {"step", absl::StrCat(c.shown_step)},
          {"ratio", Short(c.figures.constant_ratio.value_or(1))}};
}

void Fill(v1::Finding& finding, const LossComparison& c) {
  finding.set_baseline(absl::StrCat("step ", c.shown_step, ": ", Short(c.baseline_value)));
  finding.set_migrated(absl::StrCat("step ", c.shown_step, ": ", Short(c.migrated_value)));
  SetFacts(finding, c.figures);
  SetFact(finding, "baseline_run", c.baseline_name);
  SetFact(finding, "migrated_run", c.subject);
  SetFact(finding, "limit", c.figures.mode == CurveMode::kPaired ? c.limits.mean_relative : c.limits.smoothed_relative);
  if (!c.baseline_where.empty()) finding.add_evidence(c.baseline_where);
  if (!c.migrated_where.empty()) finding.add_evidence(c.migrated_where);
}

// A constant factor is a fact; what it comes from is said only where a quantity of the configuration equals it.
void ReportConstantRatio(const CheckContext& context, v1::CheckResult& result, const LossComparison& c, double ratio) {
  const RatioCause cause = CauseOfRatio(context, *c.baseline, *c.migrated, ratio);
  MessageArgs args = ArgsOf(c);
  args.emplace_back("cause", cause.text);
  v1::Finding& finding =
      AddError(context, result, RatioMessage(context, "constant_ratio", cause, ratio), c.subject, args);
  Fill(finding, c);
  for (const std::string& place : cause.evidence) finding.add_evidence(place);
}

// More jumps than the baseline makes (docs/thresholds.md, spikes): no difference of the curves, but a sign of one.
void WarnOfSpikes(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  const std::size_t a = c.spikes_of_baseline.size();
  const std::size_t b = c.spikes_of_migrated.size();
  if (b <= 2 * a + 2) return;
  constexpr std::size_t kShown = 5;
  std::string steps;
  for (std::size_t i = 0; i < std::min(b, kShown); ++i) {
    absl::StrAppend(&steps, i > 0 ? ", " : "", c.spikes_of_migrated[i]);
  }
  if (b > kShown) absl::StrAppend(&steps, ", ...");
  v1::Finding& finding = AddWarning(context, result, "loss_spikes", c.subject,
                                    {{"migrated", c.subject},
                                     {"baseline", c.baseline_name},
                                     {"count", absl::StrCat(b)},
                                     {"baseline_count", absl::StrCat(a)},
                                     {"steps", steps},
                                     {"common", absl::StrCat(c.figures.common_steps)}});
  finding.set_baseline(absl::StrCat(a));
  finding.set_migrated(absl::StrCat(b));
  SetFact(finding, "baseline_spikes", static_cast<std::int64_t>(a));
  SetFact(finding, "migrated_spikes", static_cast<std::int64_t>(b));
  SetFact(finding, "first_spike", c.spikes_of_migrated.front());
}

// Only figures that are beyond their limits are named: others say nothing against the run.
absl::string_view LowerMessage(const LossComparison& c) {
  const bool paired = c.figures.mode == CurveMode::kPaired;
  const bool whole = paired ? c.figures.mean_relative_error > c.limits.mean_relative
                            : c.figures.smoothed_relative_error > c.limits.smoothed_relative;
  const bool tail = -c.figures.tail_relative_difference > c.limits.tail_relative;
  return whole && tail ? "loss_lower/both" : tail ? "loss_lower/tail" : "loss_lower";
}

void ReportDifference(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  const MessageArgs args = ArgsOf(c);
  const bool softened = c.figures.lower && !context.profile.loss_lower_fails;
  const v1::Severity severity = softened ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR;
  if (c.figures.constant_ratio.has_value()) {
    ReportConstantRatio(context, result, c, *c.figures.constant_ratio);
  } else if (c.figures.tail_alone) {
    Fill(AddFinding(context, result, severity, "loss_differs/tail", c.subject, args), c);
  } else if (c.figures.lower) {
    Fill(AddFinding(context, result, severity, LowerMessage(c), c.subject, args), c);
  } else if (c.figures.mode == CurveMode::kPaired) {
    Fill(AddError(context, result, "loss_differs", c.subject, args), c);
  } else {
    Fill(AddError(context, result, "loss_differs/unpaired", c.subject, args), c);
  }
}

// Curves within their limits whose difference does not go around 0: a small, steady error (docs/thresholds.md).
void WarnOfBias(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  const double bias = c.figures.signed_mean_relative_error;
  const double limit = context.profile.threshold("loss_bias");
  if (c.figures.mode != CurveMode::kPaired || !c.bias.has_value() || std::fabs(bias) <= limit) return;
  if (c.bias->low <= 0 && c.bias->high >= 0) return;
  if (c.figures.small_values) return;                                       // said by itself
  if (std::fabs(bias) <= c.limits.mean_relative_pass && c.widened) return;  // no more than the repeats differ by
  MessageArgs args = ArgsOf(c);
  args.emplace_back("low", Percent(c.bias->low));
  args.emplace_back("high", Percent(c.bias->high));
  v1::Finding& finding = AddWarning(context, result, "loss_biased", c.subject, args);
  Fill(finding, c);
  SetFact(finding, "bias_low", c.bias->low);
  SetFact(finding, "bias_high", c.bias->high);
}

// Losses near 0 agree by their absolute difference whatever they are, so beside it their means must not lie far apart.
void ReportSmallValues(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  if (!c.figures.small_values) return;
  const double limit = std::max(context.profile.threshold("loss_small_values_bias"), c.limits.mean_relative);
  // No interval: differences that do not vary.
  const double bias = c.figures.signed_mean_relative_error;
  const Interval interval = c.bias.value_or(Interval{bias, bias});
  const bool apart = !c.too_short && (interval.low > limit || interval.high < -limit);
  MessageArgs args = ArgsOf(c);
  args.emplace_back("low", Percent(interval.low));
  args.emplace_back("high", Percent(interval.high));
  Fill(apart ? AddError(context, result, "loss_small_values/apart", c.subject, args)
             : AddWarning(context, result, "loss_small_values", c.subject, args),
       c);
}

// Steps that are not one amount of training were brought to one axis: said, so that figures can be followed.
void NoteAxis(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  if (c.axis.kind == StepAxis::Kind::kSteps) return;
  const bool samples = c.axis.kind == StepAxis::Kind::kSamples;
  v1::Finding& note = AddNote(context, result, samples ? "compared_by_samples" : "steps_counted_from_zero", c.subject,
                              {{"migrated", c.subject},
                               {"baseline", c.baseline_name},
                               {"a", Short(c.axis.baseline_per_step)},
                               {"b", Short(c.axis.migrated_per_step)},
                               {"shift", absl::StrCat(c.axis.shift)}});
  if (samples) SetFact(note, "baseline_samples_per_step", c.axis.baseline_per_step);
  if (samples) SetFact(note, "migrated_samples_per_step", c.axis.migrated_per_step);
}

// Curves that agree as a whole and lie apart over some steps in a row.
void WarnOfStretch(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  if (!c.stretch.has_value()) return;
  const Stretch& stretch = *c.stretch;
  v1::Finding& finding = AddWarning(context, result, stretch.at_end ? "loss_leaves" : "loss_leaves/within", c.subject,
                                    {{"migrated", c.subject},
                                     {"baseline", c.baseline_name},
                                     {"first", absl::StrCat(stretch.first_step)},
                                     {"last", absl::StrCat(stretch.last_step)},
                                     {"apart", Percent(stretch.mean_relative)}});
  Fill(finding, c);
  SetFact(finding, "first_divergent_step", stretch.first_step);
  SetFact(finding, "from_step", stretch.first_step);
  SetFact(finding, "to_step", stretch.last_step);
  SetFact(finding, "mean_relative_difference", stretch.mean_relative);
  for (std::size_t i = 0; i < c.aligned.steps.size(); ++i) {
    if (c.aligned.steps[i] != stretch.last_step) continue;
    finding.set_baseline(absl::StrCat("step ", stretch.last_step, ": ", Short(c.aligned.a[i])));
    finding.set_migrated(absl::StrCat("step ", stretch.last_step, ": ", Short(c.aligned.b[i])));
  }
}

void Report(const CheckContext& context, v1::CheckResult& result, const LossComparison& c) {
  MessageArgs args = ArgsOf(c);
  if (c.figures.common_steps > 0 && c.figures.verdict == CurveVerdict::kDiffer) {
    ReportDifference(context, result, c);
    NoteAxis(context, result, c);
    return;
  }
  if (c.too_short) {
    args.emplace_back("needed", Short(context.profile.threshold("common_steps_min")));
    AddMissing(context, result, TooFewSteps(context.profile, c.figures.coverage), c.subject, args);
  } else if (c.figures.verdict == CurveVerdict::kInconclusive) {
    AddMissing(context, result, "curve_inconclusive", c.subject, args);
  } else if (c.figures.verdict == CurveVerdict::kNearLimit) {
    Fill(AddWarning(context, result, "loss_near_limit", c.subject, args), c);
  }
  if (c.figures.common_steps == 0) return;
  NoteAxis(context, result, c);
  ReportSmallValues(context, result, c);
  if (c.figures.verdict == CurveVerdict::kAgree && !c.too_short) WarnOfBias(context, result, c);
  if (c.figures.left_out.has_value()) {
    args.emplace_back("left_out", absl::StrCat(*c.figures.left_out));
    args.emplace_back("largest", Percent(c.figures.max_relative_error));
    const bool last = c.figures.left_out_is_last;
    Fill(AddWarning(context, result, last ? "one_step_far_off/last" : "one_step_far_off", c.subject, args), c);
  }
  WarnOfStretch(context, result, c);
  if (c.running_mean.has_value()) {
    const std::string& whose = c.running_mean_of_migrated ? c.subject : c.baseline_name;
    AddWarning(context, result, "running_mean", c.subject, {{"run", whose}, {"window", absl::StrCat(*c.running_mean)}});
  }
  if (c.widened) AddNote(context, result, "limits_widened", c.subject, args);
  if (c.too_short) return;
  const bool paired = c.figures.mode == CurveMode::kPaired;
  Fill(AddNote(context, result, paired ? "measured/curve" : "measured/curve_smoothed", c.subject, args), c);
}

// The reference run's curve of the same engine, for its ranks; nullptr: none.
const Curve* SameEngine(const CurveSet& set, const Curve& curve) {
  for (const Curve& one : set.curves) {
    if (one.engine == curve.engine || set.curves.size() == 1) return &one;
  }
  return nullptr;
}

// One rank that trains otherwise than the others: hidden in their mean, and in the log of rank 0.
void CheckRanks(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const CurveSet& others) {
  const RankLimits limits = RankLimitsOf(context.profile);
  for (const Curve& curve : run.Curves(Metric::kLoss).curves) {
    if (curve.ranks.empty()) continue;
    if (curve.mean_of_ranks) {
      SetFact(AddNote(context, result, "compared_by_ranks", SubjectOf(run, curve),
                      {{"run", run.name}, {"ranks", absl::StrCat(curve.ranks.size())}}),
              "ranks", static_cast<std::int64_t>(curve.ranks.size()));
    }
    const bool migrated = run.side == Side::kMigrated;
    for (const RankParting& one : FindPartingRanks(curve, SameEngine(others, curve), migrated, limits)) {
      ReportRank(context, result, run, curve, one);
    }
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const RunPairs pairs(context);
  const std::vector<const RunSeries*> comparable = pairs.Comparable(Side::kMigrated);
  const CurveSet reference = pairs.reference() != nullptr ? pairs.reference()->Curves(Metric::kLoss) : CurveSet();
  const CurveSet migrated = comparable.empty() ? CurveSet() : comparable.front()->Curves(Metric::kLoss);
  for (const Side side : kBothSides) {
    for (const RunSeries& run : pairs.runs(side)) {
      FindNonFinite(context, result, run, &GuardOf);
      CheckRanks(context, result, run, side == Side::kMigrated ? reference : migrated);
    }
    pairs.RequireFinished(context, result, side);
  }
  for (const LossComparison& comparison : CompareLosses(context, result, pairs)) {
    Report(context, result, comparison);
    WarnOfSpikes(context, result, comparison);
  }
}

}  // namespace

extern const Check kFlowLossCurve;
const Check kFlowLossCurve = {"training.flow.loss-curve", kNeeds, &Evaluate};

}  // namespace paritect
