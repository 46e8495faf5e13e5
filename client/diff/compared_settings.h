// The values that a check over settings held against each other, of both sides with their origins: for `paritect why`.
#ifndef PARITECT_CLIENT_DIFF_COMPARED_SETTINGS_H_
#define PARITECT_CLIENT_DIFF_COMPARED_SETTINGS_H_

#include <string>
#include <vector>

#include "checks/settings/diff.h"
#include "client/report/json.h"

namespace paritect {

struct ComparedSettings {
  std::string baseline_run;
  std::string migrated_run;
  std::vector<SettingRow> rows;  // of the check's own area
};

// One entry a migrated run that counts; empty for a check that compares no settings or where a side is not there.
std::vector<ComparedSettings> ComparedSettingsOf(const EvidenceSet& evidence, const Rules& rules,
                                                 const Profile& profile, const std::string& check_id);

OrderedJson ComparedToJson(const std::vector<ComparedSettings>& compared);

// "equal" | "differs" | "only_baseline" | "only_migrated"
absl::string_view RelationWord(SettingRow::Relation relation);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIFF_COMPARED_SETTINGS_H_
