#include "client/diff/compared_settings.h"

#include <nlohmann/json.hpp>

#include "checks/settings/compare.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// Checks that compare settings, by the area whose rows they judge.
std::string AreaOfCheck(const std::string& check_id) {
  for (const char* check :
       {"model.hyperparameters.values", "data.preprocessing.shuffle", "data.preprocessing.padding",
        "data.preprocessing.transform", "data.preprocessing.parallelism", "data.preprocessing.read-count"}) {
    if (check_id == check) return check_id.substr(0, check_id.rfind('.'));
  }
  return "";
}

bool Belongs(const Rules& rules, const SettingRow& row, const std::string& area, const std::string& check_id) {
  const SettingKey* key = rules.settings.FindKey(row.key);
  if (area == "model.hyperparameters")
    return row.area == "other" || (key != nullptr && (key->compared || row.area == area));
  return row.area == area && key != nullptr && key->pipeline == check_id.substr(area.size() + 1);
}

OrderedJson ValueJson(const std::string& value, const std::string& origin, bool by_default, bool there) {
  if (!there) return nullptr;
  return {{"value", DisplayBytes(value)}, {"origin", DisplayBytes(origin)}, {"default", by_default}};
}

}  // namespace

absl::string_view RelationWord(SettingRow::Relation relation) {
  switch (relation) {
    case SettingRow::Relation::kEqual: return "equal";
    case SettingRow::Relation::kDiffers: return "differs";
    case SettingRow::Relation::kOnlyBaseline: return "only_baseline";
    case SettingRow::Relation::kOnlyMigrated: return "only_migrated";
  }
  return "";
}

std::vector<ComparedSettings> ComparedSettingsOf(const EvidenceSet& evidence, const Rules& rules,
                                                 const Profile& profile, const std::string& check_id) {
  std::vector<ComparedSettings> out;
  const std::string area = AreaOfCheck(check_id);
  if (area.empty()) return out;
  const CheckContext context{evidence, profile, rules};
  const std::vector<RunView> baseline = evidence.Runs(Side::kBaseline);
  std::vector<std::string> names;
  for (const RunView& run : baseline) names.push_back(run.name);
  const ComparedRuns runs = RunsToCompare(context, names);
  for (const RunView& reference : baseline) {
    if (reference.name != runs.reference) continue;
    for (const RunView& run : evidence.Runs(Side::kMigrated)) {
      if (runs.left_out.contains(run.name)) continue;
      ComparedSettings one = {reference.name, run.name, {}};
      for (SettingRow& row : DiffSettings(context, reference, run).rows) {
        if (Belongs(rules, row, area, check_id)) one.rows.push_back(std::move(row));
      }
      out.push_back(std::move(one));
    }
  }
  return out;
}

OrderedJson ComparedToJson(const std::vector<ComparedSettings>& compared) {
  OrderedJson json = OrderedJson::array();
  for (const ComparedSettings& one : compared) {
    OrderedJson rows = OrderedJson::array();
    for (const SettingRow& row : one.rows) {
      rows.push_back({{"key", DisplayBytes(row.key)},
                      {"relation", RelationWord(row.relation)},
                      {"baseline", ValueJson(row.baseline, row.baseline_origin, row.baseline_default,
                                             row.relation != SettingRow::Relation::kOnlyMigrated)},
                      {"migrated", ValueJson(row.migrated, row.migrated_origin, row.migrated_default,
                                             row.relation != SettingRow::Relation::kOnlyBaseline)}});
    }
    json.push_back({{"baseline", one.baseline_run}, {"migrated", one.migrated_run}, {"settings", rows}});
  }
  return json;
}

}  // namespace paritect
