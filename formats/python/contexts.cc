#include "formats/python/contexts.h"

#include <utility>

#include "formats/python/lookups.h"

namespace paritect {
namespace {

constexpr char kDeferred[] = "deferred context";

ValueId MethodOf(ScriptMachine& m, ValueId instance, absl::string_view name) {
  if (m.values[instance].kind != ValueKind::kInstance) return kNoValue;
  const ValueId method = ClassAttribute(m, m.values[instance].self, name);
  if (method == kNoValue || m.values[method].kind != ValueKind::kFunction) return kNoValue;
  ScriptValue bound = m.values[method];
  bound.self = instance;
  return m.values.Add(std::move(bound));
}

// The generator runs to its `yield`, the block runs there, in the frame that it stands in, and then the rest.
Flow RunGenerator(ScriptMachine& m, ValueId deferred, NodeId alias, absl::FunctionRef<Flow()> body) {
  const ScriptValue of = m.values[deferred];
  const std::size_t place = m.frames().size() - 1;
  Flow flow = Flow::kOn;
  bool ran = false;
  const std::function<void(ValueId)> at_yield = [&](ValueId given) {
    if (ran) return;
    ran = true;
    Frame block = m.frames()[place];
    block.returned.clear();
    block.yielded.clear();
    m.frames().push_back(std::move(block));
    if (alias != kNoNode) m.Assign(alias, given);
    flow = body();
    const Frame done = std::move(m.frames().back());
    m.frames().pop_back();
    Frame& outer = m.frames()[place];
    outer.returned.insert(outer.returned.end(), done.returned.begin(), done.returned.end());
    outer.yielded.insert(outer.yielded.end(), done.yielded.begin(), done.yielded.end());
  };
  std::vector<CallArgument> arguments;
  for (ValueId one : of.items) arguments.push_back({"", one, kNoNode, false});
  for (const auto& [name, value] : of.fields) arguments.push_back({name, value, kNoNode, false});
  m.next_at_yield = &at_yield;
  m.Call(of.self, arguments, kNoNode);
  m.next_at_yield = nullptr;
  if (!ran) at_yield(m.values.Unknown());
  return flow;
}

}  // namespace

Flow RunWithin(ScriptMachine& m, ValueId manager, NodeId alias, absl::FunctionRef<Flow()> body) {
  const ScriptValue of = m.values[manager];
  if (of.kind == ValueKind::kObject && of.text == kDeferred) return RunGenerator(m, manager, alias, body);
  if (of.fact >= 0) m.contexts().push_back(of.fact);
  ValueId given = manager;
  if (const ValueId enter = MethodOf(m, manager, "__enter__"); enter != kNoValue) {
    const ValueId entered = m.Call(enter, {}, kNoNode);
    if (m.values[entered].kind != ValueKind::kNone) given = entered;
  }
  if (alias != kNoNode) m.Assign(alias, given);
  const Flow flow = body();
  if (const ValueId exit = MethodOf(m, manager, "__exit__"); exit != kNoValue) m.Call(exit, {}, kNoNode);
  if (of.fact >= 0) m.contexts().pop_back();
  return flow;
}

ValueId DeferContext(ScriptMachine& m, ValueId function, const std::vector<CallArgument>& arguments) {
  ScriptValue deferred;
  deferred.kind = ValueKind::kObject;
  deferred.text = kDeferred;
  deferred.symbol = "context manager";
  deferred.self = function;
  for (const CallArgument& one : arguments) {
    if (one.splat) continue;
    if (one.name.empty()) {
      deferred.items.push_back(one.value);
    } else {
      deferred.fields.emplace_back(one.name, one.value);
    }
  }
  return m.values.Add(std::move(deferred));
}

}  // namespace paritect
