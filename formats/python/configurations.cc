#include "formats/python/configurations.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace paritect {
namespace {

constexpr char kStirred[] = "<stirred>";

constexpr std::size_t kSettingsFilesMax = 64;

// A whole name: what begins with a joint (`f"{name}.yaml"`, `name + "_small.yaml"`) is the end of one that is not told.
bool IsSettingsName(absl::string_view name) {
  const std::size_t slash = name.find_last_of("/\\");
  const std::size_t first = slash == absl::string_view::npos ? 0 : slash + 1;
  if (first < name.size() && absl::StrContains("._-", name.substr(first, 1))) return false;
  constexpr absl::string_view kEndings[] = {".yaml", ".yml", ".json", ".toml", ".py"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](absl::string_view ending) { return absl::EndsWithIgnoreCase(name, ending); });
}

// The texts in quotes within a symbol: open('train.yaml'), join(?, 'train.yaml').
std::vector<std::string> QuotedIn(absl::string_view symbol) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < symbol.size(); ++at) {
    const char quote = symbol[at];
    if (quote != '\'' && quote != '"') continue;
    const std::size_t end = symbol.find(quote, at + 1);
    if (end == absl::string_view::npos) break;
    texts.emplace_back(symbol.substr(at + 1, end - at - 1));
    at = end;
  }
  return texts;
}

}  // namespace

bool IsConfiguration(const ScriptValue& value) {
  if (value.kind == ValueKind::kObject) return value.text == "configuration" || value.text == "options";
  return value.kind == ValueKind::kUnknown && !value.option.empty();
}

bool IsOptionsMerge(absl::string_view name) {
  constexpr absl::string_view kNames[] = {"merge_from_file",      "merge_from_list", "merge_from_dict",
                                          "merge_from_other_cfg", "merge_with",      "merge_with_dotlist",
                                          "load_from_file",       "from_file"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsOptionsMethod(absl::string_view name) {
  constexpr absl::string_view kNames[] = {"get", "items",      "keys",  "values", "update",
                                          "pop", "setdefault", "clone", "copy"};
  return IsOptionsMerge(name) || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsStirred(const ScriptMachine& m, ValueId object) {
  return m.values.Field(object, kStirred) != kNoValue;
}

void MarkStirred(ScriptMachine& m, ValueId object) {
  m.SetField(object, kStirred, m.values.Boolean(true));
}

void NoteSettingsFile(ScriptMachine& m, ValueId id) {
  const ScriptValue& value = m.values[id];
  // Put together in the code, or noted when it was read.
  if (value.kind == ValueKind::kMap || value.kind == ValueKind::kSequence || IsConfiguration(value)) return;
  bool named = false;
  for (const std::string& text : QuotedIn(m.values.SymbolOf(id))) {
    if (!IsSettingsName(text) || m.settings_files.size() >= kSettingsFilesMax) continue;
    named = true;
    m.settings_files.insert(text);
  }
  if (!named) m.settings_file_untold = true;
}

}  // namespace paritect
