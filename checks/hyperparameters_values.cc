// model.hyperparameters.values: are all recognised hyperparameters equal by effective value?
// Parts of a derived quantity (batch, parallel sizes, schedule) are compared through the quantity only, in
// .global-batch and .learning-rate. Source: pre-tuning checklist, 模型超参.
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings_check.h"
#include "common/glob.h"

namespace paritect {
namespace {

bool Ignored(const Profile& profile, const SettingKey& key, const EffectiveValue* a, const EffectiveValue* b) {
  for (const std::string& pattern : profile.ignore_keys) {
    if (GlobMatch(pattern, key.key)) return true;
    if (a != nullptr && GlobMatch(pattern, a->value.raw_key)) return true;
    if (b != nullptr && GlobMatch(pattern, b->value.raw_key)) return true;
  }
  return false;
}

void AddDifference(const CheckContext& context, v1::CheckResult& result, const SettingKey& key, const SourcedValue& a,
                   const SourcedValue& b) {
  const std::string baseline = ShowValue(a);
  const std::string migrated = ShowValue(b);
  if (HasFinding(result, "value_differs", key.key, baseline, migrated)) return;
  v1::Finding& finding =
      AddError(context, result, "value_differs", key.key,
               {{"key", key.key}, {"baseline", ValueToText(a.value)}, {"migrated", ValueToText(b.value)}});
  finding.set_baseline(baseline);
  finding.set_migrated(migrated);
  SetValueFact(finding, "baseline_value", a.value);
  SetValueFact(finding, "migrated_value", b.value);
  finding.add_evidence(a.origin);
  finding.add_evidence(b.origin);
}

void CompareValues(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                   const SettingsView& migrated) {
  int compared = 0;
  std::vector<std::string> one_sided;
  bool common_elsewhere = false;  // schedule and length are compared by .learning-rate and the curves
  for (const auto& [name, key] : context.rules.settings.keys()) {
    if (!key.compared) {
      const bool judged = key.group == "schedule" || key.group == "length";
      common_elsewhere =
          common_elsewhere || (judged && baseline.FindStated(name) != nullptr && migrated.FindStated(name) != nullptr);
      continue;
    }
    const EffectiveValue* a = baseline.Find(name);
    const EffectiveValue* b = migrated.Find(name);
    if ((a == nullptr && b == nullptr) || Ignored(context.profile, key, a, b)) continue;
    for (const SettingsView* view : {&baseline, &migrated}) {
      const EffectiveValue* one = view->Find(name);
      if (one != nullptr) AddConflicts(context, result, *view, name, one->value, one->disagreeing);
    }
    if (a == nullptr || b == nullptr) {
      one_sided.push_back(absl::StrCat(name, "=", ValueToText((a != nullptr ? a : b)->value.value), " (",
                                       (a != nullptr ? a : b)->value.origin, ")"));
      continue;
    }
    ++compared;
    if (!SameMeaning(key.type, a->value.value, b->value.value)) AddDifference(context, result, key, a->value, b->value);
  }
  if (compared == 0 && !common_elsewhere) {
    AddMissing(context, result, "no_common_settings", migrated.run_name(), {{"run", migrated.run_name()}});
    return;
  }
  if (!one_sided.empty()) {
    AddNote(context, result, "only_on_one_side", migrated.run_name(), {{"keys", absl::StrJoin(one_sided, ", ")}});
  }
  v1::Finding& note =
      AddNote(context, result, "measured/settings", migrated.run_name(), {{"count", absl::StrCat(compared)}});
  SetFact(note, "compared", compared);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  ComparePairs(context, result, [&](const SettingsView& baseline, const SettingsView& migrated) {
    CompareValues(context, result, baseline, migrated);
  });
}

}  // namespace

extern const Check kHyperparametersValues;
const Check kHyperparametersValues = {"model.hyperparameters.values", {}, &Evaluate};

}  // namespace paritect
