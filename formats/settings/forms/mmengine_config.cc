// MMEngine's configuration in Python form, as a person writes it or the runner dumps it: `name = dict(key=value, ...)`.
// Nothing is executed: literals, dict(...), {...}, lists and names of literals that were assigned before are read; any
// other expression has no value. What `_base_` names is not read (noted). Source: mmengine/config/config.py.
#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/python_statements.h"
#include "formats/settings/python_text.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "mmengine-config";
constexpr int kDepthMax = 12;

int Sniff(absl::string_view head) {
  int found = 0;
  bool code = false;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    for (absl::string_view start :
         {"_base_ =", "optim_wrapper = dict(", "model = dict(", "train_dataloader = dict(", "train_cfg = dict(",
          "param_scheduler =", "default_hooks = dict(", "optimizer = dict(", "lr_config = dict(", "runner = dict("}) {
      found += absl::StartsWith(line, start) ? 1 : 0;
    }
    code = code || absl::StartsWith(line, "def ") || absl::StartsWith(line, "class ");
  });
  return code ? 0 : found >= 2 ? 85 : found == 1 ? 45 : 0;
}

class Reader {
 public:
  Reader(absl::string_view text, absl::string_view label) : builder_(kName, "arguments", label), text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') line_ends_.push_back(i);
    }
  }

  void Read() {
    for (absl::string_view statement : SplitOutsideBrackets(text_, '\n')) {
      const std::size_t equals = statement.find('=');
      if (equals == absl::string_view::npos) continue;
      const absl::string_view name = absl::StripAsciiWhitespace(statement.substr(0, equals));
      if (!IsIdentifier(name)) continue;
      const absl::string_view value = absl::StripAsciiWhitespace(statement.substr(equals + 1));
      if (name == "_base_") {
        builder_.AddNote("base_config", LineOf(value), "what _base_ names is not read; give the dumped configuration");
      }
      Add(std::string(name), value, 0);
    }
  }

  v1::SettingsDocument Finish() { return builder_.Finish(); }

 private:
  std::int64_t LineOf(absl::string_view part) const {
    const auto at = static_cast<std::size_t>(part.data() - text_.data());
    return std::lower_bound(line_ends_.begin(), line_ends_.end(), at) - line_ends_.begin() + 1;
  }

  // "dict(...)" or "{...}" that is the whole expression: its inside.
  static bool Inside(absl::string_view text, absl::string_view open, absl::string_view& inside) {
    if (!absl::StartsWith(text, open) || ClosingBracket(text, open.size() - 1) != text.size() - 1) return false;
    inside = text.substr(open.size(), text.size() - open.size() - 1);
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
  void Add(const std::string& key, absl::string_view text, int depth) {
    absl::string_view inside;
    if (depth > kDepthMax || text.empty()) return;
    if (Inside(text, "dict(", inside)) return AddPairs(key, inside, '=', depth);
    if (Inside(text, "{", inside)) return AddPairs(key, inside, ':', depth);
    if (Inside(text, "[", inside) && absl::StrContains(inside, "dict(")) {
      // What happens to a sample, as one value to compare: a step more or less moves the numbers of all that follow.
      if (absl::EndsWith(key, "pipeline")) builder_.AddText(key, Describe(text, depth), LineOf(text));
      int number = 0;
      for (absl::string_view item : SplitOutsideBrackets(inside, ',')) {
        Add(StrCat(key, ".", number++), item, depth + 1);
      }
      return;
    }
    AddValue(key, text, depth);
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void AddPairs(const std::string& key, absl::string_view inside, char divider, int depth) {
    for (absl::string_view pair : SplitOutsideBrackets(inside, ',')) {
      const std::size_t at = pair.find(divider);
      if (at == absl::string_view::npos) continue;
      absl::string_view name = absl::StripAsciiWhitespace(pair.substr(0, at));
      if (name.size() >= 2 && (name.front() == '\'' || name.front() == '"')) name = name.substr(1, name.size() - 2);
      Add(StrCat(key, ".", name), absl::StripAsciiWhitespace(pair.substr(at + 1)), depth + 1);
    }
  }

  // The divider of a dictionary's names and values, 0 where the text is none.
  static char IsDictionary(absl::string_view text, absl::string_view& inside) {
    return Inside(text, "dict(", inside) ? '=' : Inside(text, "{", inside) ? ':' : '\0';
  }

  // A list of transforms in one spelling: "[RandomResizedCrop(scale=224), RandomFlip(prob=0.5)]", whatever the order of
  // the arguments. How files are read is left out. NOLINTNEXTLINE(misc-no-recursion)
  std::string Describe(absl::string_view text, int depth) const {
    absl::string_view inside;
    text = absl::StripAsciiWhitespace(text);
    if (auto named = literals_.find(std::string(text)); named != literals_.end()) text = named->second;
    if (depth > kDepthMax) return std::string(text);
    if (const char divider = IsDictionary(text, inside); divider != 0) {
      std::map<std::string, std::string> arguments;
      for (absl::string_view pair : SplitOutsideBrackets(inside, ',')) {
        const std::size_t at = pair.find(divider);
        if (at == absl::string_view::npos) continue;
        const v1::Value name = ValueOfText(pair.substr(0, at));
        arguments[name.text()] = Describe(pair.substr(at + 1), depth + 1);
      }
      for (const char* loading : {"backend_args", "file_client_args", "imdecode_backend", "_scope_"})
        arguments.erase(loading);
      const std::string type = arguments["type"];
      arguments.erase("type");
      return StrCat(type, "(", absl::StrJoin(arguments, ", ", absl::PairFormatter("=")), ")");
    }
    if (Inside(text, "[", inside) || Inside(text, "(", inside)) {
      std::vector<std::string> items;
      for (absl::string_view item : SplitOutsideBrackets(inside, ',')) {
        if (!item.empty()) items.push_back(Describe(item, depth + 1));
      }
      return StrCat("[", absl::StrJoin(items, ", "), "]");
    }
    const v1::Value value = ValueOfText(text);
    return value.kind_case() == v1::Value::kNumber ? FormatDouble(value.number()) : PlainText(value);
  }

  static std::string PlainText(const v1::Value& value) {
    switch (value.kind_case()) {
      case v1::Value::kInteger: return StrCat(value.integer());
      case v1::Value::kBoolean: return value.boolean() ? "True" : "False";
      case v1::Value::kText: return value.text();
      default: return "None";
    }
  }

  void AddValue(const std::string& key, absl::string_view text, int depth) {
    std::string value(text);
    if (auto named = literals_.find(value); named != literals_.end()) value = named->second;
    v1::Setting* setting = builder_.Add(key, value, LineOf(text));
    if (setting == nullptr) return;
    // A bare word or an expression: what it would give is not known. Of a class its name is (mmengine's lazy imports).
    const bool literal = IsPythonLiteral(value);
    const bool name = absl::EndsWith(key, ".type") && std::all_of(value.begin(), value.end(), [](char c) {
                        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
                      });
    if (!literal && name) {
      setting->mutable_value()->set_text(value.substr(value.rfind('.') + 1));
    } else if (!literal) {
      setting->clear_value();
    }
    if (literal && depth == 0) literals_[key] = value;
  }

  SettingsBuilder builder_;
  absl::string_view text_;
  std::vector<std::size_t> line_ends_;
  std::map<std::string, std::string> literals_;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  const std::string plain = WithoutPythonComments(text);
  Reader reader(plain, label);
  reader.Read();
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kMmengineConfigSettings;
const SettingsFormat kMmengineConfigSettings = {kName, "arguments", &Sniff, &Parse};

}  // namespace paritect
