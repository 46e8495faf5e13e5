#include "checks/settings/made_by_scripts.h"

#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/flow.h"
#include "checks/settings/compare.h"
#include "checks/settings/diff.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

const v1::ScriptFact* TheOne(const SettingsView& view, absl::string_view kind) {
  const std::vector<const v1::ScriptFact*> made = view.flow().OfKind(kind);
  return made.size() == 1 && !made[0]->conditional() ? made[0] : nullptr;
}

absl::string_view FrameworkOf(const v1::ScriptFact& fact) {
  const absl::string_view name = fact.name();
  return name.substr(0, name.find('.'));
}

std::string ClassOf(const v1::ScriptFact& fact) {
  return fact.name().substr(fact.name().rfind('.') + 1);
}

}  // namespace

std::optional<MadeByScripts> MadeOnBothSides(const SettingsView& baseline, const SettingsView& migrated,
                                             absl::string_view kind) {
  MadeByScripts made = {TheOne(baseline, kind), TheOne(migrated, kind)};
  if (made.baseline == nullptr || made.migrated == nullptr) return std::nullopt;
  if (FrameworkOf(*made.baseline) != FrameworkOf(*made.migrated)) return std::nullopt;
  for (const v1::ScriptFact* one : {made.baseline, made.migrated}) {
    if (absl::StrContains(one->name(), "Lambda")) return std::nullopt;
  }
  made.differ = made.baseline->name() != made.migrated->name();
  made.baseline_brief = ClassOf(*made.baseline);
  made.migrated_brief = ClassOf(*made.migrated);
  std::vector<std::string> of_baseline, of_migrated;
  std::set<std::string> names;
  for (const v1::ScriptFact* one : {made.baseline, made.migrated}) {
    for (const v1::ScriptArgument& argument : one->arguments()) names.insert(argument.name());
  }
  for (const std::string& name : BuiltInScriptWords().MadeOf(kind).passed_over) names.erase(name);
  for (const std::string& name : names) {
    const v1::ScriptArgument* a = FindScriptArgument(*made.baseline, name);
    const v1::ScriptArgument* b = FindScriptArgument(*made.migrated, name);
    if (a != nullptr && b != nullptr && baseline.flow().Knows(*a) && migrated.flow().Knows(*b)) {
      if (ShowScriptValue(*a) == ShowScriptValue(*b)) continue;
      made.differ = true;
      of_baseline.push_back(absl::StrCat(name, "=", ShowScriptValue(*a)));
      of_migrated.push_back(absl::StrCat(name, "=", ShowScriptValue(*b)));
      continue;
    }
    // The same expression on both sides; what an option of it was set to is the settings' matter.
    if (a == nullptr || b == nullptr || a->symbol() != b->symbol()) made.open.push_back(name);
  }
  // Arguments of two classes say nothing to each other.
  if (made.baseline_brief == made.migrated_brief && !of_baseline.empty()) {
    absl::StrAppend(&made.baseline_brief, "(", absl::StrJoin(of_baseline, ", "), ")");
    absl::StrAppend(&made.migrated_brief, "(", absl::StrJoin(of_migrated, ", "), ")");
  }
  if (made.baseline->name() != made.migrated->name()) made.open.clear();
  return made;
}

void AddCodeApart(const CheckContext& context, v1::CheckResult& result, const std::optional<CodeApart>& apart,
                  const std::string& run) {
  if (!apart) return;
  AddMissing(context, result, "script_code_apart", run,
             {{"baseline", apart->baseline}, {"migrated", apart->migrated}});
}

void AddScriptFacts(const CheckContext& context, v1::CheckResult& result, const FactsComparison& found,
                    const std::string& run) {
  for (const NetworkDifference& one : found.differ) {
    if (HasFinding(result, "value_differs", one.what, one.baseline, one.migrated)) continue;
    v1::Finding& finding = AddError(context, result, "value_differs", one.what,
                                    {{"key", one.what}, {"baseline", one.baseline}, {"migrated", one.migrated}});
    finding.set_baseline(one.baseline);
    finding.set_migrated(one.migrated);
    for (const v1::ScriptFact* place : {one.place_baseline, one.place_migrated}) {
      if (place != nullptr) finding.add_evidence(absl::StrCat(ScriptPlace(*place), ": ", ScriptDetail(*place)));
    }
  }
  for (const NetworkDifference& one : found.seeds)
    AddCodeApart(context, result,
                 CodeApart{absl::StrCat(one.what, ": ", one.baseline), absl::StrCat(one.what, ": ", one.migrated)},
                 run);
  for (const CodeApart& one : found.open) AddCodeApart(context, result, one, run);
}

void CompareScriptFacts(const CheckContext& context, v1::CheckResult& result, absl::string_view check,
                        const SettingsView& baseline, const SettingsView& migrated) {
  FactsComparison found = CompareFacts(check, baseline.flow(), migrated.flow());
  // Repeats of the baseline have seeds of their own.
  if (context.evidence.Runs(Side::kBaseline).size() == 1) {
    found.differ.insert(found.differ.end(), found.seeds.begin(), found.seeds.end());
    found.seeds.clear();
  }
  AddScriptFacts(context, result, found, migrated.run_name());
}

}  // namespace paritect
