#include "formats/python/configurations.h"

#include <algorithm>

namespace paritect {
namespace {

constexpr char kStirred[] = "<stirred>";

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

}  // namespace paritect
