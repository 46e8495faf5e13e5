#include "formats/python/every.h"

#include <utility>

namespace paritect {
namespace {

// `text` of unknown values that are such a condition; `items` holds the count.
constexpr char kRest[] = "rest";
constexpr char kHolds[] = "once in";
constexpr char kElse[] = "but once in";

void Mark(ScriptMachine& m, ValueId value, const char* as, ValueId count) {
  ScriptValue& of = m.values[value];
  if (of.kind != ValueKind::kUnknown || !of.text.empty()) return;
  of.text = as;
  of.items = {count};
}

bool IsRest(const ScriptMachine& m, ValueId value) {
  return m.values[value].kind == ValueKind::kUnknown && m.values[value].text == kRest;
}

// `0`, or the last round: `step % 4 == 3`, `step % n == n - 1`.
bool IsRound(const ScriptMachine& m, ValueId value, ValueId count) {
  const ScriptValue& round = m.values[value];
  const ScriptValue& of = m.values[count];
  if (round.kind == ValueKind::kInteger) {
    return round.integer == 0 || (of.kind == ValueKind::kInteger && round.integer == of.integer - 1);
  }
  return m.values.SymbolOf(value) == "(" + m.values.SymbolOf(count) + " - 1)";
}

}  // namespace

void MarkRest(ScriptMachine& m, ValueId rest, ValueId divisor) {
  Mark(m, rest, kRest, divisor);
}

void MarkCompared(ScriptMachine& m, absl::string_view sign, ValueId a, ValueId b, ValueId result) {
  if (IsRest(m, b)) std::swap(a, b);
  if (!IsRest(m, a) || (sign != "==" && sign != "!=")) return;
  const ValueId count = m.values[a].items[0];
  if (IsRound(m, b, count)) Mark(m, result, sign == "==" ? kHolds : kElse, count);
}

void MarkNegated(ScriptMachine& m, ValueId of, ValueId result) {
  const auto every = EveryOf(m, of);
  if (every) Mark(m, result, every->holds ? kElse : kHolds, every->count);
}

ValueId MarkEither(ScriptMachine& m, ValueId a, ValueId b, ValueId result) {
  auto every = EveryOf(m, a);
  if (!every) every = EveryOf(m, b);
  if (!every || EveryOf(m, result)) return result;
  ScriptValue marked = m.values[result];
  if (marked.kind != ValueKind::kUnknown) return result;
  marked.text.clear();
  const ValueId id = m.values.Add(std::move(marked));
  Mark(m, id, every->holds ? kHolds : kElse, every->count);
  return id;
}

std::optional<EveryFew> EveryOf(const ScriptMachine& m, ValueId condition) {
  const ScriptValue& value = m.values[condition];
  if (value.kind != ValueKind::kUnknown || value.items.size() != 1) return std::nullopt;
  if (value.text == kHolds) return EveryFew{value.items[0], true};
  // The rest itself as a condition: it is not nought.
  if (value.text == kElse || value.text == kRest) return EveryFew{value.items[0], false};
  return std::nullopt;
}

}  // namespace paritect
