// migrated.mixed-precision.level: does MindSpore's amp level fit Ascend? O3 is what MindSpore advises there (auto takes
// it), O2 what it advises on GPUs, O0 is no mixed precision at all. Source: MindSpore API, mindspore.train.Model.
#include "absl/strings/str_cat.h"
#include "checks/settings/compare.h"

namespace paritect {
namespace {

void JudgeLevel(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                const EffectiveValue& level) {
  const std::string shown = absl::StrCat(level.value.shown_key(), "=", ShowValue(level.value));
  const std::string word = ValueToText(level.value.value);
  const MessageArgs args = {{"level", shown}};
  v1::Finding* finding = nullptr;
  if (word == "o0") {
    finding = &AddError(context, result, "level_off", view.run_name(), args);
  } else if (word == "o2") {
    finding = &AddWarning(context, result, "level_of_gpu", view.run_name(), args);
  } else if (word == "o3" || word == "o1" || word == "auto") {
    finding = &AddNote(context, result, "measured/level", view.run_name(), args);
  } else {
    finding = &AddError(context, result, "unknown_level", view.run_name(), args);
  }
  finding->set_migrated(shown);
  AddConflicts(context, result, view, "amp_level", level.value, level.disagreeing);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const SettingsView& view : RequireSettings(context, result, Side::kMigrated)) {
    if (view.framework().empty()) {
      AddMissing(context, result, "framework_unknown", view.run_name());
    } else if (view.framework() != "mindspore") {
      AddNote(context, result, "not_applicable", view.run_name(), {{"why", view.framework()}});
    } else if (const EffectiveValue* level = view.FindStated("amp_level")) {
      JudgeLevel(context, result, view, *level);
    } else if (view.HasFormat("mindformers-yaml")) {
      AddNote(context, result, "not_applicable", view.run_name(), {{"why", "mindformers: compute_dtype"}});
    } else {
      AddMissing(context, result, "mechanism_in_script", view.run_name());
    }
  }
}

}  // namespace

extern const Check kAmpLevel;
const Check kAmpLevel = {"migrated.mixed-precision.level", {}, &Evaluate};

}  // namespace paritect
