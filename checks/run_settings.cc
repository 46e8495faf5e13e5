#include "checks/run_settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"

namespace paritect {

RunSettings::RunSettings(const CheckContext& context, const RunSeries& run) {
  // What the log prints is what the run used; files come after it.
  for (const LogSource& source : run.logs) {
    for (const v1::SettingsDocument& document : source.log().settings()) AddDocument(context.rules, document);
  }
  for (const RunView& view : context.evidence.Runs(run.side)) {
    if (view.name != run.name) continue;
    for (const v1::Bundle* bundle : view.nodes) {
      for (const v1::Evidence& one : bundle->evidence()) {
        if (one.outcome() == v1::OUTCOME_COLLECTED && one.has_settings()) AddDocument(context.rules, one.settings());
      }
      for (const auto& [name, value] : bundle->plan().facts()) {
        auto origin = bundle->plan().fact_origins().find(name);
        entries_.try_emplace(name, Entry{value, origin == bundle->plan().fact_origins().end() ? "" : origin->second,
                                         value.kind_case() == v1::Value::kNull});
      }
    }
  }
}

void RunSettings::AddDocument(const Rules& rules, const v1::SettingsDocument& document) {
  formats_.push_back(document.format());
  for (const v1::Setting& setting : document.settings()) {
    for (const CanonicalSetting& one : rules.settings.Canonicalise(document.format(), setting)) {
      entries_.try_emplace(one.key->key, Entry{one.value, setting.origin(), one.value.kind_case() == v1::Value::kNull});
    }
  }
}

const RunSettings::Entry* RunSettings::Find(const std::string& key) const {
  auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

std::optional<double> RunSettings::Number(const std::string& key) const {
  const Entry* entry = Find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->value.kind_case() == v1::Value::kNumber) return entry->value.number();
  if (entry->value.kind_case() == v1::Value::kInteger) return static_cast<double>(entry->value.integer());
  return std::nullopt;
}

std::optional<bool> RunSettings::Boolean(const std::string& key) const {
  const Entry* entry = Find(key);
  if (entry == nullptr || entry->value.kind_case() != v1::Value::kBoolean) return std::nullopt;
  return entry->value.boolean();
}

std::optional<std::string> RunSettings::Text(const std::string& key) const {
  const Entry* entry = Find(key);
  if (entry == nullptr || entry->value.kind_case() != v1::Value::kText) return std::nullopt;
  return entry->value.text();
}

std::string RunSettings::Origin(const std::string& key) const {
  const Entry* entry = Find(key);
  return entry == nullptr ? "" : entry->origin;
}

bool RunSettings::HasFormat(absl::string_view format) const {
  return std::find(formats_.begin(), formats_.end(), format) != formats_.end();
}

std::vector<std::string> RunSettings::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

bool SameValue(const v1::Value& a, const v1::Value& b) {
  const auto number = [](const v1::Value& value) -> std::optional<double> {
    if (value.kind_case() == v1::Value::kNumber) return value.number();
    if (value.kind_case() == v1::Value::kInteger) return static_cast<double>(value.integer());
    return std::nullopt;
  };
  if (number(a).has_value() && number(b).has_value()) return *number(a) == *number(b);
  return ShowValue(a) == ShowValue(b);
}

std::string ShowValue(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return value.boolean() ? "true" : "false";
    case v1::Value::kInteger: return absl::StrCat(value.integer());
    case v1::Value::kNumber: return FormatDouble(value.number());
    case v1::Value::kText: return value.text();
    case v1::Value::kList: {
      std::vector<std::string> items;
      for (const v1::Value& item : value.list().items()) {
        items.push_back(item.kind_case() == v1::Value::kList ? "[...]" : ShowValue(item));
      }
      return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
    }
    case v1::Value::kNull: return "None";
    default: return "";
  }
}

}  // namespace paritect
