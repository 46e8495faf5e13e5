#include "checks/runs/scaler_checks.h"

#include "absl/strings/str_cat.h"
#include "checks/scripts/faults.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

void CheckRun(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, bool warn_static) {
  const ScalerFacts facts = ScalerOf(context, run);
  if (NoScalerNeeded(context, result, run, facts)) return;
  const MessageArgs args = {{"run", run.name}, {"dtype", facts.dtype}, {"kind", std::string(ScalerWord(facts.kind))}};
  // Whatever the kind: a scale that is printed and not 1 is on.
  if (facts.kind == ScalerKind::kUnknown && facts.printed_scale.has_value() && facts.printed_scale->value != 1) {
    v1::Finding& note = AddNote(context, result, "measured/scaler_printed", run.name,
                                {{"run", run.name}, {"scale", Short(facts.printed_scale->value)}});
    SetFact(note, "loss_scale", facts.printed_scale->value);
    note.add_evidence(facts.printed_scale->origin);
    return;
  }
  if (facts.kind == ScalerKind::kUnknown) {
    if (!facts.dtype.empty()) MissScaler(context, result, run, facts);
    if (facts.dtype.empty()) AddMissing(context, result, "compute_type_unknown", run.name, args);
    return;
  }
  // A static scale of 1 scales nothing.
  const bool off = facts.kind == ScalerKind::kOff || (facts.kind == ScalerKind::kStatic &&
                                                      facts.static_scale.has_value() && facts.static_scale->value == 1);
  if (off && facts.dtype.empty()) {
    AddMissing(context, result, "compute_type_unknown", run.name, args);
    return;
  }
  v1::Finding& finding = off ? AddError(context, result, "loss_scale_off", run.name, args)
                             : AddNote(context, result, "measured/scaler", run.name, args);
  SetFact(finding, "kind", ScalerWord(facts.kind));
  if (facts.static_scale.has_value()) SetFact(finding, "loss_scale", facts.static_scale->value);
  finding.add_evidence(facts.evidence);
  if (!facts.dtype_evidence.empty()) finding.add_evidence(facts.dtype_evidence);
  if (!off && warn_static) WarnStatic(context, result, run, facts);
}

}  // namespace

void MissScaler(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts) {
  const bool printed = facts.printed_scale.has_value();
  AddMissing(context, result, printed ? "scaler_kind_unknown" : "scaler_unknown", run.name,
             {{"run", run.name}, {"scale", printed ? Short(facts.printed_scale->value) : ""}});
}

void WarnStatic(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts) {
  if (facts.kind != ScalerKind::kStatic) return;
  const std::string scale = facts.static_scale.has_value() ? Short(facts.static_scale->value) : "?";
  v1::Finding& finding =
      AddWarning(context, result, "static_loss_scale", run.name, {{"run", run.name}, {"scale", scale}});
  (run.side == Side::kBaseline ? finding.mutable_baseline() : finding.mutable_migrated())->assign(scale);
  if (facts.static_scale.has_value()) SetFact(finding, "loss_scale", facts.static_scale->value);
  finding.add_evidence(facts.evidence);
}

void EvaluateScalerIsOn(const CheckContext& context, v1::CheckResult& result, Side side, bool warn_static) {
  const std::vector<RunSeries>& runs = SeriesOf(context, side);
  if (runs.empty()) RequireEvidence(context, result, side, v1::EVIDENCE_KIND_SETTINGS);
  AddScriptFaults(context, result, absl::StrCat(SideName(side), ".loss-scale.enabled"), side);
  for (const RunSeries& run : runs) CheckRun(context, result, run, warn_static);
}

}  // namespace paritect
