// What the scripts of both sides make once each, in one framework: an optimizer, a schedule.
#ifndef PARITECT_CHECKS_SETTINGS_MADE_BY_SCRIPTS_H_
#define PARITECT_CHECKS_SETTINGS_MADE_BY_SCRIPTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checks/scripts/alike.h"
#include "checks/scripts/code.h"
#include "checks/settings/view.h"

namespace paritect {

struct MadeByScripts {
  const v1::ScriptFact* baseline = nullptr;
  const v1::ScriptFact* migrated = nullptr;
  // Another class, or an argument that both sides state with other values, both known.
  bool differ = false;
  // What differs alone, of each side: "SGD" and "AdamW", "StepLR(step_size=30)" and "StepLR(step_size=60)".
  std::string baseline_brief, migrated_brief;
  // Arguments of one class of which it is not known whether they are alike: one side states what the other leaves to a
  // default that no table has, or the value is not told by the source.
  std::vector<std::string> open;
};

// `kind`: of the script's facts, compared as `made` in rules/data/script_words.yaml says. nullopt where a side makes
// none, several, or one under a condition, where the frameworks differ, and where a function of the script's own
// decides.
std::optional<MadeByScripts> MadeOnBothSides(const SettingsView& baseline, const SettingsView& migrated,
                                             absl::string_view kind);

// What both sides' code must do alike for a check (rules/data/script_words.yaml, `compared`): an error for a value that
// differs, missing where it is not told.
void CompareScriptFacts(const CheckContext& context, v1::CheckResult& result, absl::string_view check,
                        const SettingsView& baseline, const SettingsView& migrated);
void AddScriptFacts(const CheckContext& context, v1::CheckResult& result, const FactsComparison& found,
                    const std::string& run);
// Where the code of the two sides is apart, and it is not told that it comes to the same.
void AddCodeApart(const CheckContext& context, v1::CheckResult& result, const std::optional<CodeApart>& apart,
                  const std::string& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_MADE_BY_SCRIPTS_H_
