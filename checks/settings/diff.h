// Every setting of two runs side by side: canonical keys by effective value, other arguments, environment variables,
// versions and devices. For `diff settings` and for `why`; verdicts are the checks'.
#ifndef PARITECT_CHECKS_SETTINGS_DIFF_H_
#define PARITECT_CHECKS_SETTINGS_DIFF_H_

#include <string>
#include <vector>

#include "checks/settings/view.h"
#include "rules/profile.h"

namespace paritect {

struct SettingRow {
  enum class Relation { kEqual, kDiffers, kOnlyBaseline, kOnlyMigrated };
  std::string area;  // the item that judges it: "model.hyperparameters", ...; "other" for keys that none knows
  std::string key;   // canonical, else as written
  Relation relation = Relation::kEqual;
  // As written, with where it was read; "" where the side does not have it.
  std::string baseline;
  std::string migrated;
  std::string baseline_origin;
  std::string migrated_origin;
  bool baseline_default = false;  // nothing states it: what product, framework and version do by themselves
  bool migrated_default = false;
};

struct SettingsDifference {
  std::vector<SettingRow> rows;        // by area in the checklist's order, then key
  std::vector<std::string> ignored;    // keys of the profile's `ignore_keys` that differ
  std::vector<std::string> by_nature;  // variables that differ from node to node (HOSTNAME, RANK) and do so
  int withheld = 0;                    // variables whose values stayed on their nodes: only that they are set is known

  // Rows that are not equal.
  int different() const;
};

// `baseline` and `migrated` point into context.evidence. Values that are equal by meaning are equal.
SettingsDifference DiffSettings(const CheckContext& context, const RunView& baseline, const RunView& migrated);

// Whether a pattern of the profile's `ignore_keys` names the key.
bool IsIgnoredKey(const Profile& profile, absl::string_view canonical, absl::string_view raw);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_DIFF_H_
