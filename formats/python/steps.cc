#include "formats/python/steps.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace paritect {
namespace {

constexpr char kOrder[] = "<order>";
constexpr std::size_t kStepsMax = 256;
constexpr int kDepthMax = 8;

bool IsStep(const ScriptMachine& m, const ScriptValue& value) {
  if (value.kind != ValueKind::kObject || value.fact < 0) return false;
  const std::string& kind = m.facts()[static_cast<std::size_t>(value.fact)].kind;
  return kind == "transform" || kind == "steps";
}

// False where the order of a list is not told.
// NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
bool Flatten(const ScriptMachine& m, ValueId id, int depth, std::vector<std::int32_t>& steps) {
  const ScriptValue& value = m.values[id];
  if (IsStep(m, value)) {
    steps.push_back(value.fact);
    return true;
  }
  if (value.kind != ValueKind::kSequence) {
    if (value.kind != ValueKind::kNone) steps.push_back(-1);
    return depth > 0;
  }
  if (!value.symbol.empty() || depth > kDepthMax || steps.size() > kStepsMax) return false;
  return std::all_of(value.items.begin(), value.items.end(),
                     [&](ValueId item) { return Flatten(m, item, depth + 1, steps); });
}

bool Holds(const ScriptMachine& m, ValueId id) {
  const std::vector<std::int32_t> facts = m.values.AllFacts(id);
  return std::any_of(facts.begin(), facts.end(), [&](std::int32_t fact) {
    const std::string& kind = m.facts()[static_cast<std::size_t>(fact)].kind;
    return kind == "transform" || kind == "steps";
  });
}

}  // namespace

void NoteSteps(ScriptMachine& m, MachineFact& fact) {
  constexpr absl::string_view kKinds[] = {"steps", "transform", "map", "dataset"};
  if (std::find(std::begin(kKinds), std::end(kKinds), fact.kind) == std::end(kKinds)) return;
  // By name: whichever argument stands first at the call.
  std::map<std::string, std::vector<std::int32_t>> by_argument;
  bool told = true;
  for (const FactArgument& one : fact.arguments) {
    const ValueKind kind = one.value == kNoValue ? ValueKind::kNone : m.values[one.value].kind;
    const bool own = kind == ValueKind::kClass || kind == ValueKind::kFunction;
    if (kind == ValueKind::kNone || own || !Holds(m, one.value)) continue;
    // Samples that passed steps before are no list of steps.
    const bool list = kind == ValueKind::kSequence || IsStep(m, m.values[one.value]);
    if (!list && fact.kind != "steps") continue;
    told = Flatten(m, one.value, 0, by_argument[one.name]) && told;
  }
  if (by_argument.empty()) return;
  ScriptValue order;
  order.kind = ValueKind::kSequence;
  for (const auto& [name, steps] : by_argument) {
    for (std::int32_t step : steps) order.items.push_back(m.values.Integer(step));
  }
  fact.arguments.push_back({kOrder, "", told ? m.values.Add(std::move(order)) : m.values.None(), false});
}

}  // namespace paritect
