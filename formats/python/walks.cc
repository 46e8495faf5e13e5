#include "formats/python/walks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paritect {

bool IsWalk(ScriptMachine& m, ValueId value) {
  const std::int32_t fact = m.values[value].fact;
  if (fact < 0) return false;
  const MachineFact& of = m.facts()[static_cast<std::size_t>(fact)];
  return of.kind == "listing" && absl::EndsWithIgnoreCase(of.name, "walk");
}

ValueId ElementOfWalk(ScriptMachine& m, ValueId walk) {
  const std::int32_t listing = m.values[walk].fact;
  const std::string symbol = absl::StrCat("each of ", m.values.SymbolOf(walk));
  const auto part = [&](absl::string_view name, bool in_order_of_walk) {
    ScriptValue value;
    value.symbol = absl::StrCat(symbol, ".", name);
    m.values.Derive(value, walk);
    if (!in_order_of_walk) value.unsorted = {listing};
    return m.values.Add(std::move(value));
  };
  ScriptValue element;
  element.kind = ValueKind::kSequence;
  element.items = {part("folder", true), part("folders", false), part("files", false)};
  m.values[element.items[1]].self = element.items[0];
  return m.values.Add(std::move(element));
}

}  // namespace paritect
