// Mixed precision by two mechanisms at once, and half precision whose loss is not scaled.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/scripts/fault_list.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

constexpr char kLossScale[] = "loss-scale.enabled";

class PrecisionFaults {
 public:
  explicit PrecisionFaults(FaultList& list) : list_(list), flow_(list.flow()) {}

  void Run() {
    TwoMechanisms();
    LossScale();
    ScalerNotUpdated();
  }

 private:
  const v1::ScriptFact* Autocast() const {
    for (const v1::ScriptFact* fact : flow_.OfKind("autocast")) {
      const v1::ScriptArgument* enabled = FindScriptArgument(*fact, "enabled");
      if (!IsFalse(enabled) && !(enabled != nullptr && enabled->has_value() && enabled->value().null())) return fact;
    }
    return nullptr;
  }

  // Whether the autocast is on for certain.
  bool IsOn(const v1::ScriptFact& autocast) const {
    const v1::ScriptArgument* enabled = FindScriptArgument(autocast, "enabled");
    if (enabled == nullptr) return true;
    return IsTrue(enabled) && (enabled->option().empty() || flow_.tree()->command_line_known());
  }

  void TwoMechanisms() {
    const v1::ScriptFact* autocast = Autocast();
    if (autocast == nullptr) return;
    for (const v1::ScriptFact* cast : flow_.OfKind("cast")) {
      const std::string dtype = TrainedCast(flow_, *cast);
      if (dtype.empty() || cast->conditional()) continue;
      ScriptFault& fault = list_.Add(
          "mixed-precision.single-mechanism", "two_mechanisms/script", *cast,
          {{"dtype", dtype}, {"autocast", absl::StrCat(ScriptDetail(*autocast), " (", ScriptPlace(*autocast), ")")}});
      fault.evidence.push_back(autocast);
      return;
    }
  }

  // --- loss scale

  // What makes the training compute in float16 for certain, and does not scale the loss by itself; null.
  const v1::ScriptFact* HalfPrecision() const {
    const v1::ScriptFact* autocast = Autocast();
    if (autocast != nullptr && IsOn(*autocast) && AutocastDtype(*autocast) == "float16") return autocast;
    for (const v1::ScriptFact* fact : flow_.OfKind("amp_level")) {
      // MindSpore casts the network; whoever makes the step scales the loss.
      if (!absl::EndsWith(fact->name(), "auto_mixed_precision")) continue;
      const v1::ScriptArgument* level = FindScriptArgument(*fact, "opt_level");
      const v1::ScriptArgument* dtype = FindScriptArgument(*fact, "dtype");
      const std::string shown = level == nullptr || !level->has_value() ? "" : ShowScriptValue(*level);
      const bool half = shown == "O1" || shown == "O2" || shown == "O3" || shown == "auto";
      if (half && (dtype == nullptr || DtypeOf(*dtype) == "float16")) return fact;
    }
    return nullptr;
  }

  bool ScalesByItself() const {
    for (absl::string_view kind : {"fit", "engine", "trainer", "loss_scale_manager", "loss_scale_optimizer"}) {
      if (flow_.Has(kind)) return true;
    }
    const std::vector<const v1::ScriptFact*> levels = flow_.OfKind("amp_level");
    return std::any_of(levels.begin(), levels.end(),
                       [](const v1::ScriptFact* one) { return !absl::EndsWith(one->name(), "auto_mixed_precision"); });
  }

  void LossScale() {
    const v1::ScriptFact* half = HalfPrecision();
    if (half == nullptr || !half->called() || !flow_.whole() || !flow_.Has("backward") || half->conditional() ||
        ScalesByItself())
      return;
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
    ScriptFault& fault = list_.Add(kLossScale,
                                   scaler == nullptr ? "loss_scale_off/script"
                                   : unused          ? "loss_scale_off/unused"
                                                     : "loss_scale_off/disabled",
                                   scaler == nullptr ? *half : *scaler, {{"autocast", ScriptPlace(*half)}});
    if (scaler != nullptr) fault.evidence.push_back(half);
  }

  // A scale that nothing moves: an overflow stays one.
  void ScalerNotUpdated() {
    if (!flow_.whole() || flow_.Has("scaler_update")) return;
    const std::vector<const v1::ScriptFact*> scalers = flow_.OfKind("scaler");
    const std::vector<const v1::ScriptFact*> steps = flow_.OfKind("scaler_step");
    if (scalers.empty() || steps.empty()) return;
    const v1::ScriptFact& scaler = *scalers[0];
    const bool torch = scaler.framework() == "pytorch" && !IsFalse(FindScriptArgument(scaler, "enabled"));
    const bool in_loop = std::any_of(steps.begin(), steps.end(),
                                     [](const v1::ScriptFact* one) { return !one->loops().empty() && one->called(); });
    if (!torch || !in_loop) return;
    list_.Add(kLossScale, "scaler_not_updated", *steps[0], {{"scaler", ScriptPlace(scaler)}})
        .evidence.push_back(&scaler);
  }

  FaultList& list_;
  const ScriptFlow& flow_;
};

}  // namespace

void FindPrecisionFaults(FaultList& list) {
  PrecisionFaults(list).Run();
}

}  // namespace paritect
