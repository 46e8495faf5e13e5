// The settings of one run that the log checks need, by canonical name.
#ifndef PARITECT_CHECKS_RUN_SETTINGS_H_
#define PARITECT_CHECKS_RUN_SETTINGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/run_series.h"

namespace paritect {

class RunSettings {
 public:
  RunSettings(const CheckContext& context, const RunSeries& run);

  struct Entry {
    v1::Value value;
    std::string origin;
    bool is_null = false;  // stated as None
  };
  const Entry* Find(const std::string& key) const;
  std::optional<double> Number(const std::string& key) const;
  std::optional<bool> Boolean(const std::string& key) const;
  std::optional<std::string> Text(const std::string& key) const;
  std::string Origin(const std::string& key) const;
  bool HasFormat(absl::string_view format) const;
  std::vector<std::string> Keys() const;  // in byte order
  bool empty() const { return entries_.empty(); }

 private:
  void AddDocument(const Rules& rules, const v1::SettingsDocument& document);

  std::map<std::string, Entry> entries_;
  std::vector<std::string> formats_;
};

// Equal by meaning: numbers by value, the rest as written.
bool SameValue(const v1::Value& a, const v1::Value& b);
std::string ShowValue(const v1::Value& value);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUN_SETTINGS_H_
