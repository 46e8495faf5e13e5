#include "checks/scripts/faults.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

using Facts = std::vector<const v1::ScriptFact*>;

bool NamesEvaluation(absl::string_view function) {
  const std::string lower = absl::AsciiStrToLower(function.substr(function.rfind('.') + 1));
  for (absl::string_view word : {"eval", "valid", "test", "accuracy", "infer", "predict", "metric", "score"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(const ScriptFlow& flow) : flow_(flow) {}

  std::vector<ScriptFault> Run() {
    UnsortedListings();
    HostValues();
    TrainingLoops();
    Evaluations();
    FunctionalDropout();
    EpochNotSet();
    TwoMechanisms();
    LossScale();
    NoWrapper();
    PartlyLoaded();
    return std::move(faults_);
  }

 private:
  ScriptFault& Add(absl::string_view check, absl::string_view message, const v1::ScriptFact& fact, MessageArgs args = {}) {
    ScriptFault fault;
    fault.check = check;
    fault.message = message;
    fault.fact = &fact;
    fault.args = std::move(args);
    fault.args.emplace_back("place", ScriptPlace(fact));
    fault.args.emplace_back("call", ScriptDetail(fact));
    // What nothing calls endangers nothing yet.
    if (!fact.called()) fault.severity = v1::SEVERITY_WARNING;
    faults_.push_back(std::move(fault));
    return faults_.back();
  }

  // --- data.sharding.order-hazard

  static bool DealsByOrder(const v1::ScriptFact& fact) {
    if (fact.kind() == "shard" || fact.kind() == "indexed") return true;
    if (fact.kind() == "slice_call") {
      return std::any_of(fact.arguments().begin(), fact.arguments().end(), [](const v1::ScriptArgument& one) { return one.follows_rank(); });
    }
    if (fact.kind() != "dataset") return false;
    const v1::ScriptArgument* shards = FindScriptArgument(fact, "num_shards");
    return shards != nullptr && !shards->value().null();
  }

  void UnsortedListings() {
    std::set<std::string> told;
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (!DealsByOrder(*fact)) continue;
      for (const v1::ScriptArgument& argument : fact->arguments()) {
        for (int number : argument.unsorted()) {
          const v1::ScriptFact* listing = flow_.FactAt(number);
          if (listing == nullptr || !told.insert(absl::StrCat(ScriptPlace(*listing), " ", ScriptPlace(*fact))).second) continue;
          ScriptFault& fault = Add("data.sharding.order-hazard", fact->kind() == "indexed" ? "unsorted_listing/indexed" : "unsorted_listing", *listing,
                                   {{"use", ScriptPlace(*fact)}, {"by", fact->arguments_size() > 0 ? fact->arguments(0).text() : ""}});
          fault.evidence.push_back(fact);
        }
      }
    }
  }

  // --- data.preprocessing.host-dependent

  // What decides which samples come in which order.
  static bool DecidesOrder(const v1::ScriptFact& fact, const v1::ScriptArgument& argument) {
    static constexpr absl::string_view kNames[] = {"buffer_size", "seed", "shuffling_queue_capacity", "shuffle", "cycle_length", "block_length", "generator", "initial"};
    const bool kind = fact.kind() == "shuffle" || fact.kind() == "sampler" || fact.kind() == "list_files" || fact.kind() == "interleave" ||
                      fact.kind() == "loader" || fact.kind() == "dataset";
    return kind && std::find(std::begin(kNames), std::end(kNames), argument.name()) != std::end(kNames);
  }

  static bool DecidesParallelism(const v1::ScriptArgument& argument) {
    static constexpr absl::string_view kNames[] = {"num_workers", "num_parallel_calls", "num_parallel_workers", "num_parallel_reads", "workers_count", "num_proc"};
    return std::find(std::begin(kNames), std::end(kNames), argument.name()) != std::end(kNames);
  }

  std::string SourceOfHost(const v1::ScriptArgument& argument, Facts& places) const {
    std::vector<std::string> calls;
    for (int number : argument.from()) {
      const v1::ScriptFact* from = flow_.FactAt(number);
      if (from == nullptr || !absl::StartsWith(from->kind(), "host")) continue;
      calls.push_back(absl::StrCat(from->name(), " (", ScriptPlace(*from), ")"));
      places.push_back(from);
    }
    return absl::StrJoin(calls, ", ");
  }

  void HostValues() {
    std::set<std::string> told;
    for (const v1::ScriptFact* fact : flow_.facts()) {
      for (const v1::ScriptArgument& argument : fact->arguments()) {
        if (!argument.follows_host() || fact->use() == "evaluation") continue;
        const bool order = DecidesOrder(*fact, argument);
        const bool seed = fact->kind() == "seed";
        if (!order && !seed && !DecidesParallelism(argument)) continue;
        if (!told.insert(absl::StrCat(ScriptPlace(*fact), argument.name())).second) continue;
        Facts places;
        const std::string source = SourceOfHost(argument, places);
        ScriptFault& fault = Add("data.preprocessing.host-dependent", "follows_host/script", *fact,
                                 {{"what", absl::StrCat(fact->kind(), " ", argument.name())}, {"text", argument.text()}, {"source", source}});
        if (!order) fault.severity = v1::SEVERITY_WARNING;
        fault.evidence = std::move(places);
      }
    }
  }

  // --- training.flow.state, model.hyperparameters.learning-rate

  static bool SameObject(const v1::ScriptFact& a, const v1::ScriptFact& b) {
    return a.object() == 0 || b.object() == 0 || a.object() == b.object();
  }

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

  void TrainingLoops() {
    std::set<int> told;
    std::set<std::string> scheduled;
    for (const v1::ScriptFact* step : flow_.facts()) {
      if (step->kind() == "schedule_step") StepTwice(*step, scheduled);
      if (step->kind() != "optimizer_step" && step->kind() != "scaler_step") continue;
      int loop = -1;
      const v1::ScriptFact* backward = nullptr;
      for (const v1::ScriptFact* fact : flow_.facts()) {
        if (fact->kind() != "backward") continue;
        const int common = CommonLoop(*fact, *step);
        if (common > loop) {
          loop = common;
          backward = fact;
        }
      }
      if (loop < 0 || !told.insert(loop).second) continue;
      Gradients(*step, *backward, loop);
    }
  }

  void Gradients(const v1::ScriptFact& step, const v1::ScriptFact& backward, int loop) {
    const Facts facts = InLoopOf(loop);
    const auto clears = [&](const v1::ScriptFact* fact) { return fact->kind() == "zero_grad"; };
    if (std::none_of(facts.begin(), facts.end(), clears)) {
      // An engine clears by itself; a functional gradient leaves nothing behind.
      const bool by_itself = std::any_of(facts.begin(), facts.end(), [](const v1::ScriptFact* fact) {
        return fact->kind() == "engine_step" || fact->kind() == "functional_grad" || fact->kind() == "train_step";
      });
      if (by_itself) return;
      ScriptFault& fault = Add("training.flow.state", "gradients_not_cleared/script", backward, {{"step", ScriptPlace(step)}});
      fault.evidence.push_back(&step);
      return;
    }
    // In the round of the loop, what comes before the step: a backward, or a clearing behind it.
    const v1::ScriptFact* last = nullptr;
    const v1::ScriptFact* first = nullptr;
    bool backward_before = false;
    for (const v1::ScriptFact* fact : facts) {
      if (fact == &step) {
        first = last;
        break;
      }
      if (fact->kind() == "backward") backward_before = true;
      if ((fact->kind() == "zero_grad" && SameObject(*fact, step)) || fact->kind() == "backward") last = fact;
    }
    const bool lost = first != nullptr && first->kind() == "zero_grad" && backward_before && !first->conditional() && first->object() == step.object();
    if (!lost) return;
    ScriptFault& fault = Add("training.flow.state", "update_without_gradient", *first, {{"step", ScriptPlace(step)}, {"backward", ScriptPlace(backward)}});
    fault.evidence = {&backward, &step};
  }

  void StepTwice(const v1::ScriptFact& step, std::set<std::string>& told) {
    if (step.object() == 0 || step.conditional() || step.loops().empty()) return;
    for (const v1::ScriptFact* other : flow_.OfKind("schedule_step")) {
      if (other == &step || other->object() != step.object() || other->conditional() || flow_.NumberOf(*other) >= flow_.NumberOf(step)) continue;
      // In one round, or in a loop within the round.
      const int common = std::min(other->loops_size(), step.loops_size());
      if (common == 0 || !std::equal(other->loops().begin(), other->loops().begin() + common, step.loops().begin())) continue;
      if (!told.insert(absl::StrCat(ScriptPlace(step), ScriptPlace(*other))).second) return;
      ScriptFault& fault = Add("model.hyperparameters.learning-rate", "schedule_faster/script", step, {{"first", ScriptPlace(*other)}});
      fault.evidence.push_back(other);
      return;
    }
  }

  // --- training.flow.evaluation

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
    return std::any_of(flow_.facts().begin(), flow_.facts().end(), [](const v1::ScriptFact* fact) { return IsUpdate(*fact); });
  }

  bool SetInItsFunction(const v1::ScriptFact& forward) const {
    return std::any_of(flow_.facts().begin(), flow_.facts().end(), [&](const v1::ScriptFact* fact) {
      return fact->kind() == "train_mode" && fact->function() == forward.function() && flow_.NumberOf(*fact) < flow_.NumberOf(forward) && SameObject(*fact, forward) && !NamesEvaluation(forward.function());
    });
  }

  bool IsEvaluation(const v1::ScriptFact& forward) const {
    if (forward.loops().empty()) return false;
    const int loop = forward.loops(forward.loops_size() - 1);
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (IsUpdate(*fact) && InLoop(*fact, loop)) return false;
    }
    return InNoGrad(forward) || NamesEvaluation(forward.function());
  }

  void Evaluations() {
    if (!Trains()) return;
    std::set<std::string> told;
    for (const v1::ScriptFact* forward : flow_.facts()) {
      if (forward->kind() != "forward" || forward->mode() != "train" || !forward->called() || !IsEvaluation(*forward)) continue;
      if (!ModeMatters(*forward) || (InNoGrad(*forward) && SetInItsFunction(*forward)) || !told.insert(ScriptPlace(*forward)).second) continue;
      Add("training.flow.evaluation", "train_mode_at_eval/script", *forward, {{"function", forward->function().empty() ? "the script" : forward->function()}, {"network", forward->name()}});
    }
  }

  void FunctionalDropout() {
    bool evaluates = flow_.Has("evaluate");
    for (const v1::ScriptFact* forward : flow_.OfKind("forward")) evaluates = evaluates || IsEvaluation(*forward) || forward->mode() == "eval";
    if (!evaluates) return;
    std::set<std::string> told;
    for (const v1::ScriptFact* fact : flow_.OfKind("functional_dropout")) {
      const v1::ScriptArgument* training = FindScriptArgument(*fact, "training");
      const v1::ScriptArgument* p = FindScriptArgument(*fact, "p");
      const bool always = IsTrue(training) && !fact->conditional() && fact->framework() != "tensorflow";
      if (!always || !fact->called() || (p != nullptr && p->has_value() && ShowScriptValue(*p) == "0") || !told.insert(ScriptPlace(*fact)).second) continue;
      Add("training.flow.evaluation", "train_mode_at_eval/dropout", *fact, {{"function", fact->function()}});
    }
  }

  // --- data.preprocessing.shuffle

  void EpochNotSet() {
    if (flow_.Has("set_epoch") || flow_.Has("fit") || flow_.Has("engine")) return;
    for (const v1::ScriptFact* sampler : flow_.OfKind("sampler")) {
      if (sampler->name() != "torch.utils.data.DistributedSampler" || IsFalse(FindScriptArgument(*sampler, "shuffle"))) continue;
      const int number = flow_.NumberOf(*sampler);
      for (const v1::ScriptFact* backward : flow_.OfKind("backward")) {
        if (backward->loops_size() < 2) continue;
        // The loop over the loader, within another one.
        for (int i = 1; i < backward->loops_size(); ++i) {
          const v1::ScriptLoop* loop = flow_.LoopAt(backward->loops(i));
          const v1::ScriptLoop* outer = flow_.LoopAt(backward->loops(i - 1));
          if (loop == nullptr || outer == nullptr || outer->over() == "range(1)") continue;
          if (std::find(loop->made_of().begin(), loop->made_of().end(), number) == loop->made_of().end()) continue;
          Add("data.preprocessing.shuffle", "epoch_not_set/script", *sampler, {{"loop", absl::StrCat(outer->file(), ":", outer->line())}});
          return;
        }
      }
    }
  }

  // --- mixed precision, loss scale

  const v1::ScriptFact* Autocast() const {
    for (const v1::ScriptFact* fact : flow_.OfKind("autocast")) {
      if (!IsFalse(FindScriptArgument(*fact, "enabled"))) return fact;
    }
    return nullptr;
  }

  void TwoMechanisms() {
    const v1::ScriptFact* autocast = Autocast();
    if (autocast == nullptr) return;
    for (const v1::ScriptFact* cast : flow_.OfKind("cast")) {
      const std::string dtype = TrainedCast(flow_, *cast);
      if (dtype.empty() || cast->conditional()) continue;
      ScriptFault& fault = Add("mixed-precision.single-mechanism", "two_mechanisms/script", *cast, {{"dtype", dtype}, {"autocast", absl::StrCat(ScriptDetail(*autocast), " (", ScriptPlace(*autocast), ")")}});
      fault.evidence.push_back(autocast);
      return;
    }
  }

  void LossScale() {
    const v1::ScriptFact* autocast = Autocast();
    if (autocast == nullptr || !flow_.whole() || AutocastDtype(*autocast) != "float16" || !flow_.Has("backward") || autocast->conditional()) return;
    for (absl::string_view kind : {"fit", "engine", "trainer", "loss_scale_manager", "loss_scale_optimizer", "amp_level"}) {
      if (flow_.Has(kind)) return;
    }
    const v1::ScriptFact* scaler = nullptr;
    bool off = true;
    for (const v1::ScriptFact* one : flow_.OfKind("scaler")) {
      scaler = one;
      const v1::ScriptArgument* enabled = FindScriptArgument(*one, "enabled");
      off = off && (IsFalse(enabled) && enabled->option().empty());
    }
    bool by_hand = false;
    for (const v1::ScriptFact* backward : flow_.OfKind("backward")) {
      const v1::ScriptArgument* loss = FindScriptArgument(*backward, "loss");
      by_hand = by_hand || (loss != nullptr && absl::StrContains(loss->symbol(), " * "));
    }
    const bool unused = scaler != nullptr && !off && !flow_.Has("scale_loss");
    if (by_hand || (scaler != nullptr && !off && !unused)) return;
    Add("loss-scale.enabled", scaler == nullptr ? "loss_scale_off/script" : unused ? "loss_scale_off/unused" : "loss_scale_off/disabled",
        scaler == nullptr ? *autocast : *scaler, {{"autocast", ScriptPlace(*autocast)}});
  }

  // --- training.flow.distributed, .initial-weights

  void NoWrapper() {
    const Facts inits = flow_.OfKind("distributed_init");
    if (inits.empty() || !flow_.whole() || flow_.framework() != "pytorch" || !(flow_.Has("optimizer_step") || flow_.Has("scaler_step"))) return;
    for (absl::string_view kind : {"distributed_wrapper", "data_parallel_wrapper", "all_reduce", "engine", "fit", "trainer", "engine_step"}) {
      if (flow_.Has(kind)) return;
    }
    Add("training.flow.distributed", "gradients_not_synchronised/script", *inits[0], {});
  }

  void PartlyLoaded() {
    for (const v1::ScriptFact* load : flow_.OfKind("load")) {
      const v1::ScriptArgument* strict = FindScriptArgument(*load, "strict");
      if (strict == nullptr || strict->is_default() || !IsFalse(strict)) continue;
      Add("training.flow.initial-weights", "partly_loaded", *load, {}).severity = v1::SEVERITY_NOTE;
    }
  }

  const ScriptFlow& flow_;
  std::vector<ScriptFault> faults_;
};

}  // namespace

std::vector<ScriptFault> FindScriptFaults(const ScriptFlow& flow) {
  if (!flow.read()) return {};
  return Finder(flow).Run();
}

void AddScriptFaults(const CheckContext& context, v1::CheckResult& result, absl::string_view check,
                     const ScriptFlow& flow) {
  for (const ScriptFault& fault : FindScriptFaults(flow)) {
    // Faults of both sides' items ("loss-scale.enabled") go by the end of their name.
    if (fault.check != check && !absl::EndsWith(check, absl::StrCat(".", fault.check))) continue;
    v1::Finding& finding = AddFinding(context, result, fault.severity, fault.message, ScriptPlace(*fault.fact), fault.args);
    finding.add_evidence(absl::StrCat(ScriptPlace(*fault.fact), ": ", ScriptDetail(*fault.fact)));
    for (const v1::ScriptFact* place : fault.evidence) {
      finding.add_evidence(absl::StrCat(ScriptPlace(*place), ": ", ScriptDetail(*place)));
    }
  }
}

void AddScriptFaults(const CheckContext& context, v1::CheckResult& result, absl::string_view check, Side side) {
  for (const RunView& run : context.evidence.Runs(side)) {
    AddScriptFaults(context, result, check, ScriptFlow::Of(context, run));
  }
}

}  // namespace paritect
