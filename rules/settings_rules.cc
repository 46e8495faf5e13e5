#include "rules/settings_rules.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "rules/setting_values.h"

namespace paritect {
namespace {

using absl::StrCat;

bool ReadType(absl::string_view word, SettingType& type) {
  static const std::map<std::string, SettingType, std::less<>> kTypes = {
      {"text", SettingType::kText},     {"word", SettingType::kWord},       {"boolean", SettingType::kBoolean},
      {"number", SettingType::kNumber}, {"version", SettingType::kVersion}, {"path", SettingType::kPath}};
  auto it = kTypes.find(word);
  if (it == kTypes.end()) return false;
  type = it->second;
  return true;
}

bool ReadConversion(absl::string_view word, SettingConversion& convert) {
  static const std::map<std::string, SettingConversion, std::less<>> kWords = {
      {"invert", SettingConversion::kInvert},
      {"one_minus", SettingConversion::kOneMinus},
      {"power_of_two", SettingConversion::kPowerOfTwo},
      {"item0", SettingConversion::kItem0},
      {"item1", SettingConversion::kItem1}};
  auto it = kWords.find(word);
  if (it == kWords.end()) return false;
  convert = it->second;
  return true;
}

bool IsWordOf(const SettingKey& key, absl::string_view text) {
  return std::any_of(key.words.begin(), key.words.end(), [&](const auto& one) { return one.second == text; });
}

std::optional<v1::Value> Convert(SettingConversion convert, const v1::Value& value) {
  v1::Value out = value;
  switch (convert) {
    case SettingConversion::kNone: return out;
    case SettingConversion::kInvert: {
      auto boolean = BooleanOf(value);
      if (!boolean) return std::nullopt;
      out.set_boolean(!*boolean);
      return out;
    }
    case SettingConversion::kOneMinus: {
      auto number = NumberOf(value);
      if (!number) return std::nullopt;
      return NumberValue(1 - *number);
    }
    case SettingConversion::kPowerOfTwo: {
      auto number = NumberOf(value);
      if (!number || std::fabs(*number) > 1024) return std::nullopt;
      return NumberValue(std::pow(2.0, *number));
    }
    case SettingConversion::kItem0:
    case SettingConversion::kItem1: {
      const int index = convert == SettingConversion::kItem0 ? 0 : 1;
      if (value.kind_case() != v1::Value::kList || value.list().items_size() <= index) return std::nullopt;
      return value.list().items(index);
    }
  }
  return std::nullopt;
}

absl::Status ReadTextField(const DocumentNode& node, absl::string_view name, std::string& out) {
  const DocumentNode* field = node.Find(name);
  if (field == nullptr) return absl::OkStatus();
  if (!field->is_scalar()) return ErrorAt(*field, StrCat("`", name, "` must be a text"));
  out = field->text;
  return absl::OkStatus();
}

}  // namespace

std::string NormaliseSettingKey(absl::string_view raw_key) {
  raw_key = absl::StripAsciiWhitespace(raw_key);
  while (absl::ConsumePrefix(&raw_key, "-")) {
  }
  return absl::StrReplaceAll(absl::AsciiStrToLower(raw_key), {{"-", "_"}});
}

absl::Status SettingsRules::Add(const DocumentNode& root, bool overriding) {
  if (!root.is_map()) return ErrorAt(root, "settings rules must be a map with `keys` and `variables`");
  for (const auto& [name, value] : root.fields) {
    if (name.text == "keys" && value.is_list()) {
      for (const DocumentNode& one : value.items) PARITECT_RETURN_IF_ERROR(AddKey(one, overriding));
    } else if (name.text == "subtrees" && value.is_list()) {
      for (const DocumentNode& one : value.items) PARITECT_RETURN_IF_ERROR(AddSubtree(one));
    } else if (name.text == "sections" && value.is_list()) {
      for (const DocumentNode& one : value.items) PARITECT_RETURN_IF_ERROR(AddSections(one));
    } else if (name.text == "libraries" && value.is_list()) {
      for (const DocumentNode& one : value.items) PARITECT_RETURN_IF_ERROR(AddLibrary(one));
    } else if (name.text == "qualifiers" && value.is_list()) {
      for (const DocumentNode& one : value.items) qualifiers_.push_back(one.text);
    } else if (name.text == "variables" && value.is_map()) {
      PARITECT_RETURN_IF_ERROR(AddVariables(value));
    } else if (name.text == "variable_defaults" && value.is_map()) {
      PARITECT_RETURN_IF_ERROR(AddVariableDefaults(value));
    } else if (name.text == "variable_versions" && value.is_list()) {
      for (const DocumentNode& one : value.items) PARITECT_RETURN_IF_ERROR(AddVariableVersion(one));
    } else {
      return ErrorAt(name, StrCat("unknown key '", name.text,
                                  "' in settings rules; known: keys, sections, qualifiers, libraries, subtrees, "
                                  "variables, variable_defaults, variable_versions"));
    }
  }
  return absl::OkStatus();
}

absl::Status SettingsRules::AddKey(const DocumentNode& node, bool overriding) {
  std::string name;
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "key", name));
  if (name.empty()) return ErrorAt(node, "an entry of `keys` needs `key`");
  const bool known = keys_.contains(name);
  if (known && !overriding) return ErrorAt(node, StrCat("key '", name, "' stands twice"));
  // Who adds a name to a key and mistakes the key would have a new one, which nothing compares.
  if (!known && overriding && node.Find("type") == nullptr) {
    const auto alias = by_alias_.find(StrCat("\n", NormaliseSettingKey(name)));
    const std::string key = alias == by_alias_.end() ? "" : StrCat(": it is a name of '", alias->second.key, "'");
    return ErrorAt(*node.Find("key"), StrCat("there is no key '", name, "'", key, "; a new one needs a `type`"));
  }
  SettingKey& key = keys_[name];
  key.key = name;
  std::string type;
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "type", type));
  if (!type.empty() && !ReadType(type, key.type)) {
    return ErrorAt(*node.Find("type"), StrCat("unknown type '", type, "'"));
  }
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "group", key.group));
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "source", key.source));
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "pipeline", key.pipeline));
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "switched_by", key.switched_by));
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "off", key.off));
  for (const auto& [field, value] : node.fields) {
    if (field.text == "compared") {
      key.compared = value.text == "true";
    } else if (field.text == "optional") {
      key.optional = value.text == "true";
    } else if (field.text == "steps") {
      key.steps = value.text == "true";
    } else if (field.text == "words" && value.is_map()) {
      for (const auto& [spelling, word] : value.fields) key.words[absl::AsciiStrToLower(spelling.text)] = word.text;
    } else if (field.text == "unset" && value.is_list()) {
      for (const DocumentNode& word : value.items) key.unset.push_back(word.text);
    } else if (field.text == "stronger" && value.is_list()) {
      for (const DocumentNode& format : value.items) key.stronger.push_back(format.text);
    } else if (field.text == "styles" && value.is_list()) {
      for (const DocumentNode& style : value.items) key.styles.push_back(style.text);
    } else if (field.text == "aliases") {
      PARITECT_RETURN_IF_ERROR(AddAliases(value, "", key));
    } else if (field.text == "in" && value.is_map()) {
      for (const auto& [format, names] : value.fields) {
        PARITECT_RETURN_IF_ERROR(AddAliases(names, format.text, key));
      }
    } else if (field.text != "key" && field.text != "type" && field.text != "group" && field.text != "source" &&
               field.text != "pipeline" && field.text != "switched_by" && field.text != "off") {
      return ErrorAt(field, StrCat("unknown key '", field.text, "' in an entry of `keys`"));
    }
  }
  if (!known) by_alias_.emplace(StrCat("\n", name), Target{name, SettingConversion::kNone});
  return absl::OkStatus();
}

absl::Status SettingsRules::AddAliases(const DocumentNode& node, const std::string& format, SettingKey& key) {
  if (!node.is_list()) return ErrorAt(node, "aliases must be a list");
  for (const DocumentNode& one : node.items) {
    SettingAlias alias;
    alias.format = format;
    if (one.is_scalar()) {
      alias.name = NormaliseSettingKey(one.text);
    } else if (one.is_map() && one.fields.size() == 1) {
      alias.name = NormaliseSettingKey(one.fields[0].first.text);
      const DocumentNode& word = one.fields[0].second;
      if (!ReadConversion(word.text, alias.convert)) {
        return ErrorAt(word, StrCat("unknown conversion '", word.text, "'"));
      }
    } else {
      return ErrorAt(one, "an alias is a name or {name: conversion}");
    }
    key.aliases.push_back(alias);
    if (alias.name == key.key && format.empty()) continue;
    by_alias_.emplace(StrCat(format, "\n", alias.name),
                      Target{key.key, alias.convert, static_cast<int>(key.aliases.size())});
  }
  return absl::OkStatus();
}

absl::Status SettingsRules::AddSubtree(const DocumentNode& node) {
  SettingSubtree subtree;
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "owner", subtree.owner));
  for (const auto& [field, value] : node.fields) {
    if (field.text == "sure") {
      subtree.sure = value.text == "true";
    } else if ((field.text == "names" || field.text == "but") && value.is_list()) {
      std::vector<std::string>& names = field.text == "names" ? subtree.names : subtree.but;
      for (const DocumentNode& name : value.items) names.push_back(NormaliseSettingKey(name.text));
    } else if (field.text != "owner" && field.text != "source") {
      return ErrorAt(field, StrCat("unknown key '", field.text, "' in an entry of `subtrees`"));
    }
  }
  if (subtree.owner.empty() || subtree.names.empty()) {
    return ErrorAt(node, "an entry of `subtrees` needs `owner` and `names`");
  }
  subtrees_.push_back(std::move(subtree));
  return absl::OkStatus();
}

absl::Status SettingsRules::AddSections(const DocumentNode& node) {
  SettingSections sections;
  for (const auto& [field, value] : node.fields) {
    if ((field.text != "names" && field.text != "groups") || !value.is_list()) {
      return ErrorAt(field, "an entry of `sections` has the lists `names` and `groups`");
    }
    for (const DocumentNode& one : value.items) {
      (field.text == "names" ? sections.names : sections.groups).push_back(NormaliseSettingKey(one.text));
    }
  }
  sections_.push_back(std::move(sections));
  return absl::OkStatus();
}

absl::Status SettingsRules::AddLibrary(const DocumentNode& node) {
  LibraryEvidence library;
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "name", library.name));
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "framework", library.framework));
  const std::map<std::string, std::vector<std::string>*, std::less<>> lists = {{"formats", &library.formats},
                                                                               {"written", &library.written},
                                                                               {"packages", &library.packages},
                                                                               {"commands", &library.commands},
                                                                               {"arguments", &library.arguments}};
  for (const auto& [field, value] : node.fields) {
    if (field.text == "name" || field.text == "framework") continue;
    const auto list = lists.find(field.text);
    if (list == lists.end() || !value.is_list()) {
      return ErrorAt(field, StrCat("unknown key '", field.text, "' in an entry of `libraries`"));
    }
    for (const DocumentNode& one : value.items) list->second->push_back(one.text);
  }
  if (library.name.empty()) return ErrorAt(node, "an entry of `libraries` needs `name`");
  libraries_.push_back(std::move(library));
  return absl::OkStatus();
}

const SettingSections* SettingsRules::SectionsOf(absl::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const SettingSections& one) {
    return std::find(one.names.begin(), one.names.end(), name) != one.names.end();
  });
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<SettingsRules::Target> SettingsRules::TargetsOf(absl::string_view format, const std::string& name) const {
  auto [from, to] = by_alias_.equal_range(StrCat(format, "\n", name));
  if (from == to && format == "environment") std::tie(from, to) = by_alias_.equal_range(StrCat("\nenv.", name));
  if (from == to) std::tie(from, to) = by_alias_.equal_range(StrCat("\n", name));
  std::vector<Target> targets;
  for (; from != to; ++from) targets.push_back(from->second);
  return targets;
}

std::vector<SettingsRules::Target> SettingsRules::TargetsInSections(const std::string& name, int& sections) const {
  std::vector<const SettingSections*> around;
  std::vector<Target> targets;
  std::size_t start = 0;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', start)) {
    const SettingSections* one = SectionsOf(absl::string_view(name).substr(start, dot - start));
    if (one == nullptr) return {};
    around.push_back(one);
    start = dot + 1;
    for (const Target& target : TargetsOf("", name.substr(start))) {
      const std::string& group = keys_.at(target.key).group;
      const bool fits = std::all_of(around.begin(), around.end(), [&](const SettingSections* section) {
        return section->groups.empty() ||
               std::find(section->groups.begin(), section->groups.end(), group) != section->groups.end();
      });
      if (fits) targets.push_back(target);
    }
    sections = static_cast<int>(around.size());
    if (!targets.empty()) return targets;
  }
  return {};
}

bool SettingsRules::MayBe(absl::string_view name, const SettingKey& key) const {
  const auto last = [](absl::string_view text) { return text.substr(text.rfind('.') + 1); };
  const std::vector<absl::string_view> words = absl::StrSplit(last(name), '_', absl::SkipEmpty());
  // The last part of a dotted name ("optimizer.name") says little alone.
  const auto fits = [&](absl::string_view alias) {
    const std::vector<absl::string_view> own = absl::StrSplit(alias, '_', absl::SkipEmpty());
    if (own.empty() || absl::StrContains(alias, '.') || own.size() > words.size()) return false;
    const auto at = std::search(words.begin(), words.end(), own.begin(), own.end());
    if (at == words.end()) return false;
    const auto qualifies = [&](absl::string_view word) {
      return std::find(qualifiers_.begin(), qualifiers_.end(), word) != qualifiers_.end();
    };
    return std::all_of(words.begin(), at, qualifies) &&
           std::all_of(at + static_cast<std::ptrdiff_t>(own.size()), words.end(), qualifies);
  };
  return fits(key.key) ||
         std::any_of(key.aliases.begin(), key.aliases.end(), [&](const SettingAlias& one) { return fits(one.name); });
}

const SettingSubtree* SettingsRules::SubtreeOf(absl::string_view name) const {
  const auto matches = [&](const std::string& pattern) { return GlobMatch(pattern, name); };
  for (const SettingSubtree& subtree : subtrees_) {
    if (std::any_of(subtree.names.begin(), subtree.names.end(), matches)) {
      return std::any_of(subtree.but.begin(), subtree.but.end(), matches) ? nullptr : &subtree;
    }
  }
  return nullptr;
}

bool SettingsRules::IsExcepted(absl::string_view name) const {
  const auto matches = [&](const std::string& pattern) { return GlobMatch(pattern, name); };
  return std::any_of(subtrees_.begin(), subtrees_.end(), [&](const SettingSubtree& subtree) {
    return std::any_of(subtree.names.begin(), subtree.names.end(), matches) &&
           std::any_of(subtree.but.begin(), subtree.but.end(), matches);
  });
}

void SettingsRules::AddByNature(const std::set<std::string, std::less<>>& variables) {
  for (const std::string& name : variables) variables_[name] = VariableEffect::kByNature;
}

absl::Status SettingsRules::AddVariableDefaults(const DocumentNode& node) {
  for (const auto& [name, value] : node.fields) {
    if (!value.is_scalar()) return ErrorAt(value, "a variable's default must be a text");
    variable_defaults_[name.text] = value.text;
  }
  return absl::OkStatus();
}

std::string SettingsRules::DefaultOf(absl::string_view variable) const {
  auto it = variable_defaults_.find(std::string(variable));
  return it == variable_defaults_.end() ? "" : it->second;
}

absl::Status SettingsRules::AddVariableVersion(const DocumentNode& node) {
  VariableVersion version;
  PARITECT_RETURN_IF_ERROR(ReadTextField(node, "variable", version.variable));
  for (const auto& [field, value] : node.fields) {
    if (field.text == "loaded" && value.is_list()) {
      for (const DocumentNode& one : value.items) version.loaded.push_back(one.text);
      continue;
    }
    const bool read =
        field.text == "variable" || (field.text == "parts" && absl::SimpleAtoi(value.text, &version.parts));
    if (!read) return ErrorAt(field, StrCat("'", field.text, "' cannot stand so in an entry of `variable_versions`"));
  }
  if (version.variable.empty() || version.loaded.empty()) {
    return ErrorAt(node, "an entry of `variable_versions` needs `variable` and `loaded`");
  }
  // An override takes the place of the entry of its variable.
  const auto known = std::find_if(variable_versions_.begin(), variable_versions_.end(),
                                  [&](const VariableVersion& one) { return one.variable == version.variable; });
  if (known != variable_versions_.end()) {
    *known = std::move(version);
  } else {
    variable_versions_.push_back(std::move(version));
  }
  return absl::OkStatus();
}

absl::Status SettingsRules::AddVariables(const DocumentNode& node) {
  static const std::map<std::string, VariableEffect, std::less<>> kEffects = {{"numbers", VariableEffect::kNumbers},
                                                                              {"harmless", VariableEffect::kHarmless},
                                                                              {"by_nature", VariableEffect::kByNature}};
  for (const auto& [effect_name, names] : node.fields) {
    auto effect = kEffects.find(effect_name.text);
    if (effect == kEffects.end() || !names.is_list()) {
      return ErrorAt(effect_name, "variables are lists under numbers, harmless or by_nature");
    }
    for (const DocumentNode& name : names.items) {
      if (absl::StrContains(name.text, '*')) {
        variable_patterns_.emplace_back(name.text, effect->second);
      } else {
        variables_[name.text] = effect->second;
      }
    }
  }
  return absl::OkStatus();
}

std::vector<CanonicalSetting> SettingsRules::Canonicalise(absl::string_view format, const v1::Setting& setting) const {
  std::vector<CanonicalSetting> out;
  if (setting.value().kind_case() == v1::Value::KIND_NOT_SET) return out;
  const std::string name = NormaliseSettingKey(setting.raw_key());
  std::vector<Target> targets = TargetsOf(format, name);
  int sections = 0;
  // A plan's facts and a node's variables have no sections.
  if (targets.empty() && format != "environment" && format != "fact") targets = TargetsInSections(name, sections);
  for (const Target& target : targets) {
    auto converted = Convert(target.convert, setting.value());
    if (!converted) continue;
    const SettingKey& key = keys_.at(target.key);
    CanonicalSetting one = {&key, TypedValue(key.type, *converted, key.words), target.order, sections,
                            target.convert != SettingConversion::kNone};
    const std::string text = ValueToText(one.value);
    const auto unset = [&](absl::string_view word) {
      return std::find(key.unset.begin(), key.unset.end(), word) != key.unset.end();
    };
    if (unset("*") && !IsWordOf(key, text)) continue;
    if (unset(text)) one.value.set_null(true);
    out.push_back(std::move(one));
  }
  return out;
}

const SettingKey* SettingsRules::FindKey(absl::string_view key) const {
  auto it = keys_.find(std::string(key));
  return it == keys_.end() ? nullptr : &it->second;
}

VariableEffect SettingsRules::EffectOf(absl::string_view variable) const {
  auto it = variables_.find(std::string(variable));
  if (it != variables_.end()) return it->second;
  for (const auto& [pattern, effect] : variable_patterns_) {
    if (GlobMatch(pattern, variable)) return effect;
  }
  return VariableEffect::kUnknown;
}

bool IsNoNumber(const CanonicalSetting& setting) {
  return setting.key->type == SettingType::kNumber && setting.value.kind_case() == v1::Value::kText;
}

}  // namespace paritect
