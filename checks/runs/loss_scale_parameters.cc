// migrated.loss-scale.parameters: do start value, growth, back-off and window of the scaler agree?
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/scaler.h"
#include "checks/series/overflow.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr std::pair<const char*, std::optional<Sourced> ScalerFacts::*> kParameters[] = {
    {"static scale", &ScalerFacts::static_scale},
    {"start value", &ScalerFacts::initial},
    {"window", &ScalerFacts::window},
    {"hysteresis", &ScalerFacts::hysteresis},
    {"growth factor", &ScalerFacts::growth},
    {"back-off factor", &ScalerFacts::backoff},
    {"minimum", &ScalerFacts::minimum}};

void BelowOne(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts) {
  for (const auto member : {&ScalerFacts::static_scale, &ScalerFacts::initial}) {
    const std::optional<Sourced>& value = facts.*member;
    if (!value.has_value() || value->value >= 1) continue;
    v1::Finding& finding = AddError(context, result, "loss_scale_below_one", run.name,
                                    {{"run", run.name}, {"scale", Short(value->value)}});
    SetFact(finding, "loss_scale", value->value);
    finding.add_evidence(value->origin);
  }
}

// Another parameter does no harm while few steps are skipped; then it is the first thing to look at. Where nothing
// tells of skipped steps, whether it does harm is not known.
enum class OverflowRate { kHolds, kExceeded, kUnknown };

OverflowRate OverflowRateOf(const CheckContext& context, const RunSeries& run) {
  OverflowRate rate = OverflowRate::kUnknown;
  for (const OverflowCount& count : CountOverflows(run)) {
    if (!count.reported || (count.steps == 0 && count.told_steps == 0)) continue;
    if (count.rate() > context.profile.threshold("overflow_rate")) return OverflowRate::kExceeded;
    rate = OverflowRate::kHolds;
  }
  return rate;
}

// False where no parameter is known on both sides.
bool Compare(const CheckContext& context, v1::CheckResult& result, const ScalerFacts& baseline, const RunSeries& run,
             const ScalerFacts& facts) {
  bool any = false;
  const OverflowRate rate = OverflowRateOf(context, run);
  for (const auto& [name, member] : kParameters) {
    const std::optional<Sourced>& a = baseline.*member;
    const std::optional<Sourced>& b = facts.*member;
    if (!a.has_value() || !b.has_value()) continue;
    any = true;
    if (a->value == b->value) continue;
    const v1::Severity severity = rate == OverflowRate::kExceeded ? v1::SEVERITY_WARNING : v1::SEVERITY_NOTE;
    v1::Finding& finding = AddFinding(context, result, severity, "scaler_parameters_differ", name,
                                      {{"name", name}, {"baseline", Short(a->value)}, {"migrated", Short(b->value)}});
    finding.set_baseline(absl::StrCat(Short(a->value), " (", a->origin, ")"));
    finding.set_migrated(absl::StrCat(Short(b->value), " (", b->origin, ")"));
    SetFact(finding, "baseline", a->value);
    SetFact(finding, "migrated", b->value);
    if (rate == OverflowRate::kUnknown) {
      AddMissing(context, result, "scaler_parameters_rate_unknown", run.name,
                 {{"run", run.name}, {"name", name}, {"baseline", Short(a->value)}, {"migrated", Short(b->value)}});
    }
  }
  return any || baseline.not_needed();
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& baseline = SeriesOf(context, Side::kBaseline);
  const std::vector<RunSeries>& migrated = SeriesOf(context, Side::kMigrated);
  if (migrated.empty()) RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_SETTINGS);
  for (const RunSeries& run : migrated) {
    const ScalerFacts facts = ScalerOf(context, run);
    if (NoScalerNeeded(context, result, run, facts)) continue;
    BelowOne(context, result, run, facts);
    if (baseline.empty()) {
      RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_SETTINGS);
    } else if (!Compare(context, result, ScalerOf(context, baseline.front()), run, facts)) {
      AddMissing(context, result, "scaler_parameters_unknown", run.name, {{"run", run.name}});
    }
  }
}

}  // namespace

extern const Check kLossScaleParameters;
const Check kLossScaleParameters = {"migrated.loss-scale.parameters", {}, &Evaluate};

}  // namespace paritect
