// model.hyperparameters.global-batch: per-device batch x accumulation x data-parallel size (not device count).
// Source: pre-tuning checklist, 模型超参; MindFormers' own product has micro batches as a factor.
#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/detail.h"
#include "checks/settings/compare.h"
#include "checks/settings/derived.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr double kSame = 1e-9;

void ReportUnknown(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                   const Derived& batch) {
  AddMissing(context, result, "global_batch_unknown", view.run_name(), {{"keys", absl::StrJoin(batch.lacking, ", ")}});
}

// Batch and learning rate grew by one factor: a decision somebody may have taken.
void AddScalingNote(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                    const SettingsView& migrated, double ratio) {
  const auto a = baseline.Number("lr_base");
  const auto b = migrated.Number("lr_base");
  if (!a || !b || *a == 0 || std::fabs(*b / *a - ratio) > 1e-6 * ratio || std::fabs(ratio - 1) < kSame) return;
  v1::Finding& note = AddNote(context, result, "linear_scaling", "global_batch_size", {{"ratio", FormatShort(ratio)}});
  SetFact(note, "ratio", ratio);
}

// A batch that grows at the start reaches the same size on another way.
void CompareRampUp(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                   const SettingsView& migrated) {
  const EffectiveValue* a = baseline.Find("rampup_batch_size");
  const EffectiveValue* b = migrated.Find("rampup_batch_size");
  if (a == nullptr || b == nullptr || SameMeaning(SettingType::kText, a->value.value, b->value.value)) return;
  const std::string shown_a = ShowValue(a->value);
  const std::string shown_b = ShowValue(b->value);
  if (HasFinding(result, "global_batch_differs", "rampup_batch_size", shown_a, shown_b)) return;
  v1::Finding& finding = AddError(context, result, "global_batch_differs/ramp_up", "rampup_batch_size",
                                  {{"baseline", shown_a}, {"migrated", shown_b}});
  finding.set_baseline(shown_a);
  finding.set_migrated(shown_b);
}

// Both sides state nothing but a batch of unknown meaning, under one framework and with the same accumulation: what it
// makes in either meaning, the batch of all ranks first. Empty where they do not.
std::vector<std::pair<double, double>> EitherMeaning(const SettingsView& baseline, const SettingsView& migrated) {
  const auto x = baseline.Number("batch_size");
  const auto y = migrated.Number("batch_size");
  if (!x || !y || baseline.framework() != migrated.framework()) return {};
  for (const SettingsView* view : {&baseline, &migrated}) {
    if (view->Untold("gradient_accumulation_steps") != nullptr) return {};
  }
  if (baseline.Number("gradient_accumulation_steps") != migrated.Number("gradient_accumulation_steps")) return {};
  const Derived ranks[] = {DataParallelSize(baseline), DataParallelSize(migrated)};
  if (!ranks[0].value || !ranks[1].value) return {};
  return {{*x, *y}, {*x * *ranks[0].value, *y * *ranks[1].value}};
}

// The batch is not known on either side, and may still be told to be the same or another. False where it cannot.
bool CompareMeanings(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                     const SettingsView& migrated) {
  const auto same = [](const std::pair<double, double>& one) {
    return std::fabs(one.first - one.second) <= kSame * std::fabs(one.first);
  };
  const auto batches = EitherMeaning(baseline, migrated);
  if (batches.empty()) return false;
  if (same(batches[0]) != same(batches[1])) {
    for (const SettingsView* view : {&baseline, &migrated}) {
      const SourcedValue& value = view->FindStated("batch_size")->value;
      AddMissing(context, result, "batch_meaning_unknown", view->run_name(),
                 {{"values", absl::StrCat(value.shown_key(), "=", ShowValue(value))}});
    }
    return true;
  }
  const SourcedValue& a = baseline.FindStated("batch_size")->value;
  const SourcedValue& b = migrated.FindStated("batch_size")->value;
  if (!same(batches[0]) && HasFinding(result, "global_batch_differs", "batch_size", ShowValue(a), ShowValue(b)))
    return true;
  v1::Finding& finding =
      same(batches[0])
          ? AddNote(context, result, "measured/global_batch", migrated.run_name(),
                    {{"batch", absl::StrCat(a.shown_key(), " ", FormatDouble(batches[0].first))}})
          : AddError(context, result, "global_batch_differs", "batch_size",
                     {{"baseline", FormatDouble(batches[0].first)}, {"migrated", FormatDouble(batches[0].second)}});
  finding.set_baseline(ShowValue(a));
  finding.set_migrated(ShowValue(b));
  SetFact(finding, "baseline_batch", batches[0].first);
  SetFact(finding, "migrated_batch", batches[0].second);
  return true;
}

void Compare(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
             const SettingsView& migrated) {
  const Derived a = GlobalBatch(baseline);
  const Derived b = GlobalBatch(migrated);
  const Derived* both[] = {&a, &b};
  const SettingsView* views[] = {&baseline, &migrated};
  if (!a.value && !b.value && CompareMeanings(context, result, baseline, migrated)) return;
  for (int i = 0; i < 2; ++i) {
    AddPartConflicts(context, result, *views[i], both[i]->part_conflicts);
    ReportNoNumbers(context, result, *views[i], {"batch", "parallel"});
    for (const char* part : {"global_batch_size", "micro_batch_size", "gradient_accumulation_steps"}) {
      const EffectiveValue* one = views[i]->FindStated(part);
      if (one != nullptr) AddOverridden(context, result, *views[i], part, one->value, one->overridden);
    }
    if (!both[i]->value) {
      ReportUnknown(context, result, *views[i], *both[i]);
      continue;
    }
    SourcedValue own;
    own.value.set_number(*both[i]->value);
    own.text = both[i]->text;
    own.origin = absl::StrJoin(both[i]->evidence, "; ");
    AddConflicts(context, result, *views[i], "global_batch_size", own, both[i]->disagreeing);
  }
  if (!a.value || !b.value) return;
  const bool same = std::fabs(*a.value - *b.value) <= kSame * std::fabs(*a.value);
  if (!same && HasFinding(result, "global_batch_differs", "global_batch_size", a.text, b.text)) return;
  v1::Finding& finding =
      same ? AddNote(context, result, "measured/global_batch", migrated.run_name(), {{"batch", FormatDouble(*a.value)}})
           : AddError(context, result, "global_batch_differs", "global_batch_size",
                      {{"baseline", FormatDouble(*a.value)}, {"migrated", FormatDouble(*b.value)}});
  finding.set_baseline(a.text);
  finding.set_migrated(b.text);
  SetFact(finding, "baseline_global_batch", *a.value);
  SetFact(finding, "migrated_global_batch", *b.value);
  SetFact(finding, "ratio", *b.value / *a.value);
  for (const Derived* one : both) {
    for (const std::string& evidence : one->evidence) finding.add_evidence(evidence);
  }
  const Derived steps_a = TotalSteps(baseline);
  const Derived steps_b = TotalSteps(migrated);
  if (steps_a.value) SetFact(finding, "baseline_steps", *steps_a.value);
  if (steps_b.value) SetFact(finding, "migrated_steps", *steps_b.value);
  if (!same) AddScalingNote(context, result, baseline, migrated, *b.value / *a.value);
}

// The batch that the code gives what feeds the training, where it gives one and tells it.
struct LoaderBatch {
  const v1::ScriptFact* fact = nullptr;
  std::string shown;
  std::optional<double> number;
};

std::optional<LoaderBatch> LoaderBatchOf(const SettingsView& view) {
  std::optional<LoaderBatch> found;
  for (absl::string_view kind : {"loader", "batch"}) {
    for (const v1::ScriptFact* fact : view.flow().OfKind(kind)) {
      const v1::ScriptArgument* size = FindScriptArgument(*fact, "batch_size");
      if (size == nullptr || size->is_default() || !fact->called() || fact->use() != "training") continue;
      const bool known = view.flow().Knows(*size);
      LoaderBatch one = {fact, known ? ShowScriptValue(*size) : size->symbol(), std::nullopt};
      if (known) one.number = ParseDouble(one.shown);
      if (found && found->shown != one.shown) return std::nullopt;
      found = std::move(one);
    }
  }
  return found;
}

// The batch that settings state and that the code does not use as it is: `batch_size=2 * args.batch_size`.
void CompareLoaders(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                    const SettingsView& migrated) {
  if (baseline.flow().framework() != migrated.flow().framework()) return;
  const std::optional<LoaderBatch> a = LoaderBatchOf(baseline);
  const std::optional<LoaderBatch> b = LoaderBatchOf(migrated);
  if (!a || !b) return;
  const bool told = a->number && b->number && *a->number > 0;
  if (!told && a->shown == b->shown && !absl::StrContains(a->shown, '?')) return;
  for (absl::string_view key : {"micro_batch_size", "batch_size", "global_batch_size"}) {
    const auto x = baseline.Number(key);
    const auto y = migrated.Number(key);
    if (!x || !y || *x <= 0) continue;
    const double code = told ? *b->number / *a->number : 0;
    if (told && std::fabs(code - *y / *x) <= kSame * code) return;
    AddMissing(context, result, "script_code_apart", migrated.run_name(),
               {{"baseline", absl::StrCat("batch_size=", a->shown, " (", ScriptPlace(*a->fact), ")")},
                {"migrated", absl::StrCat("batch_size=", b->shown, " (", ScriptPlace(*b->fact), ")")}});
    return;
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  ComparePairs(
      context, result,
      [&](const SettingsView& baseline, const SettingsView& migrated) {
        Compare(context, result, baseline, migrated);
        CompareRampUp(context, result, baseline, migrated);
        CompareLoaders(context, result, baseline, migrated);
      },
      "global_batch_size");
}

}  // namespace

extern const Check kHyperparametersBatch;
const Check kHyperparametersBatch = {"model.hyperparameters.global-batch", {}, &Evaluate};

}  // namespace paritect
