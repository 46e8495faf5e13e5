// One update of the parameters: gradients are cleared, made, clipped and applied, and the schedule moves on once.
#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/scripts/fault_list.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

using Facts = std::vector<const v1::ScriptFact*>;

class UpdateFaults {
 public:
  explicit UpdateFaults(FaultList& list) : list_(list), flow_(list.flow()) {}

  void Run() {
    for (const v1::ScriptFact* step : flow_.facts()) {
      if (step->kind() == "schedule_step") StepTwice(*step);
      if (step->kind() == "optimizer_step" || step->kind() == "scaler_step") Update(*step);
      if (step->kind() == "clip") ClippedBeforeUnscaled(*step);
    }
  }

 private:
  Facts InLoopOf(int loop) const {
    Facts found;
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (InLoop(*fact, loop)) found.push_back(fact);
    }
    return found;
  }

  // The innermost loop that holds both; -1.
  static int CommonLoop(const v1::ScriptFact& a, const v1::ScriptFact& b) {
    int common = -1;
    for (int i = 0; i < a.loops_size() && i < b.loops_size() && a.loops(i) == b.loops(i); ++i) common = a.loops(i);
    return common;
  }

  // --- gradients

  void Update(const v1::ScriptFact& step) {
    int loop = -1;
    const v1::ScriptFact* backward = nullptr;
    for (const v1::ScriptFact* fact : flow_.OfKind("backward")) {
      const int common = CommonLoop(*fact, step);
      if (common <= loop) continue;
      loop = common;
      backward = fact;
    }
    if (loop >= 0 && told_updates_.insert({loop, step.object()}).second) Gradients(step, *backward, loop);
  }

  bool IsOptimizer(int object) const {
    const v1::ScriptFact* fact = object == 0 ? nullptr : flow_.FactAt(object - 1);
    return fact != nullptr && fact->kind() == "optimizer";
  }

  // Whether the two hold parameters of one network; so do those of which that is not known.
  bool MayShareParameters(int a, int b) const {
    const Facts of_a = NetworksOf(a);
    const Facts of_b = NetworksOf(b);
    if (of_a.empty() || of_b.empty()) return true;
    return std::any_of(of_a.begin(), of_a.end(), [&](const v1::ScriptFact* one) {
      return std::find(of_b.begin(), of_b.end(), one) != of_b.end();
    });
  }

  Facts NetworksOf(int object) const {
    Facts networks;
    const v1::ScriptFact* of = flow_.FactAt(object - 1);
    if (of == nullptr) return networks;
    for (int number : of->made_of()) {
      const v1::ScriptFact* fact = flow_.FactAt(number);
      if (fact != nullptr && (fact->kind() == "module" || fact->kind() == "layer")) networks.push_back(fact);
    }
    return networks;
  }

  // Whether it clears what the step applies: the step's own optimizer, the network, or what is not known. Another
  // optimizer clears its own parameters alone.
  bool Clears(const v1::ScriptFact& fact, const v1::ScriptFact& step) const {
    if (fact.kind() != "zero_grad") return false;
    if (fact.object() == step.object() || !IsOptimizer(fact.object()) || !IsOptimizer(step.object())) return true;
    return MayShareParameters(fact.object(), step.object());
  }

  void Gradients(const v1::ScriptFact& step, const v1::ScriptFact& backward, int loop) {
    const Facts facts = InLoopOf(loop);
    if (std::none_of(facts.begin(), facts.end(), [&](const v1::ScriptFact* fact) { return Clears(*fact, step); })) {
      // An engine clears by itself; a functional gradient leaves nothing behind.
      const bool by_itself = std::any_of(facts.begin(), facts.end(), [](const v1::ScriptFact* fact) {
        return fact->kind() == "engine_step" || fact->kind() == "functional_grad" || fact->kind() == "train_step";
      });
      if (by_itself) return;
      const auto other = std::find_if(facts.begin(), facts.end(),
                                      [](const v1::ScriptFact* fact) { return fact->kind() == "zero_grad"; });
      const bool of_other = other != facts.end();
      MessageArgs args = {{"step", ScriptPlace(step)}};
      if (of_other) args.emplace_back("other", ScriptPlace(**other));
      ScriptFault& fault =
          list_.Add("training.flow.state", of_other ? "gradients_not_cleared/other" : "gradients_not_cleared/script",
                    backward, args);
      fault.evidence.push_back(&step);
      if (of_other) fault.evidence.push_back(*other);
      return;
    }
    ClearedTooEarly(facts, step, backward);
    ClearedEachRound(facts, step, backward);
  }

  // Both in each round, or both once in as many rounds.
  static bool AsOften(const v1::ScriptFact& a, const v1::ScriptFact& b) {
    const v1::ScriptArgument* of_a = FindScriptArgument(a, "every");
    const v1::ScriptArgument* of_b = FindScriptArgument(b, "every");
    if (of_a != nullptr && of_b != nullptr)
      return of_a->symbol() == of_b->symbol() && ShowScriptValue(*of_a) == ShowScriptValue(*of_b);
    return !a.conditional();
  }

  // Gradients that are gathered over some rounds, and cleared in each of them.
  void ClearedEachRound(const Facts& facts, const v1::ScriptFact& step, const v1::ScriptFact& backward) {
    const v1::ScriptArgument* every = FindScriptArgument(step, "every");
    if (every == nullptr || !flow_.Knows(*every) || every->value().integer() < 2) return;
    const auto clears = std::find_if(facts.begin(), facts.end(), [&](const v1::ScriptFact* fact) {
      const bool same_rounds =
          std::equal(fact->loops().begin(), fact->loops().end(), backward.loops().begin(), backward.loops().end());
      const bool each = !fact->conditional() && FindScriptArgument(*fact, "every") == nullptr;
      return fact->kind() == "zero_grad" && each && same_rounds && fact->object() == step.object();
    });
    if (clears == facts.end()) return;
    ScriptFault& fault = list_.Add("training.flow.state", "update_without_gradient/rounds", **clears,
                                   {{"step", ScriptPlace(step)}, {"rounds", ShowScriptValue(*every)}});
    fault.evidence = {&backward, &step};
  }

  static bool SameObject(const v1::ScriptFact& a, const v1::ScriptFact& b) {
    return a.object() == 0 || b.object() == 0 || a.object() == b.object();
  }

  // In the round of the loop, what comes before the step: a backward, or a clearing behind it.
  void ClearedTooEarly(const Facts& facts, const v1::ScriptFact& step, const v1::ScriptFact& backward) {
    const v1::ScriptFact* last = nullptr;
    bool backward_before = false;
    for (const v1::ScriptFact* fact : facts) {
      if (fact == &step) break;
      if (fact->kind() == "backward") backward_before = true;
      if ((fact->kind() == "zero_grad" && SameObject(*fact, step)) || fact->kind() == "backward") last = fact;
    }
    const bool lost = last != nullptr && last->kind() == "zero_grad" && backward_before && AsOften(*last, step) &&
                      last->object() == step.object();
    if (!lost) return;
    ScriptFault& fault = list_.Add("training.flow.state", "update_without_gradient", *last,
                                   {{"step", ScriptPlace(step)}, {"backward", ScriptPlace(backward)}});
    fault.evidence = {&backward, &step};
  }

  // --- clipping: the limit is meant for gradients as they are, not times the loss scale

  void ClippedBeforeUnscaled(const v1::ScriptFact& clip) {
    if (clip.loops().empty() || !clip.called()) return;
    const Facts facts = InLoopOf(clip.loops(clip.loops_size() - 1));
    bool scaled = false;
    bool unscaled = false;
    const v1::ScriptFact* step = nullptr;
    for (const v1::ScriptFact* fact : facts) {
      const bool before = flow_.NumberOf(*fact) < flow_.NumberOf(clip);
      scaled = scaled || (fact->kind() == "scale_loss" && before && absl::StartsWith(fact->name(), "torch."));
      unscaled = unscaled || (fact->kind() == "unscale" && before);
      if (fact->kind() == "scaler_step" && !before && step == nullptr) step = fact;
    }
    if (!scaled || unscaled || step == nullptr || ScalerIsOff()) return;
    if (!told_clips_.insert(ScriptPlace(clip)).second) return;
    list_.Add("training.flow.state", "scaled_gradients_clipped", clip, {{"step", ScriptPlace(*step)}})
        .evidence.push_back(step);
  }

  bool ScalerIsOff() const {
    const Facts scalers = flow_.OfKind("scaler");
    return !scalers.empty() && std::all_of(scalers.begin(), scalers.end(), [](const v1::ScriptFact* one) {
      return IsFalse(FindScriptArgument(*one, "enabled"));
    });
  }

  // --- the schedule

  void StepTwice(const v1::ScriptFact& step) {
    if (step.object() == 0 || step.conditional() || step.loops().empty()) return;
    for (const v1::ScriptFact* other : flow_.OfKind("schedule_step")) {
      if (other == &step || other->object() != step.object() || other->conditional() ||
          flow_.NumberOf(*other) >= flow_.NumberOf(step))
        continue;
      // In one round, or in a loop within the round.
      const int common = std::min(other->loops_size(), step.loops_size());
      if (common == 0 || !std::equal(other->loops().begin(), other->loops().begin() + common, step.loops().begin()))
        continue;
      if (!told_schedules_.insert(absl::StrCat(ScriptPlace(step), ScriptPlace(*other))).second) return;
      ScriptFault& fault = list_.Add("model.hyperparameters.learning-rate", "schedule_faster/script", step,
                                     {{"first", ScriptPlace(*other)}});
      fault.evidence.push_back(other);
      return;
    }
  }

  FaultList& list_;
  const ScriptFlow& flow_;
  std::set<std::pair<int, int>> told_updates_;  // loop, optimizer
  std::set<std::string> told_clips_;
  std::set<std::string> told_schedules_;
};

}  // namespace

void FindUpdateFaults(FaultList& list) {
  UpdateFaults(list).Run();
}

}  // namespace paritect
