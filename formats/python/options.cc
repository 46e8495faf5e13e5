#include "formats/python/options.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {
namespace {

// What the command line gives the option, of the type of its default.
ValueId FromCommandLine(ScriptMachine& m, absl::string_view text, ValueId fallback) {
  const ScriptValue& as = m.values[fallback];
  if (text == "True" || text == "true" || text == "False" || text == "false") {
    if (as.kind != ValueKind::kText) return m.values.Boolean(absl::EqualsIgnoreCase(text, "true"));
  }
  if (as.kind != ValueKind::kText) {
    std::int64_t integer = 0;
    if (absl::SimpleAtoi(text, &integer)) {
      return as.kind == ValueKind::kNumber ? m.values.Number(static_cast<double>(integer)) : m.values.Integer(integer);
    }
    if (const auto number = ParseDouble(text)) return m.values.Number(*number);
  }
  return m.values.Text(text);
}

}  // namespace

ValueId OptionValue(ScriptMachine& m, const std::string& name, ValueId fallback) {
  ScriptValue value = m.values[fallback];
  if (auto given = m.command_line.find(name); given != m.command_line.end()) {
    value = m.values[FromCommandLine(m, given->second, fallback)];
  }
  value.option = name;
  if (!value.is_constant() && value.kind != ValueKind::kSequence && value.symbol.empty())
    value.symbol = absl::StrCat("option:", name);
  return m.values.Add(std::move(value));
}

}  // namespace paritect
