#include "formats/python/partials.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/python/maps.h"

namespace paritect {
namespace {

constexpr char kPartial[] = "functools.partial";

}  // namespace

bool IsPartial(const ScriptValue& value) {
  return value.kind == ValueKind::kObject && value.text == kPartial;
}

ValueId MakePartial(ScriptMachine& m, const ApiCall& call) {
  ScriptValue partial;
  partial.kind = ValueKind::kObject;
  partial.text = kPartial;
  partial.self = call.arguments[0].value;
  partial.symbol = absl::StrCat("partial(", m.values.SymbolOf(partial.self).substr(0, 150));
  m.values.Derive(partial, partial.self);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const CallArgument& one = call.arguments[i];
    if (one.splat || !one.name.empty()) {
      SetFieldOf(partial, one.splat ? kMore : one.name, one.value);
    } else {
      partial.items.push_back(one.value);
    }
    m.values.Derive(partial, one.value);
    absl::StrAppend(&partial.symbol, ", ", one.splat ? kMore : one.name, one.name.empty() ? "" : "=",
                    m.values.SymbolOf(one.value).substr(0, 100));
  }
  partial.symbol = absl::StrCat(partial.symbol.substr(0, 390), ")");
  return m.values.Add(std::move(partial));
}

ValueId CallPartial(ScriptMachine& m, ValueId partial, const std::vector<CallArgument>& arguments, NodeId node) {
  const ScriptValue of = m.values[partial];
  std::vector<CallArgument> all;
  for (ValueId item : of.items) all.push_back({"", item, kNoNode, false});
  all.insert(all.end(), arguments.begin(), arguments.end());
  for (const auto& [name, value] : of.fields) {
    // What the call gives itself counts before what was fixed.
    const bool given = std::any_of(arguments.begin(), arguments.end(),
                                   [&name = name](const CallArgument& one) { return one.name == name; });
    const bool more = name == kMore;
    if (more || !given) all.push_back({more ? "" : name, value, kNoNode, more});
  }
  return m.Call(of.self, all, node);
}

}  // namespace paritect
