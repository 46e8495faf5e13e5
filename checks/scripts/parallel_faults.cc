// Several processes that train one network: their gradients meet, by a wrapper that is used or by a reduction.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/scripts/fault_list.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

constexpr char kCheck[] = "training.flow.distributed";

bool Contains(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](absl::string_view word) { return absl::StrContains(text, word); });
}

class ParallelFaults {
 public:
  explicit ParallelFaults(FaultList& list) : list_(list), flow_(list.flow()) {}

  void Run() {
    NotSynchronised();
    WrapperUnused();
    PartlyLoaded();
  }

 private:
  // A loss, a metric, a count that is summed up for the log synchronises no gradient. What is not known may.
  bool ReducesGradients(const v1::ScriptFact& fact) const {
    if (Contains(fact.name(), {"GradReducer", "grad_reducer"})) return true;
    std::string text = fact.function();
    if (fact.arguments_size() > 0)
      absl::StrAppend(&text, " ", fact.arguments(0).text(), " ", fact.arguments(0).symbol());
    text = absl::AsciiStrToLower(text);
    if (Contains(text, {"grad", "param", "bucket", "flat", "coalesce", "weight"})) return true;
    const bool of_output = std::any_of(fact.made_of().begin(), fact.made_of().end(), [&](int number) {
      const v1::ScriptFact* of = flow_.FactAt(number);
      return of != nullptr && (of->kind() == "forward" || (of->kind() == "layer" && of->layer() == "loss"));
    });
    return !of_output &&
           !Contains(text, {"loss", "acc", "metric", "count", "total", "correct", "num_", "time", "stat"});
  }

  // All that reduces something else, where nothing reduces gradients.
  bool Synchronises() const {
    for (absl::string_view kind : {"distributed_wrapper", "data_parallel_wrapper", "engine", "fit", "trainer",
                                   "engine_step", "train_cell", "rpc"}) {
      if (flow_.Has(kind)) return true;
    }
    const std::vector<const v1::ScriptFact*> levels = flow_.OfKind("amp_level");
    if (std::any_of(levels.begin(), levels.end(),
                    [](const v1::ScriptFact* one) { return absl::EndsWith(one->name(), "build_train_network"); }))
      return true;
    const std::vector<const v1::ScriptFact*> reductions = flow_.OfKind("all_reduce");
    return std::any_of(reductions.begin(), reductions.end(),
                       [&](const v1::ScriptFact* one) { return ReducesGradients(*one); });
  }

  // MindSpore's compiler puts the reductions in where it places the operators itself.
  bool PlacedByCompiler() const {
    const std::vector<const v1::ScriptFact*> contexts = flow_.OfKind("parallel_context");
    return std::any_of(contexts.begin(), contexts.end(), [](const v1::ScriptFact* one) {
      const v1::ScriptArgument* mode = FindScriptArgument(*one, "parallel_mode");
      if (mode == nullptr) return false;
      const std::string text = absl::AsciiStrToLower(mode->has_value() ? ShowScriptValue(*mode) : mode->symbol());
      return !Contains(text, {"data_parallel", "stand_alone"});
    });
  }

  void NotSynchronised() {
    const std::vector<const v1::ScriptFact*> inits = flow_.OfKind("distributed_init");
    if (inits.empty() || !inits[0]->called() || !flow_.whole() || Synchronises()) return;
    const bool torch = flow_.framework() == "pytorch" && (flow_.Has("optimizer_step") || flow_.Has("scaler_step"));
    const bool mindspore = flow_.framework() == "mindspore" && flow_.Has("gradient_function") &&
                           flow_.Has("train_step") && !PlacedByCompiler();
    if (!torch && !mindspore) return;
    ScriptFault& fault = list_.Add(
        kCheck, torch ? "gradients_not_synchronised/script" : "gradients_not_synchronised/reducer", *inits[0], {});
    for (const v1::ScriptFact* one : flow_.OfKind("all_reduce")) fault.evidence.push_back(one);
  }

  // DistributedDataParallel hears of a backward only where the forward went through it.
  void WrapperUnused() {
    if (!flow_.whole()) return;
    for (const v1::ScriptFact* wrapper : flow_.OfKind("distributed_wrapper")) {
      const bool by_forward = absl::EndsWith(wrapper->name(), "DistributedDataParallel");
      if (!by_forward || wrapper->object() == 0 || !wrapper->called()) continue;
      const v1::ScriptFact* bare = BareForward(*wrapper);
      if (bare == nullptr) continue;
      ScriptFault& fault = list_.Add(kCheck, "wrapper_unused", *wrapper, {{"forward", ScriptPlace(*bare)}});
      fault.evidence.push_back(bare);
    }
  }

  // A forward of the training that calls the bare network, where none goes through the wrapper; null.
  const v1::ScriptFact* BareForward(const v1::ScriptFact& wrapper) const {
    const v1::ScriptFact* bare = nullptr;
    for (const v1::ScriptFact* forward : flow_.OfKind("forward")) {
      if (forward->loops().empty() || !IsTrainedIn(forward->loops(forward->loops_size() - 1))) continue;
      // Another network may hold this one.
      if (forward->object() != wrapper.object()) return nullptr;
      if (flow_.MadeOf(*forward, "distributed_wrapper")) return nullptr;
      bare = forward;
    }
    // Gradients may be reduced by hand all the same.
    const std::vector<const v1::ScriptFact*> reductions = flow_.OfKind("all_reduce");
    const bool by_hand = std::any_of(reductions.begin(), reductions.end(),
                                     [&](const v1::ScriptFact* one) { return ReducesGradients(*one); });
    return by_hand ? nullptr : bare;
  }

  bool IsTrainedIn(int loop) const {
    return std::any_of(flow_.facts().begin(), flow_.facts().end(),
                       [&](const v1::ScriptFact* fact) { return fact->kind() == "backward" && InLoop(*fact, loop); });
  }

  void PartlyLoaded() {
    for (const v1::ScriptFact* load : flow_.OfKind("load")) {
      const v1::ScriptArgument* strict = FindScriptArgument(*load, "strict");
      if (strict == nullptr || strict->is_default() || !IsFalse(strict)) continue;
      list_.Add("training.flow.initial-weights", "partly_loaded", *load, {}).severity = v1::SEVERITY_NOTE;
    }
  }

  FaultList& list_;
  const ScriptFlow& flow_;
};

}  // namespace

void FindParallelFaults(FaultList& list) {
  ParallelFaults(list).Run();
}

}  // namespace paritect
