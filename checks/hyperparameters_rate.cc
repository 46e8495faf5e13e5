// model.hyperparameters.learning-rate: base value, schedule, warm-up in steps, end value, scaling rule.
// Source: pre-tuning checklist, 模型超参; parts of the schedule are compared through what they make.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings_check.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr double kSame = 1e-9;
constexpr double kWarmupSlackSteps = 1;  // ratio x steps is rounded up by one library and down by another

bool Same(double a, double b) {
  return std::fabs(a - b) <= kSame * std::max(std::fabs(a), std::fabs(b));
}

v1::Finding* AddDifference(const CheckContext& context, v1::CheckResult& result, absl::string_view kind,
                           absl::string_view subject, const std::string& baseline, const std::string& migrated) {
  if (HasFinding(result, kind.substr(0, kind.find('/')), subject, baseline, migrated)) return nullptr;
  v1::Finding& finding = AddError(context, result, kind, subject,
                                  {{"key", std::string(subject)}, {"baseline", baseline}, {"migrated", migrated}});
  finding.set_baseline(baseline);
  finding.set_migrated(migrated);
  return &finding;
}

// False where the base value is not known on both sides.
bool CompareBase(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                 const SettingsView& migrated) {
  const EffectiveValue* a = baseline.Find("lr_base");
  const EffectiveValue* b = migrated.Find("lr_base");
  for (const SettingsView* view : {&baseline, &migrated}) {
    ReportNoNumbers(context, result, *view, {"schedule"});
    const EffectiveValue* one = view->Find("lr_base");
    if (one == nullptr) {
      AddMissing(context, result, "learning_rate_unknown", view->run_name(), {{"run", view->run_name()}});
    } else {
      AddConflicts(context, result, *view, "lr_base", one->value, one->disagreeing);
    }
  }
  const auto x = baseline.Number("lr_base");
  const auto y = migrated.Number("lr_base");
  if (a == nullptr || b == nullptr || !x || !y) return false;
  if (Same(*x, *y)) return true;
  if (v1::Finding* finding = AddDifference(context, result, "learning_rate_differs", "lr_base", ShowValue(a->value),
                                           ShowValue(b->value))) {
    SetFact(*finding, "baseline_value", *x);
    SetFact(*finding, "migrated_value", *y);
    if (*x != 0) SetFact(*finding, "ratio", *y / *x);
  }
  return true;
}

void CompareKey(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                const SettingsView& migrated, absl::string_view key) {
  const EffectiveValue* a = baseline.FindStated(key);
  const EffectiveValue* b = migrated.FindStated(key);
  const SettingKey* rule = context.rules.settings.FindKey(key);
  if (a == nullptr || b == nullptr || rule == nullptr || SameMeaning(rule->type, a->value.value, b->value.value))
    return;
  if (v1::Finding* finding =
          AddDifference(context, result, "schedule_differs", key, ShowValue(a->value), ShowValue(b->value))) {
    SetValueFact(*finding, "baseline_value", a->value.value);
    SetValueFact(*finding, "migrated_value", b->value.value);
  }
}

void CompareWarmup(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                   const SettingsView& migrated) {
  const Derived a = WarmupSteps(baseline);
  const Derived b = WarmupSteps(migrated);
  if (a.value && b.value) {
    if (std::fabs(*a.value - *b.value) <= kWarmupSlackSteps) return;
    if (v1::Finding* finding =
            AddDifference(context, result, "warmup_differs", "warmup", FormatShort(*a.value), FormatShort(*b.value))) {
      SetFact(*finding, "baseline_steps", *a.value);
      SetFact(*finding, "migrated_steps", *b.value);
      finding->add_evidence(absl::StrJoin(a.evidence, "; "));
      finding->add_evidence(absl::StrJoin(b.evidence, "; "));
    }
    return;
  }
  // Not to be turned into steps: the same unit on both sides can still be compared.
  for (absl::string_view key : {"warmup_epochs", "warmup_ratio", "warmup_samples"}) {
    const EffectiveValue* x = baseline.FindStated(key);
    const EffectiveValue* y = migrated.FindStated(key);
    if (x == nullptr || y == nullptr) continue;
    if (SameMeaning(SettingType::kNumber, x->value.value, y->value.value)) return;
    if (v1::Finding* finding =
            AddDifference(context, result, "warmup_differs/unit", "warmup", ShowValue(x->value), ShowValue(y->value))) {
      SetValueFact(*finding, "baseline_value", x->value.value);
      SetValueFact(*finding, "migrated_value", y->value.value);
    }
    return;
  }
  const bool a_states = !a.value && a.lacking != std::vector<std::string>{"warmup_steps"};
  const bool b_states = !b.value && b.lacking != std::vector<std::string>{"warmup_steps"};
  if (a.value.has_value() || b.value.has_value() || a_states || b_states) {
    const SettingsView& view = a.value ? migrated : baseline;
    AddMissing(context, result, "warmup_unknown", view.run_name(), {{"run", view.run_name()}});
  }
}

void CompareScaling(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                    const SettingsView& migrated) {
  const Derived a = GlobalBatch(baseline);
  const Derived b = GlobalBatch(migrated);
  const auto x = baseline.Number("lr_base");
  const auto y = migrated.Number("lr_base");
  if (!a.value || !b.value || !x || !y || *x == 0 || *a.value == 0 || Same(*a.value, *b.value)) return;
  const double batch_ratio = *b.value / *a.value;
  const double rate_ratio = *y / *x;
  if (std::fabs(rate_ratio - batch_ratio) > 1e-6 * batch_ratio) return;
  v1::Finding& note = AddNote(context, result, "linear_scaling", "lr_base", {{"ratio", FormatShort(batch_ratio)}});
  SetFact(note, "ratio", batch_ratio);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  ComparePairs(context, result, [&](const SettingsView& baseline, const SettingsView& migrated) {
    const bool known = CompareBase(context, result, baseline, migrated);
    for (absl::string_view key : {"lr_style", "lr_min", "lr_decay_power", "warmup_init"}) {
      CompareKey(context, result, baseline, migrated, key);
    }
    CompareWarmup(context, result, baseline, migrated);
    CompareScaling(context, result, baseline, migrated);
    if (known) {
      AddNote(context, result, "measured/learning_rate", migrated.run_name(),
              {{"value", FormatShort(*migrated.Number("lr_base"))}});
    }
  });
}

}  // namespace

extern const Check kHyperparametersRate;
const Check kHyperparametersRate = {"model.hyperparameters.learning-rate", {}, &Evaluate};

}  // namespace paritect
