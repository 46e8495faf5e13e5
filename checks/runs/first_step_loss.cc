// first-step.forward.loss: is the first-step loss equal within the tolerance?
// Source: MindSpore precision checklist (首步正向); limits: docs/thresholds.md. Equal losses pass whatever else is
// known: they speak for equal weights and an equal batch.
#include "checks/check.h"
#include "checks/runs/first_step.h"
#include "checks/series/repeats.h"
#include "checks/weights/start.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG}};

void Fill(v1::Finding& finding, const FirstValues& values) {
  finding.set_baseline(Short(values.a.value));
  finding.set_migrated(Short(values.b.value));
  SetFact(finding, "first_step", values.step);
  if (values.b.step != values.a.step) SetFact(finding, "migrated_first_step", values.b.step);
  SetFact(finding, "baseline", values.a.value);
  SetFact(finding, "migrated", values.b.value);
  SetFact(finding, "first_absolute_error", values.absolute());
  SetFact(finding, "first_relative_error", values.relative());
  finding.add_evidence(values.a.where);
  finding.add_evidence(values.b.where);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const RunPairs pairs(context);
  for (const FirstValues& values : FirstStepOf(context, result, pairs, Metric::kLoss)) {
    const MessageArgs args = {{"migrated", values.subject},
                              {"baseline", values.baseline->name},
                              {"step", absl::StrCat(values.step)},
                              {"absolute", Short(values.absolute())},
                              {"relative", Percent(values.relative())},
                              {"a", Short(values.a.value)},
                              {"b", Short(values.b.value)}};
    if (!values.of_first_step) {
      Fill(AddNote(context, result, "first_printed_step", values.subject, args), values);
      continue;
    }
    if (FirstLossAgrees(context.profile, values)) {
      Fill(AddNote(context, result, "measured/first_loss", values.subject, args), values);
      continue;
    }
    const std::string same_seed = SameSeed(context, *values.baseline, *values.migrated);
    const StartRelation start = RelateStarts(context, values.baseline->name, values.migrated->name);
    const bool same_weights = start.kind == StartRelation::Kind::kSame;
    if (!same_weights && (same_seed.empty() || !RepeatsStartAlike(context, pairs))) {
      AddMissing(context, result, "start_not_known_equal", values.subject, args);
      Fill(AddWarning(context, result, "first_loss_far", values.subject, args), values);
      continue;
    }
    v1::Finding& finding = AddError(context, result, same_weights ? "first_loss_differs/weights" : "first_loss_differs",
                                    values.subject, args);
    Fill(finding, values);
    finding.add_evidence(same_weights ? start.evidence : same_seed);
  }
}

}  // namespace

extern const Check kFirstStepLoss;
const Check kFirstStepLoss = {"first-step.forward.loss", kNeeds, &Evaluate};

}  // namespace paritect
