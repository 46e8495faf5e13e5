// Training and evaluation mode: an evaluation drops nothing and moves no statistics, a training goes on in its own.
#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/scripts/fault_list.h"
#include "checks/scripts/words.h"
#include "rules/evaluation_words.h"

namespace paritect {
namespace {

constexpr char kCheck[] = "training.flow.evaluation";

// As people name what evaluates (validate, test_step, val_loader), infers or measures.
bool NamesEvaluation(absl::string_view name) {
  if (NamesEvaluationCode(name)) return true;
  const std::string lower = absl::AsciiStrToLower(name);
  for (absl::string_view word : {"accuracy", "infer", "predict", "metric", "score"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  return false;
}

absl::string_view LastPart(absl::string_view function) {
  return function.substr(function.rfind('.') + 1);
}

class ModeFaults {
 public:
  explicit ModeFaults(FaultList& list) : list_(list), flow_(list.flow()) {}

  void Run() {
    if (Trains()) {
      Evaluations();
      Trainings();
    }
    FunctionalDropout();
  }

 private:
  // Whether the mode of the network changes what it gives: it drops or normalises, or is not known inside.
  bool ModeMatters(const v1::ScriptFact& forward) const {
    for (int number : forward.made_of()) {
      const v1::ScriptFact* of = flow_.FactAt(number);
      if (of == nullptr || of->kind() != "layer") continue;
      if (of->layer() == "batchnorm" || of->layer() == "opaque") return true;
      const v1::ScriptArgument* p = FindScriptArgument(*of, "p");
      if (of->layer() == "dropout" && !(p != nullptr && p->has_value() && ShowScriptValue(*p) == "0")) return true;
    }
    return false;
  }

  bool InNoGrad(const v1::ScriptFact& fact) const {
    return std::any_of(fact.contexts().begin(), fact.contexts().end(), [&](int number) {
      const v1::ScriptFact* context = flow_.FactAt(number);
      return context != nullptr && context->kind() == "no_grad";
    });
  }

  bool Trains() const {
    return std::any_of(flow_.facts().begin(), flow_.facts().end(),
                       [](const v1::ScriptFact* fact) { return IsUpdate(*fact) || IsKerasFit(*fact); });
  }

  // Keras' own loop, which runs the steps that a model defines; other trainers set the mode before they do.
  static bool IsKerasFit(const v1::ScriptFact& fact) {
    return fact.kind() == "fit" && absl::StartsWith(fact.name(), "keras.");
  }

  bool HasUpdate(int loop) const {
    return std::any_of(flow_.facts().begin(), flow_.facts().end(),
                       [&](const v1::ScriptFact* fact) { return IsUpdate(*fact) && InLoop(*fact, loop); });
  }

  static bool SameObject(const v1::ScriptFact& a, const v1::ScriptFact& b) {
    return a.object() == 0 || b.object() == 0 || a.object() == b.object();
  }

  // Training mode that is set for just this loop is meant: statistics of a batch norm are gathered anew.
  bool MeantToTrain(const v1::ScriptFact& forward) const {
    if (NamesEvaluation(LastPart(forward.function()))) return false;
    const v1::ScriptFact* set = nullptr;
    const int here = flow_.NumberOf(forward);
    for (const v1::ScriptFact* fact : flow_.OfKind("train_mode")) {
      const bool before = flow_.NumberOf(*fact) < here;
      if (before && fact->function() == forward.function() && SameObject(*fact, forward)) set = fact;
    }
    return set != nullptr && std::none_of(flow_.facts().begin(), flow_.facts().end(), [&](const v1::ScriptFact* fact) {
             return IsUpdate(*fact) && flow_.NumberOf(*fact) > flow_.NumberOf(*set) && flow_.NumberOf(*fact) < here;
           });
  }

  // A loop over samples, not over steps of a game or parts of a network.
  bool OverSamples(const v1::ScriptLoop& loop) const {
    return std::any_of(loop.made_of().begin(), loop.made_of().end(), [&](int number) {
      const v1::ScriptFact* of = flow_.FactAt(number);
      return of != nullptr && (of->kind() == "loader" || of->kind() == "dataset" || of->kind() == "batch");
    });
  }

  bool NamedEvaluation(const v1::ScriptFact& forward, const v1::ScriptLoop& loop) const {
    if (NamesEvaluation(LastPart(forward.function()))) return true;
    if (absl::StartsWith(loop.over(), "?") && NamesEvaluation(loop.over())) return true;
    return std::any_of(loop.made_of().begin(), loop.made_of().end(), [&](int number) {
      const v1::ScriptFact* of = flow_.FactAt(number);
      return of != nullptr && NamesEvaluation(of->target());
    });
  }

  // One batch of a function that evaluates by its name and by what it does: no gradient, no update in it.
  bool EvaluatesOnce(const v1::ScriptFact& forward) const {
    const absl::string_view name = LastPart(forward.function());
    const bool named = NamesEvaluationCode(name) || absl::StrContains(absl::AsciiStrToLower(name), "accuracy");
    if (!named || !InNoGrad(forward)) return false;
    return std::none_of(flow_.facts().begin(), flow_.facts().end(), [&](const v1::ScriptFact* fact) {
      return IsUpdate(*fact) && fact->function() == forward.function();
    });
  }

  // Samples that are run through the network and teach it nothing.
  bool IsEvaluation(const v1::ScriptFact& forward) const {
    if (EvaluatesOnce(forward)) return true;
    const v1::ScriptLoop* loop =
        forward.loops().empty() ? nullptr : flow_.LoopAt(forward.loops(forward.loops_size() - 1));
    if (loop == nullptr || HasUpdate(loop->number())) return false;
    return NamedEvaluation(forward, *loop) || (InNoGrad(forward) && OverSamples(*loop));
  }

  void Evaluations() {
    std::set<std::string> told;
    for (const v1::ScriptFact* forward : flow_.OfKind("forward")) {
      if (forward->mode() != "train" || !forward->called() || !IsEvaluation(*forward)) continue;
      if (!ModeMatters(*forward) || (InNoGrad(*forward) && MeantToTrain(*forward)) ||
          !told.insert(ScriptPlace(*forward)).second)
        continue;
      const bool by_call = forward->framework() == "tensorflow" || absl::StartsWith(forward->name(), "keras.");
      list_.Add(kCheck, by_call ? "train_mode_at_eval/call" : "train_mode_at_eval/script", *forward,
                {{"function", forward->function().empty() ? "the script" : forward->function()},
                 {"network", forward->name()}});
    }
  }

  // --- a training that goes on in evaluation mode

  void Trainings() {
    std::set<int> told;
    for (const v1::ScriptFact* forward : flow_.OfKind("forward")) {
      if (!forward->called() || forward->object() == 0 || forward->loops().empty() || InNoGrad(*forward) ||
          !HasUpdate(forward->loops(forward->loops_size() - 1)) || !ModeMatters(*forward) || !IsTrained(*forward))
        continue;
      const v1::ScriptFact* left = EvaluationLeft(*forward);
      if (left == nullptr && forward->mode() == "eval") left = EvaluationBefore(*forward);
      if (left == nullptr || !told.insert(forward->object()).second) continue;
      ScriptFault& fault = list_.Add(kCheck, "eval_mode_at_train", *left,
                                     {{"network", forward->name()}, {"forward", ScriptPlace(*forward)}});
      fault.evidence.push_back(forward);
    }
  }

  // A network that only helps (a frozen one, a loss of features) stays in evaluation mode rightly.
  bool IsTrained(const v1::ScriptFact& forward) const {
    const std::vector<const v1::ScriptFact*> optimizers = flow_.OfKind("optimizer");
    return std::any_of(optimizers.begin(), optimizers.end(), [&](const v1::ScriptFact* one) {
      return std::find(one->made_of().begin(), one->made_of().end(), forward.object() - 1) != one->made_of().end();
    });
  }

  const v1::ScriptFact* EvaluationBefore(const v1::ScriptFact& forward) const {
    const v1::ScriptFact* left = nullptr;
    for (const v1::ScriptFact* fact : flow_.OfKind("eval_mode")) {
      const bool before = flow_.NumberOf(*fact) < flow_.NumberOf(forward);
      if (before && fact->object() == forward.object() && !fact->conditional()) left = fact;
    }
    return left;
  }

  // What set evaluation mode in an earlier round of the training's outermost loop and was not taken back before the
  // forward of the next one; null.
  const v1::ScriptFact* EvaluationLeft(const v1::ScriptFact& forward) const {
    const int round = forward.loops(0);
    const v1::ScriptFact* left = nullptr;
    bool evaluates = false;
    const auto take = [&](const v1::ScriptFact& fact) {
      if (fact.kind() == "train_mode" && !IsFalse(FindScriptArgument(fact, "mode")) && SameObject(fact, forward)) {
        left = nullptr;
      } else if ((fact.kind() == "eval_mode" || fact.kind() == "train_mode") && fact.object() == forward.object()) {
        left = &fact;
        evaluates = false;
      } else if (fact.kind() == "forward" && fact.object() == forward.object() && fact.mode() == "eval") {
        evaluates = evaluates || IsEvaluation(fact);
      }
    };
    // The rest of one round, and the next one up to the forward.
    const int here = flow_.NumberOf(forward);
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (InLoop(*fact, round) && flow_.NumberOf(*fact) > here) take(*fact);
    }
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (InLoop(*fact, round) && flow_.NumberOf(*fact) < here) take(*fact);
    }
    // Under a condition it may be meant (frozen statistics), unless an evaluation follows it.
    return left != nullptr && (evaluates || !left->conditional()) ? left : nullptr;
  }

  // --- dropout as a function

  void FunctionalDropout() {
    bool evaluates = flow_.Has("evaluate");
    for (const v1::ScriptFact* forward : flow_.OfKind("forward"))
      evaluates = evaluates || IsEvaluation(*forward) || forward->mode() == "eval";
    if (!evaluates) return;
    std::set<std::string> told;
    for (const v1::ScriptFact* fact : flow_.OfKind("functional_dropout")) {
      const v1::ScriptArgument* training = FindScriptArgument(*fact, "training");
      const v1::ScriptArgument* p = FindScriptArgument(*fact, "p");
      const bool always = IsTrue(training) && !fact->conditional() && fact->framework() != "tensorflow";
      if (!always || !fact->called() || (p != nullptr && p->has_value() && ShowScriptValue(*p) == "0") ||
          !told.insert(ScriptPlace(*fact)).second)
        continue;
      list_.Add(kCheck, "train_mode_at_eval/dropout", *fact, {{"function", fact->function()}});
    }
  }

  FaultList& list_;
  const ScriptFlow& flow_;
};

}  // namespace

void FindModeFaults(FaultList& list) {
  ModeFaults(list).Run();
}

}  // namespace paritect
