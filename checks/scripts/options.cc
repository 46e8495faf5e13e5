#include "checks/scripts/options.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "checks/scripts/detail.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr char kOption[] = "option:";
constexpr char kMore[] = "*";  // `**options`
constexpr int kListMax = 64;

absl::string_view NameOf(absl::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// Whether the scripts may read this file: by name, where they name all that they read.
bool MayBeRead(const v1::ScriptTree& tree, absl::string_view path) {
  if (!tree.settings_files_known()) return true;
  return std::any_of(tree.settings_files().begin(), tree.settings_files().end(),
                     [&](const std::string& named) { return NameOf(named) == NameOf(path); });
}

// What the run's configurations that its scripts read state, by path ("data.batch_size"). A path with two values has
// none.
class Stated {
 public:
  Stated(const v1::ScriptTree& tree, const RunView& run) {
    for (const v1::Bundle* bundle : run.nodes) {
      for (const v1::Evidence& evidence : bundle->evidence()) {
        const bool read = evidence.outcome() == v1::OUTCOME_COLLECTED && evidence.has_settings();
        if (read) Add(evidence.settings(), MayBeRead(tree, evidence.source()));
      }
    }
  }

  bool empty() const { return values_.empty(); }

  const v1::Value* Find(const std::string& path) const {
    const auto found = values_.find(path);
    return found == values_.end() || contested_.contains(path) ? nullptr : found->second;
  }

  // What stands below a path by name; nullptr for what has parts of its own, or two values.
  std::map<std::string, const v1::Value*> Below(const std::string& path) const {
    std::map<std::string, const v1::Value*> parts;
    const std::string prefix = absl::StrCat(path, ".");
    for (auto it = values_.lower_bound(prefix); it != values_.end() && absl::StartsWith(it->first, prefix); ++it) {
      const std::string rest = it->first.substr(prefix.size());
      const std::size_t dot = rest.find('.');
      parts[rest.substr(0, dot)] = dot == std::string::npos ? Find(it->first) : nullptr;
    }
    return parts;
  }

 private:
  void Add(const v1::SettingsDocument& document, bool may_be_read) {
    const bool file = document.format() == "yaml" || document.format() == "json" || document.format() == "toml";
    // A command line may set what a file states (Hydra).
    const bool launch = document.format() == "launch-script" || document.kind() == "overrides";
    if (!launch && (!file || !may_be_read)) return;
    for (const v1::Setting& setting : document.settings()) {
      const auto [found, added] = values_.try_emplace(setting.raw_key(), &setting.value());
      const bool same = added || Shown(*found->second) == Shown(setting.value());
      if (!same || !setting.has_value()) contested_.insert(setting.raw_key());
    }
  }

  static std::string Shown(const v1::Value& value) {
    v1::ScriptArgument argument;
    *argument.mutable_value() = value;
    return ShowScriptValue(argument);
  }

  std::map<std::string, const v1::Value*> values_;
  std::set<std::string> contested_;
};

// As the reader writes a value that it knows; nullopt for what it would not write as one.
// NOLINTNEXTLINE(misc-no-recursion): lists in lists are not written
std::optional<std::string> SymbolOf(const v1::Value& value, bool in_list = false) {
  switch (value.kind_case()) {
    case v1::Value::kNull: return "None";
    case v1::Value::kBoolean: return value.boolean() ? "True" : "False";
    case v1::Value::kInteger: return absl::StrCat(value.integer());
    case v1::Value::kNumber: return FormatDouble(value.number());
    case v1::Value::kText: return absl::StrCat("'", value.text(), "'");
    case v1::Value::kList: {
      if (in_list || value.list().items_size() > kListMax) return std::nullopt;
      std::string out = "[";
      for (const v1::Value& item : value.list().items()) {
        const auto one = SymbolOf(item, true);
        if (!one) return std::nullopt;
        absl::StrAppend(&out, out.size() > 1 ? ", " : "", *one);
      }
      return absl::StrCat(out, "]");
    }
    default: return std::nullopt;
  }
}

bool InPath(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

class Resolution {
 public:
  Resolution(v1::ScriptTree& tree, const Stated& stated, const ScriptRules& rules)
      : tree_(tree), stated_(stated), rules_(rules) {}

  // False where nothing changed.
  bool Run() {
    for (v1::ScriptFact& fact : *tree_.mutable_facts()) {
      for (v1::ScriptArgument& argument : *fact.mutable_arguments()) Argument(argument);
      Spread(fact);
    }
    for (v1::ScriptLoop& loop : *tree_.mutable_loops()) loop.set_over(Replaced(loop.over(), nullptr));
    return changed_;
  }

 private:
  void Argument(v1::ScriptArgument& argument) {
    if (argument.has_value()) return;
    const v1::Value* whole = nullptr;
    const std::string symbol = Replaced(argument.symbol(), &whole);
    if (symbol == argument.symbol()) return;
    argument.set_symbol(symbol);
    argument.clear_option();
    if (whole != nullptr) *argument.mutable_value() = *whole;
  }

  // Text with options in it. `whole`: the value, where the text is nothing but an option, or a conversion of one.
  std::string Replaced(const std::string& text, const v1::Value** whole) {
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = text.find(kOption); at != std::string::npos; at = text.find(kOption, from)) {
      std::size_t end = at + sizeof(kOption) - 1;
      while (end < text.size() && InPath(text[end])) ++end;
      const v1::Value* value = stated_.Find(text.substr(at + sizeof(kOption) - 1, end - at - (sizeof(kOption) - 1)));
      const auto symbol = value == nullptr ? std::nullopt : SymbolOf(*value);
      if (!symbol) {
        out.append(text, from, end - from);
      } else {
        absl::StrAppend(&out, text.substr(from, at - from), *symbol);
        changed_ = true;
        if (whole != nullptr && IsWhole(text.substr(0, at), text.substr(end), *value)) *whole = value;
      }
      from = end;
    }
    return absl::StrCat(out, text.substr(from));
  }

  // "", or a conversion that leaves such a value as it is: float(, tuple(.
  static bool IsWhole(absl::string_view before, absl::string_view behind, const v1::Value& value) {
    if (before.empty()) return behind.empty();
    if (behind != ")") return false;
    if (before == "tuple(" || before == "list(") return value.has_list();
    if (before == "float(") return value.kind_case() == v1::Value::kNumber || value.kind_case() == v1::Value::kInteger;
    return before == "int(" && value.kind_case() == v1::Value::kInteger;
  }

  // `DataLoader(data, **cfg.loader)`: what stands below `loader`, and the function's defaults for the rest.
  void Spread(v1::ScriptFact& fact) {
    std::vector<std::string> paths;
    for (const v1::ScriptArgument& one : fact.arguments()) {
      if (one.name() == kMore && !one.has_value()) paths.push_back(one.option());
    }
    if (paths.empty()) return;
    std::vector<std::pair<std::string, const v1::Value*>> added;
    for (const std::string& path : paths) {
      const auto parts = path.empty() ? std::map<std::string, const v1::Value*>() : stated_.Below(path);
      if (parts.empty()) return;
      added.insert(added.end(), parts.begin(), parts.end());
    }
    google::protobuf::RepeatedPtrField<v1::ScriptArgument> arguments;
    for (v1::ScriptArgument& one : *fact.mutable_arguments()) {
      if (one.name() != kMore) *arguments.Add() = std::move(one);
    }
    *fact.mutable_arguments() = std::move(arguments);
    for (const auto& [name, value] : added) {
      v1::ScriptArgument& argument = *fact.add_arguments();
      argument.set_name(name);
      const auto symbol = value == nullptr ? std::nullopt : SymbolOf(*value);
      argument.set_symbol(symbol.value_or("?"));
      if (symbol) *argument.mutable_value() = *value;
    }
    AddDefaults(fact);
    changed_ = true;
  }

  void AddDefaults(v1::ScriptFact& fact) const {
    const ApiRule* rule = rules_.Find(fact.name());
    if (rule == nullptr) return;
    for (const auto& [name, text] : rule->defaults) {
      if (FindScriptArgument(fact, name) != nullptr) continue;
      v1::ScriptArgument& argument = *fact.add_arguments();
      argument.set_name(name);
      argument.set_text(text);
      argument.set_is_default(true);
      argument.set_symbol(text);
      SetDefault(text, *argument.mutable_value());
    }
  }

  // A default as the rules write it.
  // NOLINTNEXTLINE(misc-no-recursion): a list of plain values
  static void SetDefault(absl::string_view text, v1::Value& out) {
    if (text == "None") {
      out.set_null(true);
    } else if (text == "True" || text == "False") {
      out.set_boolean(text == "True");
    } else if (const auto number = ParseDouble(text)) {
      const bool whole = text.find_first_of(".eE") == absl::string_view::npos;
      if (whole) out.set_integer(static_cast<std::int64_t>(*number));
      if (!whole) out.set_number(*number);
    } else if (absl::StartsWith(text, "(") || absl::StartsWith(text, "[")) {
      text = text.substr(1, text.size() - 2);
      out.mutable_list();
      while (!text.empty()) {
        const std::size_t comma = text.find(',');
        SetDefault(absl::StripAsciiWhitespace(text.substr(0, comma)), *out.mutable_list()->add_items());
        text = comma == absl::string_view::npos ? "" : text.substr(comma + 1);
      }
    } else {
      out.set_text(std::string(text));
    }
  }

  v1::ScriptTree& tree_;
  const Stated& stated_;
  const ScriptRules& rules_;
  bool changed_ = false;
};

}  // namespace

std::shared_ptr<const v1::ScriptTree> WithStatedOptions(const v1::ScriptTree& tree, const RunView& run,
                                                        const ScriptRules& rules) {
  if (!tree.command_line_known()) return nullptr;
  const Stated stated(tree, run);
  if (stated.empty()) return nullptr;
  auto resolved = std::make_shared<v1::ScriptTree>(tree);
  if (!Resolution(*resolved, stated, rules).Run()) return nullptr;
  return resolved;
}

}  // namespace paritect
