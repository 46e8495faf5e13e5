#include "rules/script_rules.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/glob.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

absl::StatusOr<std::vector<std::string>> TextsOf(const DocumentNode& node) {
  std::vector<std::string> texts;
  if (node.is_scalar()) return std::vector<std::string>{node.text};
  if (!node.is_list()) return ErrorAt(node, "a text or a list of texts is needed");
  for (const DocumentNode& item : node.items) {
    if (!item.is_scalar() || item.text.empty()) return ErrorAt(item, "a text is needed");
    texts.push_back(item.text);
  }
  return texts;
}

// A pattern with one '*' is a beginning and an end: told without the matcher, which asks for memory, since a reading
// asks for hundreds of thousands of names.
bool Matches(absl::string_view pattern, absl::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return pattern == name;
  if (!absl::StartsWith(name, pattern.substr(0, star))) return false;
  const absl::string_view rest = pattern.substr(star + 1);
  if (absl::StrContains(rest, '*')) return GlobMatch(pattern, name);
  return name.size() >= pattern.size() - 1 && absl::EndsWith(name, rest);
}

absl::string_view LastOf(absl::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == absl::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

absl::Status ScriptRules::AddApi(const DocumentNode& node, absl::string_view framework, absl::string_view source) {
  ApiRule rule;
  rule.framework = std::string(framework);
  rule.source = std::string(source);
  for (const auto& [key, value] : node.fields) {
    if (key.text == "api") {
      PARITECT_ASSIGN_OR_RETURN(rule.names, TextsOf(value));
    } else if (key.text == "parameters") {
      PARITECT_ASSIGN_OR_RETURN(rule.parameters, TextsOf(value));
    } else if (key.text == "defaults") {
      if (!value.is_map()) return ErrorAt(value, "parameters with their defaults are needed");
      for (const auto& [name, text] : value.fields) rule.defaults.emplace_back(name.text, text.text);
    } else {
      std::string* text = key.text == "kind"      ? &rule.kind
                          : key.text == "returns" ? &rule.returns
                          : key.text == "layer"   ? &rule.layer
                          : key.text == "source"  ? &rule.source
                                                  : nullptr;
      if (text == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
      if (!value.is_scalar()) return ErrorAt(value, "a text is needed");
      *text = value.text;
    }
  }
  if (rule.names.empty()) return ErrorAt(node, "'api' is needed");
  if (rule.source.empty()) return ErrorAt(node, "'source' is needed, here or for the file");
  const std::size_t at = rules_.size();
  for (const std::string& name : rule.names) {
    if (!absl::StrContains(name, '*')) {
      exact_[name] = at;
    } else if (absl::StrContains(LastOf(name), '*')) {
      groups_.emplace_back(name, at);
    } else {
      by_last_[std::string(LastOf(name))].emplace_back(name, at);
    }
  }
  rules_.push_back(std::move(rule));
  return absl::OkStatus();
}

absl::Status ScriptRules::AddBase(const DocumentNode& node) {
  BaseRule base;
  for (const auto& [key, value] : node.fields) {
    if (key.text == "name") {
      base.name = value.text;
    } else if (key.text == "role") {
      base.role = value.text;
    } else if (key.text == "type") {
      base.type = value.text;
    } else if (key.text == "hooks") {
      PARITECT_ASSIGN_OR_RETURN(base.hooks, TextsOf(value));
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    }
  }
  if (base.name.empty() || base.role.empty()) return ErrorAt(node, "'name' and 'role' are needed");
  bases_.push_back(std::move(base));
  return absl::OkStatus();
}

absl::Status ScriptRules::Add(const DocumentNode& root) {
  std::string framework;
  std::string source;
  for (const auto& [key, value] : root.fields) {
    if (key.text == "framework") {
      framework = value.text;
    } else if (key.text == "source") {
      source = value.text;
    } else if (key.text == "functions") {
      for (const DocumentNode& item : value.items) PARITECT_RETURN_IF_ERROR(AddApi(item, framework, source));
    } else if (key.text == "bases") {
      for (const DocumentNode& item : value.items) PARITECT_RETURN_IF_ERROR(AddBase(item));
    } else if (key.text == "renamed") {
      for (const auto& [from, to] : value.fields) renamed_.emplace_back(from.text, to.text);
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    }
  }
  return absl::OkStatus();
}

std::string ScriptRules::Canonical(absl::string_view full_name) const {
  for (const auto& [from, to] : renamed_) {
    if (full_name == from) return to;
    if (absl::StartsWith(full_name, from) && full_name[from.size()] == '.') {
      return absl::StrCat(to, full_name.substr(from.size()));
    }
  }
  return std::string(full_name);
}

const ApiRule* ScriptRules::Find(absl::string_view full_name) const {
  if (auto found = exact_.find(full_name); found != exact_.end()) return &rules_[found->second];
  if (auto found = by_last_.find(LastOf(full_name)); found != by_last_.end()) {
    for (auto one = found->second.rbegin(); one != found->second.rend(); ++one) {
      if (Matches(one->first, full_name)) return &rules_[one->second];
    }
  }
  const std::pair<std::string, std::size_t>* best = nullptr;
  for (const auto& one : groups_) {
    if ((best == nullptr || one.first.size() >= best->first.size()) && Matches(one.first, full_name)) best = &one;
  }
  return best == nullptr ? nullptr : &rules_[best->second];
}

const BaseRule* ScriptRules::FindBase(absl::string_view full_name) const {
  for (auto base = bases_.rbegin(); base != bases_.rend(); ++base) {
    if (Matches(base->name, full_name)) return &*base;
  }
  return nullptr;
}

}  // namespace paritect
