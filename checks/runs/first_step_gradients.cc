// first-step.gradients.gradients: are the gradients of the first step equal within the tolerance?
// Source: MindSpore precision checklist (首步梯度); limit: docs/thresholds.md. Parameter by parameter where they were
// recorded. Logs give the global norm; where the
// first losses agree, weights and batch do, and a norm that differs is a fault of the backward pass.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/first_step.h"
#include "checks/runs/ratio_cause.h"
#include "checks/series/repeats.h"
#include "checks/weights/gradients.h"

namespace paritect {
namespace {

void Fill(v1::Finding& finding, const FirstValues& values) {
  finding.set_baseline(Short(values.a.value));
  finding.set_migrated(Short(values.b.value));
  SetFact(finding, "first_step", values.step);
  SetFact(finding, "baseline", values.a.value);
  SetFact(finding, "migrated", values.b.value);
  SetFact(finding, "relative_error", values.relative());
  SetFact(finding, "ratio", values.a.value != 0 ? values.b.value / values.a.value : 0);
  finding.add_evidence(values.a.where);
  finding.add_evidence(values.b.where);
}

// What says that both start alike: first losses that agree, else one seed.
struct Gate {
  std::string evidence;
  bool losses_agree = false;
};

Gate GateOf(const CheckContext& context, const RunPairs& pairs, const std::vector<FirstValues>& losses,
            const FirstValues& norms) {
  for (const FirstValues& loss : losses) {
    if (loss.migrated != norms.migrated || loss.step != norms.step) continue;
    if (FirstLossAgrees(context.profile, loss)) {
      return {absl::StrCat("first losses ", Short(loss.a.value), " (", loss.a.where.Text(), ") and ",
                           Short(loss.b.value), " (", loss.b.where.Text(), ")"),
              true};
    }
  }
  if (!RepeatsStartAlike(context, pairs)) return {};
  return {SameSeed(context, *norms.baseline, *norms.migrated), false};
}

void Differs(const CheckContext& context, v1::CheckResult& result, const FirstValues& values, const Gate& gate,
             MessageArgs args) {
  const double ratio = values.a.value > 0 ? values.b.value / values.a.value : 0;
  const RatioCause cause = CauseOfRatio(context, *values.baseline, *values.migrated, ratio);
  const bool explained = gate.losses_agree && cause.known();
  args.emplace_back("ratio", Short(ratio));
  args.emplace_back("cause", cause.text);
  v1::Finding& finding = AddError(context, result,
                                  explained           ? "first_gradient_differs/cause"
                                  : gate.losses_agree ? "first_gradient_differs"
                                                      : "first_gradient_differs/seed",
                                  values.subject, args);
  Fill(finding, values);
  finding.add_evidence(gate.evidence);
  if (!explained) return;
  for (const std::string& place : cause.evidence) finding.add_evidence(place);
}

// Of the global norm that logs print.
void JudgeNorms(const CheckContext& context, v1::CheckResult& result) {
  const RunPairs pairs(context);
  const double limit = context.profile.threshold("gradient_norm_relative_error");
  v1::CheckResult losses;
  const std::vector<FirstValues> first_losses = FirstStepOf(context, losses, pairs, Metric::kLoss);
  for (const FirstValues& values : FirstStepOf(context, result, pairs, Metric::kGradNorm)) {
    const MessageArgs args = {{"migrated", values.subject},        {"baseline", values.baseline->name},
                              {"step", absl::StrCat(values.step)}, {"relative", Percent(values.relative())},
                              {"limit", Percent(limit)},           {"a", Short(values.a.value)},
                              {"b", Short(values.b.value)}};
    if (!values.of_first_step) {
      Fill(AddNote(context, result, "first_printed_step/gradient", values.subject, args), values);
      continue;
    }
    const Gate gate = GateOf(context, pairs, first_losses, values);
    if (values.relative() <= limit) {
      Fill(AddNote(context, result, "measured/first_gradient", values.subject, args), values);
    } else if (gate.evidence.empty()) {
      AddMissing(context, result, "start_not_known_equal/gradient", values.subject, args);
    } else {
      Differs(context, result, values, gate, args);
    }
  }
  for (const Side side : kBothSides) RequireEvidence(context, result, side, v1::EVIDENCE_KIND_RUN_LOG);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  // Where every parameter's gradient agrees, a norm that no log prints is not missed; one that differs counts.
  if (!JudgeParameterGradients(context, result)) return JudgeNorms(context, result);
  v1::CheckResult norms;
  JudgeNorms(context, norms);
  for (v1::Finding& finding : *norms.mutable_findings()) *result.add_findings() = std::move(finding);
}

}  // namespace

extern const Check kFirstStepGradients;
const Check kFirstStepGradients = {"first-step.gradients.gradients", {}, &Evaluate};

}  // namespace paritect
