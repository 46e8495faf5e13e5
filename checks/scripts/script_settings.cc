#include "checks/scripts/script_settings.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

// What gives another type to a network or its samples, or trains by itself.
bool MaySetType(absl::string_view kind) {
  constexpr absl::string_view kKinds[] = {
      "autocast",      "cast",   "tensor_cast", "amp_level",          "policy", "graph_rewrite",
      "default_dtype", "engine", "trainer",     "training_arguments", "fit",    "convert"};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

// An autocast beside which the network is called, in the same function and in no autocast: it casts no layer.
bool PassesForwardBy(const ScriptFlow& flow, const v1::ScriptFact& autocast) {
  bool beside = false;
  for (const v1::ScriptFact* fact : flow.OfKind("forward")) {
    if (fact->use() == "evaluation" || !fact->called()) continue;
    for (int number : fact->contexts()) {
      const v1::ScriptFact* context = flow.FactAt(number);
      if (context != nullptr && context->kind() == "autocast") return false;
    }
    beside = beside || fact->function() == autocast.function();
  }
  return beside;
}

class Reader {
 public:
  explicit Reader(const ScriptFlow& flow) : flow_(flow) { document_.set_format(kScriptSettings); }

  v1::SettingsDocument Run() {
    Mechanisms();
    Libraries();
    LossScale();
    Batch();
    Accumulation();
    return std::move(document_);
  }

 private:
  v1::Setting& Add(absl::string_view key, absl::string_view raw, const v1::ScriptFact& fact) {
    v1::Setting& setting = *document_.add_settings();
    setting.set_raw_key(std::string(key));
    setting.set_raw_value(std::string(raw));
    setting.set_origin(ScriptPlace(fact));
    return setting;
  }

  void Text(absl::string_view key, absl::string_view value, const v1::ScriptFact& fact) {
    Add(key, value, fact).mutable_value()->set_text(std::string(value));
  }

  // An argument that is stated, and that no unknown command line may have changed.
  void Argument(absl::string_view key, const v1::ScriptFact& fact, absl::string_view name) {
    const v1::ScriptArgument* argument = FindScriptArgument(fact, name);
    if (argument == nullptr || !flow_.Knows(*argument) || argument->value().null()) return;
    *Add(key, ShowScriptValue(*argument), fact).mutable_value() = argument->value();
  }

  void Mechanisms() {
    for (const v1::ScriptFact* fact : flow_.OfKind("autocast")) {
      if (IsFalse(FindScriptArgument(*fact, "enabled")) || fact->conditional() || fact->use() == "evaluation") continue;
      if (PassesForwardBy(flow_, *fact)) continue;
      Text("amp_wrapper", "amp", *fact);
      const std::string dtype = AutocastDtype(*fact);
      if (!dtype.empty()) Text("compute_dtype", dtype, *fact);
      break;
    }
    for (const v1::ScriptFact* fact : flow_.OfKind("cast")) {
      const std::string dtype = TrainedCast(flow_, *fact);
      if (dtype.empty() || fact->conditional()) continue;
      Add("manual_casts", absl::StrCat(fact->name().substr(fact->name().rfind('.') + 1), "()"), *fact)
          .mutable_value()
          ->set_boolean(true);
      if (!flow_.Has("autocast")) Text("compute_dtype", dtype, *fact);
      break;
    }
    for (const v1::ScriptFact* fact : flow_.OfKind("tensor_cast")) {
      const v1::ScriptArgument* dtype = FindScriptArgument(*fact, "dtype");
      const std::string type = dtype == nullptr ? "" : DtypeOf(*dtype);
      if (type != "float16" && type != "bfloat16") continue;
      Add("manual_casts", "tf.cast", *fact).mutable_value()->set_boolean(true);
      Text("compute_dtype", type, *fact);
      break;
    }
    for (const v1::ScriptFact* fact : flow_.OfKind("amp_level")) {
      const bool apex = absl::StartsWith(fact->name(), "apex");
      Argument(apex ? "amp_opt_level" : "amp_level", *fact, "opt_level");
    }
    // The default of a trainer says nothing of a network that was given its level before.
    for (const v1::ScriptFact* fact : flow_.OfKind("trainer")) {
      const v1::ScriptArgument* level = FindScriptArgument(*fact, "amp_level");
      if (level == nullptr || (level->is_default() && (flow_.Has("amp_level") || flow_.Has("cast")))) continue;
      if (!fact->conditional()) Argument("amp_level", *fact, "amp_level");
    }
  }

  // Libraries that are told the type when they are made.
  void Libraries() {
    for (const v1::ScriptFact* fact : flow_.OfKind("training_arguments")) {
      for (const char* name : {"fp16", "bf16"}) TypeOption(*fact, name);
      if (!fact->conditional()) Argument("per_device_train_batch_size", *fact, "per_device_train_batch_size");
    }
    for (const v1::ScriptFact* fact : flow_.OfKind("trainer")) {
      const bool lightning = absl::StrContains(fact->name(), "lightning");
      if (lightning && !fact->conditional()) Argument("precision", *fact, "precision");
    }
    for (const v1::ScriptFact* fact : flow_.OfKind("engine")) {
      if (!fact->conditional()) Argument("mixed_precision", *fact, "mixed_precision");
    }
  }

  // An option that the code sets to what it does not tell (`fp16=torch.cuda.is_available()`) has no value; that it was
  // set is known.
  void TypeOption(const v1::ScriptFact& fact, absl::string_view name) {
    const v1::ScriptArgument* argument = FindScriptArgument(fact, name);
    if (argument == nullptr || argument->is_default()) return;
    if (!fact.conditional() && flow_.Knows(*argument)) return Argument(name, fact, name);
    Add(name, argument->text().empty() ? ShowScriptValue(*argument) : argument->text(), fact);
  }

  void LossScale() {
    for (const v1::ScriptFact* fact : flow_.OfKind("scaler")) {
      const v1::ScriptArgument* enabled = FindScriptArgument(*fact, "enabled");
      if (fact->conditional() || IsFalse(enabled) || (enabled != nullptr && !enabled->has_value()) ||
          !flow_.Has("scale_loss"))
        continue;
      Text("loss_scaler_type", absl::StrContains(fact->name(), "Static") ? "static" : "dynamic", *fact);
      Argument("init_loss_scale", *fact, "init_scale");
      for (const char* name : {"growth_interval", "growth_factor", "backoff_factor"}) Argument(name, *fact, name);
    }
    for (const v1::ScriptFact* fact : flow_.OfKind("loss_scale_manager")) {
      // A manager that nothing uses scales nothing.
      const int number = flow_.NumberOf(*fact);
      bool used = false;
      for (const v1::ScriptFact* other : flow_.facts()) {
        used = used || (other != fact &&
                        std::find(other->made_of().begin(), other->made_of().end(), number) != other->made_of().end());
      }
      if (!used || fact->conditional()) continue;
      const bool fixed = absl::StrContains(fact->name(), "Fixed");
      Text("loss_scaler_type", fixed ? "static" : "dynamic", *fact);
      Argument(fixed ? "loss_scale" : "init_loss_scale", *fact, fixed ? "loss_scale" : "init_loss_scale");
    }
    for (const v1::ScriptFact* fact : flow_.OfKind("loss_scale_optimizer")) {
      const bool npu = absl::EndsWith(fact->name(), "NPULossScaleOptimizer");
      Text("loss_scale_optimizer", npu ? "npu" : "native", *fact);
      const v1::ScriptArgument* distributed = FindScriptArgument(*fact, "is_distributed");
      if (npu && distributed != nullptr && distributed->has_value())
        *Add("is_distributed", ShowScriptValue(*distributed), *fact).mutable_value() = distributed->value();
    }
  }

  // The batch of one process, where one loader alone feeds the training and nothing deals its batches out further.
  void Batch() {
    if (flow_.framework() != "pytorch" || flow_.Has("engine") || flow_.Has("parallel_context")) return;
    for (const v1::ScriptFact* fact : flow_.OfKind("distributed_wrapper")) {
      if (absl::EndsWith(fact->name(), ".DataParallel")) return;
    }
    const v1::ScriptFact* loader = nullptr;
    for (const v1::ScriptFact* fact : flow_.OfKind("loader")) {
      if (!fact->called() || fact->use() != "training") continue;
      if (loader != nullptr || fact->conditional()) return;
      loader = fact;
    }
    if (loader == nullptr) return;
    const v1::ScriptArgument* sampler = FindScriptArgument(*loader, "batch_sampler");
    const v1::ScriptArgument* size = FindScriptArgument(*loader, "batch_size");
    if (sampler == nullptr && size != nullptr && !size->is_default())
      Argument("micro_batch_size", *loader, "batch_size");
  }

  // Whether what updates stands in the same loops as what makes the gradients: once a batch.
  bool UpdatesWithEachBatch(const v1::ScriptFact& step) const {
    const std::vector<const v1::ScriptFact*> backwards = flow_.OfKind("backward");
    return flow_.whole() && std::any_of(backwards.begin(), backwards.end(), [&](const v1::ScriptFact* one) {
             return !one->conditional() &&
                    std::equal(one->loops().begin(), one->loops().end(), step.loops().begin(), step.loops().end());
           });
  }

  // Updates that are made once in some rounds, by a condition in the script or an argument of what trains.
  void Accumulation() {
    constexpr absl::string_view kKey = "gradient_accumulation_steps";
    const v1::ScriptFact* found = nullptr;
    const v1::ScriptFact* each_round = nullptr;
    bool more = false;
    for (const v1::ScriptFact* fact : flow_.facts()) {
      const bool step = fact->kind() == "optimizer_step" || fact->kind() == "scaler_step";
      if (!step || !fact->called()) continue;
      // An update of every round beside it: which one is the training's is not known.
      if (FindScriptArgument(*fact, "every") == nullptr) {
        const bool each = !fact->loops().empty() && !fact->conditional();
        if (each && each_round == nullptr) each_round = fact;
        more = more || !each || !UpdatesWithEachBatch(*fact);
        continue;
      }
      if (found == nullptr) found = fact;
    }
    if (found != nullptr && each_round != nullptr) return;
    // What prepares the training may gather rounds by itself.
    if (each_round != nullptr && !more && !flow_.Has("engine")) {
      Add(kKey, "1", *each_round).mutable_value()->set_integer(1);
      return;
    }
    if (found != nullptr) {
      const v1::ScriptArgument& every = *FindScriptArgument(*found, "every");
      v1::Setting& setting = Add(kKey, ShowScriptValue(every), *found);
      if (flow_.Knows(every)) *setting.mutable_value() = every.value();
      return;
    }
    for (absl::string_view kind : {"engine", "trainer", "training_arguments"}) {
      for (const v1::ScriptFact* fact : flow_.OfKind(kind)) {
        for (absl::string_view name : {"gradient_accumulation_steps", "accumulate_grad_batches"}) {
          if (!fact->conditional()) Argument(kKey, *fact, name);
        }
      }
    }
  }

  const ScriptFlow& flow_;
  v1::SettingsDocument document_;
};

}  // namespace

v1::SettingsDocument SettingsOfScripts(const ScriptFlow& flow) {
  return Reader(flow).Run();
}

bool AsksByArgumentsAlone(const ScriptFlow& flow) {
  if (!flow.whole()) return false;
  const std::vector<const v1::ScriptFact*> facts = flow.facts();
  return flow.Has("training_arguments") && std::none_of(facts.begin(), facts.end(), [](const v1::ScriptFact* fact) {
           return MaySetType(fact->kind()) && fact->kind() != "training_arguments" && fact->kind() != "trainer" &&
                  fact->kind() != "fit";
         });
}

const v1::ScriptFact* SinglePrecision(const ScriptFlow& flow) {
  if (flow.framework() != "pytorch" || !flow.whole()) return nullptr;
  const v1::ScriptFact* backward = nullptr;
  for (const v1::ScriptFact* fact : flow.facts()) {
    const bool off = fact->use() == "evaluation" || PassesForwardBy(flow, *fact) ||
                     (IsFalse(FindScriptArgument(*fact, "enabled")) && !fact->conditional());
    if (fact->kind() == "autocast" && off) continue;
    const bool typed = std::any_of(fact->arguments().begin(), fact->arguments().end(), [](const auto& one) {
      return absl::StrContains(one.name(), "dtype") || absl::StrContains(one.symbol(), "float16");
    });
    if (typed || MaySetType(fact->kind()) || absl::StrContains(fact->name(), "from_pretrained")) return nullptr;
    if (fact->kind() == "backward" && fact->called() && backward == nullptr) backward = fact;
  }
  return backward;
}

}  // namespace paritect
