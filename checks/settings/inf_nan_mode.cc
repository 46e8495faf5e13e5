// migrated.mixed-precision.inf-nan: INF/NaN mode is on where the product has it (Atlas A2, A3: on unless switched off);
// Atlas training series has saturation only, Ascend 950 INF/NaN only, and the variables change nothing there.
// Source: torch_npu, INF_NAN_MODE_ENABLE and INF_NAN_MODE_FORCE_DISABLE; MindSpore, MS_ASCEND_CHECK_OVERFLOW_MODE.
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings/compare.h"
#include "checks/settings/platform.h"

namespace paritect {
namespace {

constexpr const char* kVariables[] = {"INF_NAN_MODE_ENABLE", "INF_NAN_MODE_FORCE_DISABLE",
                                      "MS_ASCEND_CHECK_OVERFLOW_MODE"};

const VariableOnNode* On(const SettingsView& view, const char* name, const std::string& node) {
  auto it = view.variables().find(name);
  if (it == view.variables().end()) return nullptr;
  for (const VariableOnNode& one : it->second) {
    if (one.node == node) return &one;
  }
  return nullptr;
}

bool Is(const VariableOnNode* variable, absl::string_view value) {
  return variable != nullptr && absl::AsciiStrToLower(variable->text) == value;
}

bool HasEnvironment(const v1::Bundle& bundle) {
  for (const v1::Evidence& evidence : bundle.evidence()) {
    if (evidence.has_settings() &&
        (evidence.settings().format() == "environment" || evidence.settings().format() == "msprobe-config-check")) {
      return true;
    }
  }
  return false;
}

void JudgeNode(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
               const ProductFamily& family, const v1::Bundle& bundle) {
  const std::string& node = bundle.plan().node();
  std::vector<std::string> set;
  for (const char* name : kVariables) {
    if (const VariableOnNode* one = On(view, name, node))
      set.push_back(absl::StrCat(name, "=", one->text, " (", one->origin, ")"));
  }
  const MessageArgs args = {{"node", node}, {"variables", absl::StrJoin(set, ", ")}, {"product", family.name}};
  if (family.overflow != OverflowMode::kInfNanDefault) {
    if (!set.empty()) AddNote(context, result, "no_effect_on_product", node, args);
    return;
  }
  const bool disabled = Is(On(view, kVariables[0], node), "0");
  const bool forced = Is(On(view, kVariables[1], node), "1");
  const bool saturates = forced || Is(On(view, kVariables[2], node), "saturation_mode");
  if (saturates) {
    v1::Finding& finding = AddError(context, result, "saturation_mode", node, args);
    finding.set_migrated(absl::StrJoin(set, ", "));
    // Order-preserving reduction works in INF/NaN mode only.
    if (Is(On(view, "HCCL_DETERMINISTIC", node), "strict"))
      AddError(context, result, "strict_with_saturation", node, args);
  } else if (disabled) {
    AddWarning(context, result, "saturation_mode/refused", node, args).set_migrated(absl::StrJoin(set, ", "));
  }
  // The saturation mode can be asked for in a script too, by variable or by call (set_device_sat_mode).
  ReportUnreadScripts(context, result, view, "INF_NAN_MODE_FORCE_DISABLE, set_device_sat_mode");
  if (!saturates && !disabled) AddNote(context, result, "measured/inf_nan", node, args);
  for (const char* name : kVariables) {
    const VariableOnNode* one = On(view, name, node);
    if (one != nullptr && one->untold)
      AddMissing(context, result, "value_not_told", node,
                 {{"key", name}, {"value", one->text}, {"origin", one->origin}});
  }
  if (!HasEnvironment(bundle)) AddMissing(context, result, "environment_unknown", node, {{"node", node}});
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  RequireSettings(context, result, Side::kMigrated);
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    const Platform platform = PlatformOf(context.rules, run);
    if (!RequireTrainingNpu(context, result, run, platform)) continue;
    if (platform.family->overflow == OverflowMode::kUnknown) {
      AddMissing(context, result, "overflow_mode_unknown", run.name, {{"product", platform.family->name}});
      continue;
    }
    const SettingsView& view = SettingsView::Of(context, Side::kMigrated, run);
    for (const v1::Bundle* bundle : run.nodes) JudgeNode(context, result, view, *platform.family, *bundle);
  }
}

}  // namespace

extern const Check kInfNanMode;
const Check kInfNanMode = {"migrated.mixed-precision.inf-nan", {}, &Evaluate};

}  // namespace paritect
