// migrated.mixed-precision.precision-mode: is the precision mode what the product needs?
// Source: pre-tuning checklist, 在NPU上正确使能混合精度: Ascend 950, Atlas A3, Atlas A2: precision_mode_v2 origin;
// Atlas training series: precision_mode allow_fp32_to_fp16; never both options. PyTorch has ACL_PRECISION_MODE,
// MindSpore precision_mode, both in the words of the first option (GE documentation).
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings/compare.h"
#include "checks/settings/platform.h"

namespace paritect {
namespace {

using absl::StrCat;

class Judge {
 public:
  Judge(const CheckContext& context, v1::CheckResult& result, const SettingsView& view, const Platform& platform)
      : context_(context), result_(result), view_(view), family_(*platform.family), platform_(platform) {}

  void Run() {
    ByTheWay();
    bool untold = false;
    for (const char* option : {"precision_mode", "precision_mode_v2", "accelerate_train_mode"})
      untold = ReportUntold(context_, result_, view_, option) || untold;
    const EffectiveValue* v1 = view_.FindStated("precision_mode");
    const EffectiveValue* v2 = view_.FindStated("precision_mode_v2");
    for (const EffectiveValue* one : {v1, v2}) {
      if (one != nullptr) AddConflicts(context_, result_, view_, one->value.raw_key, one->value, one->disagreeing);
    }
    if (v1 != nullptr && v2 != nullptr) {
      v1::Finding& finding = AddError(context_, result_, "options_conflict", "precision_mode",
                                      {{"value", v1->value.text}, {"value_v2", v2->value.text}});
      finding.set_migrated(StrCat(ShowValue(v1->value), "; ", ShowValue(v2->value)));
      return;
    }
    if (v1 != nullptr) return Stated("precision_mode", v1->value);
    if (v2 != nullptr) return Stated("precision_mode_v2", v2->value);
    if (!untold) Unset();
  }

 private:
  // Options beside the mode that lower the precision of a part of the training.
  void ByTheWay() {
    const EffectiveValue* share = view_.FindStated("accelerate_train_mode");
    if (share != nullptr && !ValueToText(share->value.value).empty()) {
      v1::Finding& finding = AddError(context_, result_, "low_precision_share", "experimental_accelerate_train_mode",
                                      {{"value", share->value.text}});
      finding.set_migrated(ShowValue(share->value));
      finding.add_evidence(share->value.origin);
    }
    const EffectiveValue* reduced = view_.FindStated("enable_reduce_precision");
    if (reduced != nullptr && view_.Boolean("enable_reduce_precision").value_or(false)) {
      v1::Finding& finding = AddWarning(context_, result_, "reduce_precision_on", reduced->value.raw_key);
      finding.set_migrated(ShowValue(reduced->value));
      finding.add_evidence(reduced->value.origin);
    }
  }

  void Stated(const std::string& option, const SourcedValue& value) {
    const std::string text = ValueToText(value.value);
    const PrecisionValue* known = context_.rules.products.FindPrecisionValue(option, text);
    MessageArgs args = {{"option", option},
                        {"value", text},
                        {"product", family_.name},
                        {"needed", StrCat(family_.precision_option, "=", family_.precision_value)}};
    v1::Finding* finding = nullptr;
    if (known == nullptr) {
      finding = &AddError(context_, result_, "unknown_value", option, args);
    } else if (option == family_.precision_option && text == family_.precision_value) {
      finding = &AddNote(context_, result_, "measured/precision_mode", option, args);
    } else if (option != family_.precision_option && known->same_as == family_.precision_value) {
      finding = &AddNote(context_, result_, "old_name", option, args);
    } else {
      finding = &AddError(context_, result_, "precision_mode_wrong", option, args);
    }
    finding->set_migrated(ShowValue(value));
    finding->add_evidence(value.origin);
    finding->add_evidence(platform_.evidence);
  }

  // Nothing set in what was read: the default counts, where it is known and nothing else could have set it.
  void Unset() {
    // A dump of the session's configuration shows what the script set.
    const bool dumped = view_.framework() == "tensorflow" && view_.HasFormat("session-config");
    if (!dumped && ReportUnreadScripts(context_, result_, view_, "precision_mode, precision_mode_v2")) return;
    if (view_.framework().empty()) {
      AddMissing(context_, result_, "framework_unknown", view_.run_name());
      return;
    }
    const bool tensorflow = view_.framework() == "tensorflow";
    if (tensorflow && !view_.HasFormat("session-config")) {
      AddMissing(context_, result_, "session_config_needed", view_.run_name());
      return;
    }
    for (const char* option : {"precision_mode_v2", "precision_mode"}) {
      const EffectiveValue* found = view_.Find(option);
      if (found == nullptr) continue;
      const std::string text = ValueToText(found->value.value);
      const PrecisionValue* known = context_.rules.products.FindPrecisionValue(option, text);
      const bool right =
          (option == family_.precision_option && text == family_.precision_value) ||
          (known != nullptr && option != family_.precision_option && known->same_as == family_.precision_value);
      const MessageArgs args = {{"option", option},
                                {"value", text},
                                {"product", family_.name},
                                {"default", found->value.origin},
                                {"needed", StrCat(family_.precision_option, "=", family_.precision_value)}};
      v1::Finding& finding = right ? AddNote(context_, result_, "default_in_effect", option, args)
                                   : AddError(context_, result_, "precision_mode_wrong/default", option, args);
      finding.set_migrated(ShowValue(found->value));
      finding.add_evidence(platform_.evidence);
      return;
    }
    AddMissing(context_, result_, "precision_default_unknown", view_.run_name(),
               {{"framework", view_.framework()}, {"product", family_.name}});
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const SettingsView& view_;
  const ProductFamily& family_;
  const Platform& platform_;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  RequireSettings(context, result, Side::kMigrated);
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    const Platform platform = PlatformOf(context.rules, run);
    if (!RequireTrainingNpu(context, result, run, platform)) continue;
    if (platform.family->precision_option.empty()) {
      AddMissing(context, result, "no_training_npu", run.name,
                 {{"product", platform.family->name}, {"evidence", platform.evidence}});
      continue;
    }
    const SettingsView& view = SettingsView::Of(context, Side::kMigrated, run);
    if (!view.empty()) Judge(context, result, view, platform).Run();
  }
}

}  // namespace

extern const Check kPrecisionMode;
const Check kPrecisionMode = {"migrated.mixed-precision.precision-mode", {}, &Evaluate};

}  // namespace paritect
