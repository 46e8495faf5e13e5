// first-step.forward.first-diverging-operator and first-step.gradients.first-diverging-operator: which is the first
// operator, in order of execution, whose output differs while its inputs agree?
// Source: MindSpore precision checklist, checks 1 and 2 (二分法); remedy: 替换算子, by the API map, else a report to
// the vendor.
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/weights/dumps.h"
#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_TENSORS}};
constexpr auto kForward = v1::DumpedCall::DIRECTION_FORWARD;
constexpr auto kBackward = v1::DumpedCall::DIRECTION_BACKWARD;

std::string StatisticsText(const google::protobuf::RepeatedPtrField<v1::DumpedTensor>& tensors,
                           const std::string& place) {
  for (const v1::DumpedTensor& one : tensors) {
    if (one.place() == place) {
      return absl::StrCat(one.place(), " ", one.dtype(), ": norm ", FormatShort(one.l2()), ", min ",
                          FormatShort(one.min()), ", max ", FormatShort(one.max()));
    }
  }
  return "";
}

std::string PercentOf(double distance) {
  return std::isfinite(distance) ? absl::StrCat(FormatShort(100 * distance, 3), " %")
                                 : "not finite, or of another shape";
}

class Judge {
 public:
  Judge(const CheckContext& context, v1::CheckResult& result, v1::DumpedCall::Direction direction)
      : context_(context), result_(result), direction_(direction) {}

  void Pair(const DumpPair& dumps) {
    dumps_ = &dumps;
    if (direction_ == kBackward && !ForwardAgrees()) return;
    const Divergence found = FindDivergence(context_, dumps, direction_);
    const std::string where = WhereFrom(*dumps.b.bundle, *dumps.b.evidence);
    if (found.compared == 0) {
      AddMissing(context_, result_, "no_common_calls", where, {{"direction", DirectionWord()}});
      return;
    }
    if (found.unpaired > 0)
      AddNote(context_, result_, "calls_unpaired", where, {{"count", absl::StrCat(found.unpaired)}});
    switch (found.kind) {
      case Divergence::Kind::kNone: return Agrees(found, where);
      case Divergence::Kind::kOperator: return Operator(found);
      case Divergence::Kind::kInputs:
        return Gap(found, found.first_call ? "first_inputs_differ" : "inputs_differ_between");
      case Divergence::Kind::kRandom: return Gap(found, "random_operator_differs");
      case Divergence::Kind::kDrift: return Gap(found, "differences_grow");
    }
  }

 private:
  std::string DirectionWord() const { return direction_ == kForward ? "forward" : "backward"; }

  // Gradients of another forward pass are other gradients.
  bool ForwardAgrees() {
    const Divergence forward = FindDivergence(context_, *dumps_, kForward);
    if (forward.kind == Divergence::Kind::kNone) return true;
    AddMissing(context_, result_, "forward_differs_first", WhereFrom(*dumps_->b.bundle, *dumps_->b.evidence),
               {{"call", forward.at.a->name()}});
    return false;
  }

  MessageArgs Args(const Divergence& found) const {
    return {{"call", found.at.a->name()},
            {"other", found.at.b->name()},
            {"direction", DirectionWord()},
            {"inputs", PercentOf(found.distance.inputs)},
            {"outputs", PercentOf(found.distance.outputs)},
            {"module", found.at.a->module().empty() ? "" : absl::StrCat(" in ", found.at.a->module())}};
  }

  void Agrees(const Divergence& found, const std::string& where) {
    v1::Finding& note = AddNote(context_, result_, "measured/operators_agree", where,
                                {{"count", absl::StrCat(found.compared)}, {"direction", DirectionWord()}});
    SetFact(note, "calls", found.compared);
    SetFact(note, "unpaired", found.unpaired);
  }

  // Nobody can be blamed: said, and not passed.
  void Gap(const Divergence& found, absl::string_view id) {
    AddMissing(context_, result_, id, WhereFrom(*dumps_->b.bundle, *dumps_->b.evidence), Args(found));
  }

  void Operator(const Divergence& found) {
    // Several ranks run the same operators: told once.
    if (!told_.insert(found.at.a->name()).second) return;
    MessageArgs args = Args(found);
    const std::string framework = dumps_->b.dump().framework().empty() ? "pytorch" : dumps_->b.dump().framework();
    const Operators::Replacement* replacement =
        context_.rules.operators.ReplacementOf(found.at.b->operator_(), framework);
    if (replacement != nullptr) {
      args.emplace_back("instead", replacement->instead);
      args.emplace_back("source", replacement->source);
    }
    const absl::string_view id = found.distance.other_arguments ? "first_divergence/arguments"
                                 : replacement != nullptr       ? "first_divergence/replace"
                                                                : "first_divergence";
    v1::Finding& finding = AddError(context_, result_, id, found.at.a->name(), args);
    finding.set_baseline(StatisticsText(found.at.a->outputs(), found.distance.output));
    finding.set_migrated(StatisticsText(found.at.b->outputs(), found.distance.output));
    SetFact(finding, "inputs_relative_difference", found.distance.inputs);
    SetFact(finding, "output_relative_difference", found.distance.outputs);
    SetFact(finding, "limit", found.distance.limit);
    SetFact(finding, "order", found.at.a->order());
    SetFact(finding, "migrated_call", found.at.b->name());
    if (dumps_->b.rank() >= 0) SetFact(finding, "rank", dumps_->b.rank());
    finding.add_evidence(DisplayBytes(dumps_->a.evidence->source()));
    finding.add_evidence(DisplayBytes(dumps_->b.evidence->source()));
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const v1::DumpedCall::Direction direction_;
  const DumpPair* dumps_ = nullptr;
  std::set<std::string> told_;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result, v1::DumpedCall::Direction direction) {
  Judge judge(context, result, direction);
  for (const DumpPair& pair : PairDumps(context, result)) judge.Pair(pair);
}

void EvaluateForward(const CheckContext& context, v1::CheckResult& result) {
  Evaluate(context, result, kForward);
}
void EvaluateBackward(const CheckContext& context, v1::CheckResult& result) {
  Evaluate(context, result, kBackward);
}

}  // namespace

extern const Check kForwardDivergence;
const Check kForwardDivergence = {"first-step.forward.first-diverging-operator", kNeeds, &EvaluateForward};

extern const Check kBackwardDivergence;
const Check kBackwardDivergence = {"first-step.gradients.first-diverging-operator", kNeeds, &EvaluateBackward};

}  // namespace paritect
