// The values of one settings document by canonical key, for view.cc: lists of maps as one value, and one value where
// several names of the document may be the same key.
#ifndef PARITECT_CHECKS_SETTINGS_DOCUMENT_VALUES_H_
#define PARITECT_CHECKS_SETTINGS_DOCUMENT_VALUES_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "checks/settings/sourced_value.h"
#include "paritect/v1/settings.pb.h"
#include "rules/rules.h"

namespace paritect {

// Lists of maps (transforms): "transforms.0.type", "transforms.0.size" ... as one value, their steps in order. A list
// that its reader gives as one value is left to it.
class StepLists {
 public:
  StepLists(const Rules& rules, const v1::SettingsDocument& document);
  // True where the setting is of such a list.
  bool Take(const v1::Setting& setting);
  std::vector<v1::Setting> Finish() const;

 private:
  struct List {
    std::string origin;
    std::map<std::int64_t, std::map<std::string, std::string>> steps;
  };

  std::map<std::string, List> lists_;
  std::set<std::string> others_;
};

// A document may have several names of one key. What stands nearest to the root counts ("lr" before "training.lr"), of
// nested names the most certain; the rest are keys of their own, so that a difference in them is still seen. Where
// sections of one depth say different things under one name, none of them is the key.
class DocumentValues {
 public:
  void Add(const CanonicalSetting& canonical, SourcedValue value, const v1::Setting& setting);
  void Settle(absl::FunctionRef<void(const std::string& key, SourcedValue)> add,
              absl::FunctionRef<void(const v1::Setting&)> add_unknown);

 private:
  struct One {
    const SettingKey* key;
    int order;
    int sections;
    SourcedValue value;
    const v1::Setting* setting;
  };
  std::map<std::pair<std::string, std::string>, std::vector<One>> values_;  // key, scope
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_DOCUMENT_VALUES_H_
