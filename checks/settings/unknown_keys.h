// Arguments that no canonical key claims, side by side. Nobody knows what they do: where a name belongs to a concern
// (rules/data/settings.yaml, subtrees), the check of that concern cannot pass while they differ.
#ifndef PARITECT_CHECKS_SETTINGS_UNKNOWN_KEYS_H_
#define PARITECT_CHECKS_SETTINGS_UNKNOWN_KEYS_H_

#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/settings/view.h"
#include "rules/settings_rules.h"

namespace paritect {

struct UnknownDifference {
  std::string name;                        // normalised
  const SourcedValue* baseline = nullptr;  // nullptr: on the other side only
  const SourcedValue* migrated = nullptr;
  const SettingSubtree* subtree = nullptr;  // nullptr: of no concern
  bool same_format = false;                 // the other side has settings of the same format
};

struct UnknownKeys {
  std::vector<UnknownDifference> differing;  // on both sides, or on one side with a value that is not "off"; by name
  int equal = 0;
  int places = 0;     // differ, and say only where something lies
  int one_sided = 0;  // on one side only, whatever the value
};

// Views must outlive the result.
UnknownKeys CompareUnknownKeys(const CheckContext& context, const SettingsView& baseline, const SettingsView& migrated);

// Whether the key is surely an argument of the concern, on both sides and in one format: its difference is an error.
bool IsArgumentOf(const UnknownDifference& one, absl::string_view owner);

// Judges the keys of one concern (schedule | optimizer | model): an error `message_id` (args key, baseline, migrated)
// where the arguments of the thing itself differ, else a missing entry that names the keys which are not understood.
// What another library has under other names is no difference: one side alone counts within one format, or where the
// name is surely of that concern.
void JudgeUnknownKeys(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                      const SettingsView& migrated, absl::string_view owner, absl::string_view message_id);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_UNKNOWN_KEYS_H_
