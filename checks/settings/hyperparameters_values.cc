// model.hyperparameters.values: are all recognised hyperparameters equal by effective value?
// Parts of a derived quantity (batch, parallel sizes, schedule) are compared through the quantity only, in
// .global-batch and .learning-rate. Source: pre-tuning checklist, 模型超参.
#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/network.h"
#include "checks/settings/compare.h"
#include "checks/settings/derived.h"
#include "checks/settings/diff.h"
#include "checks/settings/made_by_scripts.h"
#include "checks/settings/unknown_keys.h"
#include "checks/settings/view.h"
#include "common/numbers.h"
#include "rules/argument_words.h"

namespace paritect {
namespace {

bool Ignored(const Profile& profile, const SettingKey& key, const EffectiveValue* a, const EffectiveValue* b) {
  return (a != nullptr && IsIgnoredKey(profile, key.key, a->value.raw_key)) ||
         (b != nullptr && IsIgnoredKey(profile, key.key, b->value.raw_key));
}

// Whether the baseline's own runs have several values: repeats change their seeds on purpose.
bool VariesInBaseline(const CheckContext& context, const SettingKey& key) {
  std::set<std::string> values;
  for (const SettingsView& view : ViewsOf(context, Side::kBaseline)) {
    if (const EffectiveValue* found = view.Find(key.key)) values.insert(ValueToText(found->value.value));
  }
  return values.size() > 1;
}

void AddDifference(const CheckContext& context, v1::CheckResult& result, const SettingKey& key, const SourcedValue& a,
                   const SourcedValue& b) {
  const std::string baseline = ShowValue(a);
  const std::string migrated = ShowValue(b);
  if (HasFinding(result, "value_differs", key.key, baseline, migrated)) return;
  const bool on_purpose = key.group == "seed" && VariesInBaseline(context, key);
  v1::Finding& finding =
      AddFinding(context, result, on_purpose ? v1::SEVERITY_NOTE : v1::SEVERITY_ERROR,
                 on_purpose ? "value_differs/seed" : "value_differs", key.key,
                 {{"key", key.key}, {"baseline", ValueToText(a.value)}, {"migrated", ValueToText(b.value)}});
  finding.set_baseline(baseline);
  finding.set_migrated(migrated);
  SetValueFact(finding, "baseline_value", a.value);
  SetValueFact(finding, "migrated_value", b.value);
  finding.add_evidence(a.origin);
  finding.add_evidence(b.origin);
}

// "decoupled", "l2" or "" where it is not known.
std::string DecayForm(const SettingsView& view) {
  const std::string form = view.Text("weight_decay_form").value_or("");
  return form == "decoupled" || form == "l2" ? form : "";
}

// Adam by two rules: the decay on the weights (AdamW) or added to the gradient (L2). "adam" names either of them, by
// library (defaults.yaml); without decay they are one.
void CompareDecayForm(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                      const SettingsView& migrated) {
  if (baseline.Text("optimizer") != "adam" || migrated.Text("optimizer") != "adam") return;
  if (baseline.Number("weight_decay").value_or(0) == 0 && migrated.Number("weight_decay").value_or(0) == 0) return;
  const std::string a = DecayForm(baseline);
  const std::string b = DecayForm(migrated);
  if (a == b) return;
  const SourcedValue& x = baseline.Find("optimizer")->value;
  const SourcedValue& y = migrated.Find("optimizer")->value;
  if (a.empty() || b.empty()) {
    if (x.text == y.text && baseline.framework() == migrated.framework()) return;
    const SettingsView& view = a.empty() ? baseline : migrated;
    AddMissing(context, result, "decay_form_unknown", view.run_name(), {{"optimizer", ShowValue(a.empty() ? x : y)}});
    return;
  }
  const std::string shown_a = absl::StrCat(ShowValue(x), ": ", a);
  const std::string shown_b = absl::StrCat(ShowValue(y), ": ", b);
  if (HasFinding(result, "value_differs", "weight_decay_form", shown_a, shown_b)) return;
  v1::Finding& finding = AddError(context, result, "value_differs/decay_form", "weight_decay_form",
                                  {{"baseline", shown_a}, {"migrated", shown_b}});
  finding.set_baseline(shown_a);
  finding.set_migrated(shown_b);
  SetFact(finding, "baseline_value", a);
  SetFact(finding, "migrated_value", b);
  for (const SettingsView* view : {&baseline, &migrated}) {
    finding.add_evidence(view->Find("weight_decay_form")->value.origin);
  }
}

// Training length in samples, so that another batch with as many fewer steps is no other length; epochs where the
// steps are not known. False where neither can be compared; equal steps of unknown batches are, unequal ones are not.
bool CompareLength(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                   const SettingsView& migrated) {
  const Derived steps[] = {TotalSteps(baseline), TotalSteps(migrated)};
  const Derived batch[] = {GlobalBatch(baseline), GlobalBatch(migrated)};
  const auto& keys = context.rules.settings.keys();
  const auto epochs = keys.find("train_epochs");
  if (!steps[0].value || !steps[1].value) {
    const EffectiveValue* a = baseline.FindStated("train_epochs");
    const EffectiveValue* b = migrated.FindStated("train_epochs");
    if (a == nullptr || b == nullptr || epochs == keys.end()) return false;
    const SettingKey& key = epochs->second;
    if (Ignored(context.profile, key, a, b) || SameMeaning(key.type, a->value.value, b->value.value)) return true;
    AddDifference(context, result, key, a->value, b->value);
    return true;
  }
  if (!batch[0].value || !batch[1].value) return *steps[0].value == *steps[1].value;
  const double samples[] = {*steps[0].value * *batch[0].value, *steps[1].value * *batch[1].value};
  if (std::fabs(samples[1] - samples[0]) <= context.profile.threshold("finished_tolerance") * samples[0]) return true;
  const std::string shown[] = {absl::StrCat(steps[0].text, " x ", FormatDouble(*batch[0].value)),
                               absl::StrCat(steps[1].text, " x ", FormatDouble(*batch[1].value))};
  if (HasFinding(result, "value_differs", "training length", shown[0], shown[1])) return true;
  v1::Finding& finding = AddError(context, result, "value_differs/length", "training length",
                                  {{"baseline", FormatDouble(samples[0])}, {"migrated", FormatDouble(samples[1])}});
  finding.set_baseline(shown[0]);
  finding.set_migrated(shown[1]);
  SetFact(finding, "baseline_value", samples[0]);
  SetFact(finding, "migrated_value", samples[1]);
  SetFact(finding, "ratio", samples[1] / samples[0]);
  for (const Derived& one : steps) {
    for (const std::string& evidence : one.evidence) finding.add_evidence(evidence);
  }
  return true;
}

// A length that both sides state in one measure and that cannot be compared all the same (other steps of batches that
// are not known), or that a source sets to what it does not tell. Epochs on one side and steps on the other are left to
// the curves.
void ReportLength(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                  const SettingsView& migrated) {
  for (absl::string_view key : {"train_steps", "train_epochs", "train_samples"}) {
    const bool both = baseline.FindStated(key) != nullptr && migrated.FindStated(key) != nullptr;
    for (const SettingsView* view : {&baseline, &migrated}) {
      if (!both && view->Untold(key) == nullptr) continue;
      AddMissing(context, result, "training_length_unknown", view->run_name(),
                 {{"key", std::string(key)}, {"run", view->run_name()}});
    }
  }
}

constexpr int kUnknownShown = 20;

bool SameUnknown(const SourcedValue& a, const SourcedValue& b) {
  return SameMeaning(SettingType::kText, a.value, b.value) || SameMeaning(SettingType::kBoolean, a.value, b.value);
}

void WarnOfUnknown(const CheckContext& context, v1::CheckResult& result, const UnknownDifference& one) {
  const SourcedValue& a = *one.baseline;
  const SourcedValue& b = *one.migrated;
  if (HasFinding(result, "unknown_key_differs", one.name, ShowValue(a), ShowValue(b))) return;
  v1::Finding& finding = AddWarning(context, result, "unknown_key_differs", one.name,
                                    {{"key", a.raw_key}, {"baseline", a.text}, {"migrated", b.text}});
  finding.set_baseline(ShowValue(a));
  finding.set_migrated(ShowValue(b));
  finding.add_evidence(a.origin);
  finding.add_evidence(b.origin);
}

// Keys that one side alone has, although the other side's file is of the same kind: one warning that names them.
void WarnOfOneSided(const CheckContext& context, v1::CheckResult& result, const SettingsView& migrated,
                    const std::vector<std::string>& keys, Side side) {
  if (keys.empty()) return;
  const std::size_t shown = std::min(keys.size(), static_cast<std::size_t>(kUnknownShown));
  v1::Finding& finding =
      AddWarning(context, result, "unknown_key_one_sided", absl::StrCat(SideName(side), ": ", migrated.run_name()),
                 {{"side", std::string(SideName(side))},
                  {"count", absl::StrCat(keys.size())},
                  {"keys", absl::StrJoin(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(shown), ", ")}});
  SetFact(finding, "count", static_cast<std::int64_t>(keys.size()));
}

// Arguments that no canonical key claims. Nobody knows what they do: a difference in one whose name speaks of numbers
// keeps the check from passing, in another it is a warning, and those of places and devices are only counted.
void CompareUnknown(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                    const SettingsView& migrated) {
  const UnknownKeys keys = CompareUnknownKeys(context, baseline, migrated);
  int differing = 0;
  std::vector<std::string> significant;
  std::vector<std::string> only[2];
  for (const UnknownDifference& one : keys.differing) {
    if (IsArgumentOf(one, "optimizer") || IsArgumentOf(one, "model")) continue;  // an error of this check
    if (one.baseline != nullptr && one.migrated != nullptr) {
      if (SpeaksOfNumbers(one.name) && !context.rules.settings.IsExcepted(one.name)) {
        significant.push_back(
            absl::StrCat(one.baseline->shown_key(), ": ", ShowValue(*one.baseline), ", ", ShowValue(*one.migrated)));
      }
      if (++differing <= kUnknownShown) WarnOfUnknown(context, result, one);
      continue;
    }
    // A script passes what its program needs; of a file that lists what was chosen, the other side's may lack it.
    const SourcedValue& value = one.baseline != nullptr ? *one.baseline : *one.migrated;
    if (!one.same_format || value.source == SettingSource::kLaunch) continue;
    only[one.baseline != nullptr ? 0 : 1].push_back(absl::StrCat(value.shown_key(), "=", ShowValue(value)));
  }
  if (!significant.empty()) {
    AddMissing(context, result, "unknown_key_differs/significant", migrated.run_name(),
               {{"keys", absl::StrJoin(significant, "; ")}});
  }
  WarnOfOneSided(context, result, migrated, only[0], Side::kBaseline);
  WarnOfOneSided(context, result, migrated, only[1], Side::kMigrated);
  if (differing > kUnknownShown) {
    AddNote(context, result, "more_unknown_keys", migrated.run_name(),
            {{"count", absl::StrCat(differing - kUnknownShown)}});
  }
  if (keys.equal + differing + keys.places == 0) return;
  v1::Finding& note = AddNote(context, result, "measured/unknown_keys", migrated.run_name(),
                              {{"equal", absl::StrCat(keys.equal)},
                               {"differing", absl::StrCat(differing)},
                               {"places", absl::StrCat(keys.places)},
                               {"one_sided", absl::StrCat(keys.one_sided)}});
  SetFact(note, "unknown_equal", keys.equal);
  SetFact(note, "unknown_differing", differing);
}

// Two sources of one side that say different things of such an argument.
void AddUnknownSources(const CheckContext& context, v1::CheckResult& result, const SettingsView& view) {
  for (const auto& [name, values] : DisagreeingUnknown(context, view)) {
    const SourcedValue& used = view.unknown().at(name);
    for (const SourcedValue& other : values) {
      if (SameUnknown(used, other) || NamesAPlace(name, used.text, other.text)) continue;
      if (IsIgnoredKey(context.profile, name, used.raw_key) || !SpeaksOfNumbers(name)) continue;
      AddOverridden(context, result, view, used.raw_key, used, {&other, 1});
    }
  }
}

// A number or switch that leaves things as they are without the option.
bool IsOff(const EffectiveValue& found) {
  const v1::Value& value = found.value.value;
  return value.kind_case() == v1::Value::kBoolean ? !value.boolean() : ValueToText(value) == "0";
}

// What one side alone states.
struct OneSided {
  std::vector<std::string> unknown_a;  // numbers and switches: what the baseline used is not known
  std::vector<std::string> unknown_b;  // the same of the migrated side
  std::vector<std::string> told;       // names (the optimizer): a script may hold them without an option

  void Take(const SettingKey& key, const EffectiveValue& found, bool of_migrated) {
    const bool word = key.type == SettingType::kWord || key.type == SettingType::kText;
    const bool off = key.optional && IsOff(found);
    (off || (word && !key.optional) ? told
     : of_migrated                  ? unknown_a
                                    : unknown_b)
        .push_back(absl::StrCat(key.key, "=", ValueToText(found.value.value), " (", found.value.origin, ")"));
  }
};

// One key that is stated somewhere. True where it was compared.
bool CompareOne(const CheckContext& context, v1::CheckResult& result, const SettingKey& key,
                const SettingsView& baseline, const SettingsView& migrated, OneSided& one_sided) {
  const EffectiveValue* a = baseline.Find(key.key);
  const EffectiveValue* b = migrated.Find(key.key);
  // None of an option that a library need not have is a value: it is off.
  const SourcedValue* none_a = key.optional && a == nullptr ? baseline.FindNone(key.key) : nullptr;
  const SourcedValue* none_b = key.optional && b == nullptr ? migrated.FindNone(key.key) : nullptr;
  if ((none_a != nullptr && b != nullptr) || (none_b != nullptr && a != nullptr)) {
    if (IsOff(none_a != nullptr ? *b : *a)) return true;
    AddDifference(context, result, key, none_a != nullptr ? *none_a : a->value, none_b != nullptr ? *none_b : b->value);
    return true;
  }
  if (a == nullptr || b == nullptr) {
    one_sided.Take(key, a == nullptr ? *b : *a, a == nullptr);
    return false;
  }
  if (!SameMeaning(key.type, a->value.value, b->value.value)) AddDifference(context, result, key, a->value, b->value);
  return true;
}

// Whether the code leaves nothing to options and configurations: then it tells by itself what the run uses.
bool TellsAll(const ScriptFlow& flow) {
  const auto left_open = [](const v1::ScriptArgument& one) {
    return !one.option().empty() || absl::StrContains(one.symbol(), "option:") ||
           absl::StrContains(one.symbol(), "variable:");
  };
  return flow.whole() && std::none_of(flow.facts().begin(), flow.facts().end(), [&](const v1::ScriptFact* fact) {
           return std::any_of(fact->arguments().begin(), fact->arguments().end(), left_open);
         });
}

// The optimizer that both sides' code makes. Rate and decay have checks of their own. True where both are known whole.
bool CompareScriptOptimizers(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                             const SettingsView& migrated) {
  const std::optional<MadeByScripts> made = MadeOnBothSides(baseline, migrated, "optimizer");
  if (!made) {
    // Several of them, or under a condition.
    const ComparedFacts optimizers = BuiltInScriptWords().MadeOf("optimizer");
    const FactsComparison found = CompareFacts(optimizers, baseline.flow(), migrated.flow());
    AddScriptFacts(context, result, found, migrated.run_name());
    return false;
  }
  if (!made->open.empty() && !made->differ) {
    AddMissing(context, result, "script_arguments_open", migrated.run_name(),
               {{"what", ScriptDetail(*made->migrated)},
                {"where", ScriptPlace(*made->migrated)},
                {"arguments", absl::StrJoin(made->open, ", ")}});
  }
  if (!made->differ) return made->open.empty() && TellsAll(baseline.flow()) && TellsAll(migrated.flow());
  const std::string& a = made->baseline_brief;
  const std::string& b = made->migrated_brief;
  if (HasFinding(result, "value_differs", "optimizer", a, b)) return true;
  v1::Finding& finding =
      AddError(context, result, "value_differs", "optimizer", {{"key", "optimizer"}, {"baseline", a}, {"migrated", b}});
  finding.set_baseline(a);
  finding.set_migrated(b);
  finding.add_evidence(ScriptPlace(*made->baseline));
  finding.add_evidence(ScriptPlace(*made->migrated));
  return true;
}

// The loss that both sides' code makes: another one, or another argument of it.
void CompareScriptLosses(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                         const SettingsView& migrated) {
  const LossComparison found = CompareLosses(baseline.flow(), migrated.flow());
  for (const NetworkDifference& one : found.differ) {
    if (HasFinding(result, "value_differs", one.what, one.baseline, one.migrated)) continue;
    v1::Finding& finding = AddError(context, result, "value_differs", one.what,
                                    {{"key", one.what}, {"baseline", one.baseline}, {"migrated", one.migrated}});
    finding.set_baseline(one.baseline);
    finding.set_migrated(one.migrated);
    finding.add_evidence(absl::StrCat(ScriptPlace(*one.place_baseline), ": ", ScriptDetail(*one.place_baseline)));
    finding.add_evidence(absl::StrCat(ScriptPlace(*one.place_migrated), ": ", ScriptDetail(*one.place_migrated)));
  }
  if (!found.open.empty()) {
    AddMissing(context, result, "script_loss_open", migrated.run_name(),
               {{"run", migrated.run_name()}, {"what", absl::StrJoin(found.open, ", ")}});
  }
}

void CompareValues(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                   const SettingsView& migrated) {
  int compared = 0;
  OneSided one_sided;
  for (const auto& [name, key] : context.rules.settings.keys()) {
    if (!key.compared) continue;
    const EffectiveValue* a = baseline.Find(name);
    const EffectiveValue* b = migrated.Find(name);
    const bool stated = baseline.FindStated(name) != nullptr || migrated.FindStated(name) != nullptr;
    if (Ignored(context.profile, key, a, b)) continue;
    for (const SettingsView* view : {&baseline, &migrated}) ReportUntold(context, result, *view, name);
    // Two defaults that nobody states show nothing of what the runs used; nor does the default of an option that the
    // other side's library may not have.
    if (a == nullptr && b == nullptr) continue;
    if (!stated && (key.optional || (a != nullptr && b != nullptr))) continue;
    for (const SettingsView* view : {&baseline, &migrated}) {
      const EffectiveValue* one = view->Find(name);
      if (one != nullptr) ReportSources(context, result, *view, name, *one);
    }
    if (CompareOne(context, result, key, baseline, migrated, one_sided)) ++compared;
  }
  for (const SettingsView* view : {&baseline, &migrated}) {
    AddPartConflicts(context, result, *view, TotalSteps(*view).part_conflicts);
    ReportNoNumbers(context, result, *view, {"optimizer", "seed", "model", "data"}, true);
    ReportNoNumbers(context, result, *view, {"length"});
    AddUnknownSources(context, result, *view);
  }
  CompareDecayForm(context, result, baseline, migrated);
  if (CompareLength(context, result, baseline, migrated)) {
    ++compared;
  } else {
    ReportLength(context, result, baseline, migrated);
  }
  CompareUnknown(context, result, baseline, migrated);
  if (CompareScriptOptimizers(context, result, baseline, migrated)) ++compared;
  CompareScriptLosses(context, result, baseline, migrated);
  CompareScriptFacts(context, result, "model.hyperparameters.values", baseline, migrated);
  AddScriptFacts(context, result, CompareLossConstants(baseline.flow(), migrated.flow()), migrated.run_name());
  AddScriptFacts(context, result, CompareRounds(baseline.flow(), migrated.flow()), migrated.run_name());
  AddScriptFacts(context, result, {NetworkFractions(baseline.flow(), migrated.flow()), {}}, migrated.run_name());
  AddCodeApart(context, result, CompareCode(CodeSubject::kTraining, baseline.flow(), migrated.flow()),
               migrated.run_name());
  for (absl::string_view owner : {"optimizer", "model"}) {
    JudgeUnknownKeys(context, result, baseline, migrated, owner, "value_differs/argument");
  }
  if (compared == 0) {
    AddMissing(context, result, "no_common_settings", migrated.run_name(), {{"run", migrated.run_name()}});
    return;
  }
  // Where a default is not known, nothing is guessed (checklist, verdicts).
  if (!one_sided.unknown_a.empty()) {
    AddOneSided(context, result, baseline, absl::StrJoin(one_sided.unknown_a, ", "));
  }
  if (!one_sided.unknown_b.empty()) {
    AddOneSided(context, result, migrated, absl::StrJoin(one_sided.unknown_b, ", "));
  }
  if (!one_sided.told.empty()) {
    AddNote(context, result, "only_on_one_side", migrated.run_name(), {{"keys", absl::StrJoin(one_sided.told, ", ")}});
  }
  v1::Finding& note =
      AddNote(context, result, "measured/settings", migrated.run_name(), {{"count", absl::StrCat(compared)}});
  SetFact(note, "compared", compared);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  WarnOfUnknownFacts(context, result);
  ComparePairs(
      context, result,
      [&](const SettingsView& baseline, const SettingsView& migrated) {
        CompareValues(context, result, baseline, migrated);
      },
      kReadScripts);
}

}  // namespace

extern const Check kHyperparametersValues;
const Check kHyperparametersValues = {"model.hyperparameters.values", {}, &Evaluate};

}  // namespace paritect
