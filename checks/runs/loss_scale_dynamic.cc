// migrated.loss-scale.dynamic: is the kind of loss scale the baseline's? Dynamic is advised.
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/scaler_checks.h"

namespace paritect {
namespace {

void Compare(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline, const RunSeries& run,
             const ScalerFacts& facts) {
  const ScalerFacts other = ScalerOf(context, baseline);
  // A baseline in bf16 has no kind to compare with; that the types differ is said where they are compared.
  if (other.not_needed()) return;
  if (other.kind == ScalerKind::kUnknown) {
    MissScaler(context, result, baseline, other);
    return;
  }
  if (facts.kind == ScalerKind::kUnknown) return;
  const std::string a(ScalerWord(other.kind));
  const std::string b(ScalerWord(facts.kind));
  const MessageArgs args = {{"baseline", a}, {"migrated", b}};
  v1::Finding& finding = a == b ? AddNote(context, result, "measured/scaler_kind", run.name, args)
                                : AddError(context, result, "scaler_kind_differs", run.name, args);
  finding.set_baseline(absl::StrCat(a, " (", other.evidence, ")"));
  finding.set_migrated(absl::StrCat(b, " (", facts.evidence, ")"));
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& baseline = SeriesOf(context, Side::kBaseline);
  const std::vector<RunSeries>& migrated = SeriesOf(context, Side::kMigrated);
  if (migrated.empty()) RequireEvidence(context, result, Side::kMigrated, v1::EVIDENCE_KIND_SETTINGS);
  for (const RunSeries& run : migrated) {
    const ScalerFacts facts = ScalerOf(context, run);
    if (NoScalerNeeded(context, result, run, facts)) continue;
    WarnStatic(context, result, run, facts);
    if (facts.kind == ScalerKind::kUnknown) MissScaler(context, result, run, facts);
    if (baseline.empty()) {
      RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_SETTINGS);
      continue;
    }
    Compare(context, result, baseline.front(), run, facts);
  }
}

}  // namespace

extern const Check kLossScaleDynamic;
const Check kLossScaleDynamic = {"migrated.loss-scale.dynamic", {}, &Evaluate};

}  // namespace paritect
