#include "formats/python/script_uses.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "rules/evaluation_words.h"

namespace paritect {
namespace {

bool IsUpdate(const MachineFact& fact) {
  return fact.kind == "backward" || fact.kind == "train_step" || fact.kind == "engine_step" ||
         fact.kind == "functional_grad" || fact.kind == "gradient_tape";
}

class Uses {
 public:
  explicit Uses(ScriptMachine& machine) : m_(machine), uses_(machine.facts().size()) {}

  std::vector<std::string> Run() {
    for (const MachineFact& fact : m_.facts()) {
      if (IsUpdate(fact)) updates_.push_back(&fact);
    }
    for (const MachineFact& fact : m_.facts()) {
      if (IsUpdate(fact)) Loops(fact, "training");
      if (fact.kind == "forward") Forward(fact);
      if (fact.kind == "fit" || fact.kind == "trainer") Fit(fact);
      if (fact.kind == "train_spec") All(fact.made_of, "training");
      if (fact.kind == "evaluate" || fact.kind == "eval_spec") Evaluated(fact);
    }
    // What nothing consumes goes by the names it is given.
    for (std::size_t i = m_.facts().size(); i-- > 0;) {
      const MachineFact& fact = m_.facts()[i];
      if (!uses_[i].empty() || (fact.kind != "loader" && fact.kind != "dataset" && fact.kind != "sampler")) continue;
      if (NamesEvaluationCode(fact.target)) {
        Mark(i, "evaluation");
        All(fact.made_of, "evaluation");
      } else if (absl::StrContains(absl::AsciiStrToLower(fact.target), "train")) {
        Mark(i, "training");
        All(fact.made_of, "training");
      }
    }
    return std::move(uses_);
  }

 private:
  void Mark(std::size_t fact, const char* use) {
    if (fact < uses_.size() && uses_[fact] != "training") uses_[fact] = use;
  }

  void All(const std::vector<std::int32_t>& facts, const char* use) {
    for (std::int32_t fact : facts) Mark(static_cast<std::size_t>(fact), use);
  }

  void Loops(const MachineFact& fact, const char* use) {
    for (std::int32_t loop : fact.loops) All(m_.loops()[static_cast<std::size_t>(loop)].made_of, use);
  }

  // The loop around the forward that the batch comes from has an update in it, or not.
  void Forward(const MachineFact& fact) {
    const bool trains = std::any_of(updates_.begin(), updates_.end(), [&](const MachineFact* update) {
      if (update->loops.empty() || fact.loops.empty())
        return update->loops == fact.loops && update->function == fact.function;
      return std::find(fact.loops.begin(), fact.loops.end(), update->loops.back()) != fact.loops.end();
    });
    const char* use = trains ? "training" : "evaluation";
    if (!trains && fact.loops.empty()) return;
    if (!trains) {
      All(m_.loops()[static_cast<std::size_t>(fact.loops.back())].made_of, use);
    } else {
      Loops(fact, use);
    }
    for (const FactArgument& one : fact.arguments) All(m_.values.AllFacts(one.value), use);
  }

  void Fit(const MachineFact& fact) {
    for (const FactArgument& one : fact.arguments) {
      All(m_.values.AllFacts(one.value), NamesEvaluationCode(one.name) ? "evaluation" : "training");
    }
    // Facts of functions that the framework calls (an input_fn) are of what it makes.
    const bool evaluates = std::any_of(fact.arguments.begin(), fact.arguments.end(),
                                       [](const FactArgument& one) { return NamesEvaluationCode(one.name); });
    if (!evaluates) All(fact.made_of, "training");
  }

  void Evaluated(const MachineFact& fact) {
    All(fact.made_of, "evaluation");
    for (const FactArgument& one : fact.arguments) All(m_.values.AllFacts(one.value), "evaluation");
  }

  ScriptMachine& m_;
  std::vector<std::string> uses_;
  std::vector<const MachineFact*> updates_;
};

}  // namespace

std::vector<std::string> UsesOfCodes(ScriptMachine& machine) {
  std::set<std::int32_t> training;
  std::set<std::int32_t> evaluation;  // loops in which a network runs and nothing is updated
  for (const MachineFact& fact : machine.facts()) {
    if (IsUpdate(fact)) training.insert(fact.loops.begin(), fact.loops.end());
    if (fact.kind == "forward") evaluation.insert(fact.loops.begin(), fact.loops.end());
  }
  std::vector<std::string> uses;
  for (const MachineCode& code : machine.codes()) {
    std::string use;
    for (auto loop = code.loops.rbegin(); loop != code.loops.rend() && use.empty(); ++loop) {
      if (training.contains(*loop)) use = "training";
      if (use.empty() && evaluation.contains(*loop)) use = "evaluation";
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<std::string> UsesOfFacts(ScriptMachine& machine) {
  return Uses(machine).Run();
}

}  // namespace paritect
