#include "formats/python/builtins.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/python/attributes.h"
#include "formats/python/command_lines.h"
#include "formats/python/configurations.h"
#include "formats/python/lookups.h"
#include "formats/python/maps.h"
#include "formats/python/orders.h"
#include "formats/python/partials.h"

namespace paritect {
namespace {

std::string Symbol(const ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  std::string symbol = absl::StrCat(name, "(");
  for (const CallArgument& one : call.arguments) {
    absl::StrAppend(&symbol, symbol.back() == '(' ? "" : ", ", m.values.SymbolOf(one.value).substr(0, 200));
  }
  return absl::StrCat(symbol.substr(0, 390), ")");
}

// A value derived from all arguments; `order`: in their order.
ValueId FromAll(ScriptMachine& m, absl::string_view name, const ApiCall& call, bool order) {
  ScriptValue result;
  result.symbol = Symbol(m, name, call);
  for (const CallArgument& one : call.arguments) m.values.Derive(result, one.value, order);
  if (call.receiver != kNoValue) m.values.Derive(result, call.receiver, order);
  return m.values.Add(std::move(result));
}

ValueId SortedArgument(ScriptMachine& m, const ApiCall& call) {
  const ValueId of = Argument(call, 0);
  return of == kNoValue ? m.values.Unknown() : Sorted(m, of, Named(call, "key"), call.node);
}

ValueId List(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  const ValueId of = Argument(call, 0);
  ScriptValue list;
  list.kind = ValueKind::kSequence;
  if (of == kNoValue) return m.values.Add(std::move(list));
  const ScriptValue& given = m.values[of];
  if (given.kind != ValueKind::kSequence) {
    list.kind = ValueKind::kUnknown;
    list.symbol = Symbol(m, name, call);
  } else {
    list.items = given.items;
    list.symbol = given.symbol;
  }
  list.made_of = given.made_of;
  m.values.Derive(list, of);
  return m.values.Add(std::move(list));
}

// (index, item) of each, (a, b) of each: one stands for all.
ValueId Pairs(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  ScriptValue pair;
  pair.kind = ValueKind::kSequence;
  if (name == "enumerate") {
    ScriptValue index;
    index.symbol = "?index";
    index.traits = kPosition;
    if (Argument(call, 0) != kNoValue) index.unsorted = m.values.AllUnsorted(Argument(call, 0));
    pair.items.push_back(m.values.Add(std::move(index)));
  }
  for (const CallArgument& one : call.arguments) {
    if (one.name.empty() && !(name == "enumerate" && pair.items.size() == 2))
      pair.items.push_back(ElementOf(m, one.value));
  }
  ScriptValue all;
  all.kind = ValueKind::kSequence;
  all.symbol = Symbol(m, name, call);
  for (const CallArgument& one : call.arguments) m.values.Derive(all, one.value, false);
  all.items = {m.values.Add(std::move(pair))};
  return m.values.Add(std::move(all));
}

std::optional<ValueId> Converted(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  const ValueId of = Argument(call, 0);
  if (of == kNoValue) return std::nullopt;
  const ScriptValue& value = m.values[of];
  ValueId result = kNoValue;
  const auto number = value.kind == ValueKind::kText ? ParseDouble(value.text) : std::nullopt;
  if (name == "int" && (value.is_number() || number)) {
    const double of_number = number.value_or(value.as_number());
    if (std::fabs(of_number) < 9e15) result = m.values.Integer(static_cast<std::int64_t>(std::trunc(of_number)));
  } else if (name == "float" && (value.is_number() || number)) {
    result = m.values.Number(number.value_or(value.as_number()));
  } else if (name == "bool" && value.is_constant()) {
    if (const auto truth = TruthOf(m, of)) result = m.values.Boolean(*truth);
  } else if (name == "str" && value.is_number()) {
    result = m.values.Text(m.values.SymbolOf(of));
  } else if (name == "str" && value.kind == ValueKind::kText) {
    return of;
  }
  if (result == kNoValue) return FromAll(m, name, call, name == "str");
  m.values[result].option = value.option;
  return result;
}

std::optional<ValueId> Figure(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  std::vector<double> numbers;
  bool whole = true;
  for (const CallArgument& one : call.arguments) {
    const ScriptValue& value = m.values[one.value];
    if (!value.is_number() || !value.option.empty()) return FromAll(m, name, call, false);
    whole = whole && value.kind == ValueKind::kInteger;
    numbers.push_back(value.as_number());
  }
  if (numbers.empty() || (name != "abs" && name != "round" && numbers.size() < 2)) return FromAll(m, name, call, false);
  double result = numbers[0];
  if (name == "min") result = *std::min_element(numbers.begin(), numbers.end());
  if (name == "max") result = *std::max_element(numbers.begin(), numbers.end());
  if (name == "abs") result = std::fabs(result);
  if (name == "round" && numbers.size() == 1) result = std::nearbyint(result);
  if (whole || (name == "round" && numbers.size() == 1)) return m.values.Integer(static_cast<std::int64_t>(result));
  return m.values.Number(result);
}

ValueId Super(ScriptMachine& m) {
  const Frame& frame = m.frame();
  if (frame.own_class == kNoValue || frame.self == kNoValue) return m.values.Unknown();
  ScriptValue value;
  value.kind = ValueKind::kSuper;
  value.self = frame.self;
  value.items = {frame.own_class};
  value.symbol = "super()";
  return m.values.Add(std::move(value));
}

ValueId Next(ScriptMachine& m, const ApiCall& call) {
  if (Argument(call, 0) == kNoValue) return m.values.Unknown();
  const ValueId element = ElementOf(m, Argument(call, 0));
  const NodeId from = call.arguments[0].node;
  const bool made_here = from != kNoNode && m.tree()[from].kind == Syntax::kCall;
  if (!made_here || m.values[element].unsorted.empty()) return element;
  // Always the first of a listing of its own: whichever it is, it is no list in an order.
  ScriptValue picked = m.values[element];
  picked.unsorted.clear();
  return m.values.Add(std::move(picked));
}

ValueId Dictionary(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  ScriptValue map;
  map.kind = ValueKind::kMap;
  if (const ValueId pairs = Argument(call, 0); pairs != kNoValue) {
    const ScriptValue of = m.values[pairs];
    const bool pairs_of = of.kind == ValueKind::kSequence;  // whose keys are texts or places
    if (!pairs_of) AddAllFields(m, map, pairs);
    m.values.Derive(map, pairs);
    SetByPosition(map, absl::StartsWith(of.symbol, "enumerate(") || absl::StartsWith(of.symbol, "zip(range("));
  }
  for (const CallArgument& one : call.arguments) {
    if (one.splat || !one.name.empty()) SetFieldOf(map, one.splat ? kMore : one.name, one.value);
  }
  map.symbol = Symbol(m, name, call);
  return m.values.Add(std::move(map));
}

// setattr(object, name, value)
ValueId SetByName(ScriptMachine& m, const ApiCall& call) {
  const ValueId object = Argument(call, 0);
  const ValueId name = Argument(call, 1);
  const ValueId value = Argument(call, 2);
  if (m.values[name].kind == ValueKind::kText) {
    SetAttribute(m, object, m.values[name].text, value, call.node);
    return m.values.None();
  }
  // `setattr(self, f"layer{i}", nn.Linear(...))` makes a part; what else is set may be anything that it holds.
  const ValueKind kind = m.values[value].kind;
  const bool part = kind == ValueKind::kObject || kind == ValueKind::kInstance || kind == ValueKind::kFunction;
  if (part && !m.values[object].is_constant()) {
    m.SetField(object, absl::StrCat("<part of ", m.values.SymbolOf(name).substr(0, 80), ">"), value);
  } else {
    Stir(m, object);
  }
  return m.values.None();
}

// Code that is made as it runs: what it sets is not known.
ValueId RunText(ScriptMachine& m, const ApiCall& call) {
  m.Doubt("script_exec", Symbol(m, "exec", call).substr(0, 80), call.node);
  const int scope = m.frame().scope;
  for (const auto& [name, value] : m.NamesOf(scope)) {
    if (!m.values[value].is_constant() || name == "__name__") continue;
    ScriptValue perhaps = m.values[value];
    perhaps.option = name;
    m.Set(scope, name, m.values.Add(std::move(perhaps)));
  }
  return m.values.None();
}

}  // namespace

std::optional<ValueId> CallSpecial(ScriptMachine& m, const ApiCall& call) {
  if (absl::StartsWith(call.name, "builtins.")) return CallBuiltin(m, absl::string_view(call.name).substr(9), call);
  if (auto result = CallCommandLine(m, call)) return result;
  if (call.name == "os.environ.get" || call.name == "os.getenv" || call.name == "os.environ.setdefault" ||
      call.name == "os.environ.pop") {
    const ValueId name = Argument(call, 0);
    if (name != kNoValue && m.values[name].kind == ValueKind::kText)
      return EnvironmentValue(m, m.values[name].text, Argument(call, 1));
  }
  if (call.name == "functools.partial" && !call.arguments.empty()) return MakePartial(m, call);
  if (call.name == "importlib.import_module") return CallBuiltin(m, "__import__", call);
  if (absl::EndsWith(call.name, ".app.run") && !call.arguments.empty()) {
    return m.Call(call.arguments[0].value, {}, call.node);
  }
  if ((call.name == "tensorflow.app.run" || call.name == "absl.app.run") && call.arguments.empty()) {
    const ValueId main = m.Look("main");
    if (main != kNoValue) return m.Call(main, {}, call.node);
  }
  // What only shows how far a loop is.
  if (absl::EndsWith(call.name, ".tqdm") || absl::EndsWith(call.name, ".trange") || call.name == "tqdm" ||
      absl::StartsWith(call.name, "rich.progress.")) {
    return Argument(call, 0) == kNoValue ? m.values.Unknown("range?") : Argument(call, 0);
  }
  if (call.name == "itertools.chain" || call.name == "itertools.cycle" ||
      call.name == "itertools.chain.from_iterable") {
    return Argument(call, 0) == kNoValue ? m.values.Unknown() : FromAll(m, call.name, call, true);
  }
  if (absl::EndsWith(call.name, ".natsorted") || call.name == "numpy.sort" ||
      absl::EndsWith(call.name, ".humansorted") || call.name == "numpy.unique")
    return SortedArgument(m, call);
  return std::nullopt;
}

std::optional<ValueId> CallBuiltin(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  if (name == "sorted") return SortedArgument(m, call);
  if (name == "set" || name == "frozenset") return WithoutOrder(m, List(m, name, call), call.node);
  if (name == "list" || name == "tuple" || name == "iter" || name == "reversed") return List(m, name, call);
  if (name == "enumerate" || name == "zip") return Pairs(m, name, call);
  if (name == "int" || name == "float" || name == "bool" || name == "str") return Converted(m, name, call);
  if (name == "min" || name == "max" || name == "abs" || name == "round") {
    const std::optional<ValueId> figure = Figure(m, name, call);
    if (figure && !m.values[*figure].is_constant()) ++m.untold;
    return figure;
  }
  if (name == "super") return Super(m);
  if (name == "len") {
    // With two options and more it is no path of a file of arguments alone: `if len(sys.argv) == 2 and ...`.
    const ValueId of = Argument(call, 0);
    const bool words = of != kNoValue && m.values[of].kind == ValueKind::kApi && m.values[of].text == "sys.argv";
    if (words && m.command_line_known && m.command_line.size() > 1)
      return m.values.Integer(static_cast<std::int64_t>(1 + 2 * m.command_line.size()));
    const ValueId length = FromAll(m, name, call, false);
    m.values[length].traits |= kPosition;  // items[len(items)] = ...
    return length;
  }
  if (name == "sum" || name == "any" || name == "all" || name == "hash" || name == "id" || name == "isinstance" ||
      name == "hasattr" || name == "callable" || name == "divmod" || name == "pow") {
    if (name == "sum" || name == "divmod" || name == "pow") ++m.untold;
    return FromAll(m, name, call, false);
  }
  if (name == "next") return Next(m, call);
  if (name == "dict") return Dictionary(m, name, call);
  if (name == "map" && Argument(call, 1) != kNoValue) {
    m.OpenLoop(Argument(call, 1), call.node);
    const ValueId element =
        m.Call(Argument(call, 0), {{"", ElementOf(m, Argument(call, 1)), kNoNode, false}}, call.node);
    m.CloseLoop();
    ScriptValue all;
    all.symbol = Symbol(m, name, call);
    m.values.Derive(all, Argument(call, 1));
    m.values.Derive(all, element);
    return m.values.Add(std::move(all));
  }
  if (name == "filter" && Argument(call, 1) != kNoValue) {
    ScriptValue all;
    all.symbol = Symbol(m, name, call);
    m.values.Derive(all, Argument(call, 1));
    return m.values.Add(std::move(all));
  }
  if (name == "getattr" && Argument(call, 1) != kNoValue && m.values[Argument(call, 1)].kind == ValueKind::kText) {
    const std::string attribute = m.values[Argument(call, 1)].text;
    return m.Attribute(Argument(call, 0), attribute);
  }
  if (name == "setattr" && Argument(call, 2) != kNoValue) return SetByName(m, call);
  if (name == "exec" || name == "execfile") return RunText(m, call);
  if (name == "eval") {
    const ValueId result = FromAll(m, name, call, true);
    m.values[result].symbol += "?";
    return result;
  }
  if (name == "__import__" && Argument(call, 0) != kNoValue && m.values[Argument(call, 0)].kind == ValueKind::kText)
    return m.PackageName(m.values[Argument(call, 0)].text);
  if (name == "vars" && Argument(call, 0) != kNoValue) return Argument(call, 0);
  if (name == "type" && Argument(call, 0) != kNoValue && m.values[Argument(call, 0)].kind == ValueKind::kInstance)
    return m.values[Argument(call, 0)].self;
  if (name == "print") return m.values.None();
  return FromAll(m, name, call, true);
}

namespace {

// NOLINTNEXTLINE(misc-no-recursion): a list that is one of two was made after these
void AddToContainer(ScriptMachine& m, absl::string_view name, ValueId self, ValueId added, ValueId place) {
  if (m.values[self].is_constant()) return;  // everybody's None
  const auto parts = m.values[self].fields;
  for (const auto& [field, part] : parts) {
    if (field != kEither) continue;
    ++m.conditional;
    AddToContainer(m, name, part, added, place);
    --m.conditional;
  }
  ScriptValue& list = m.values[self];
  if (list.kind == ValueKind::kSequence && list.items.size() < 256) {
    bool told = true;
    if (name == "append") {
      list.items.push_back(added);
    } else if (name == "extend") {
      const std::vector<ValueId> items = m.values[added].items;
      list.items.insert(list.items.end(), items.begin(), items.end());
      told = m.values[added].kind == ValueKind::kSequence && m.values[added].symbol.empty();
    } else if (name == "insert" && m.values[place].kind == ValueKind::kInteger) {
      const auto size = static_cast<std::int64_t>(list.items.size());
      const std::int64_t at = m.values[place].integer < 0 ? size + m.values[place].integer : m.values[place].integer;
      list.items.insert(list.items.begin() + std::clamp<std::int64_t>(at, 0, size), added);
    } else {
      told = false;
    }
    if (m.innermost_loop() >= 0 || m.conditional > 0 || !told) {
      list.symbol = absl::StrCat("list(", m.values.SymbolOf(added).substr(0, 300), ")");
    }
  }
  m.values.Derive(m.values[self], added);
}

std::optional<ValueId> CallMapMethod(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  const ValueId self = call.receiver;
  if ((name == "get" || name == "pop" || name == "setdefault") && Argument(call, 0) != kNoValue &&
      m.values[Argument(call, 0)].kind == ValueKind::kText) {
    const ValueId field = m.values.Field(self, m.values[Argument(call, 0)].text);
    if (field != kNoValue) return field;
    const ValueId more = m.values.Field(self, kMore);
    if (more != kNoValue && IsConfiguration(m.values[more]))
      return ConfigurationValue(m, more, m.values[Argument(call, 0)].text);
    if (more != kNoValue) return Derived(m, absl::StrCat("?", m.values[Argument(call, 0)].text), {more});
    if (Argument(call, 1) != kNoValue) return Argument(call, 1);
  }
  if (name == "items" || name == "values") {
    ScriptValue all;
    all.kind = ValueKind::kSequence;
    all.unsorted = m.values[self].unsorted;
    const auto fields = m.values[self].fields;
    for (const auto& [key, value] : fields) {
      if (name == "values") {
        all.items.push_back(value);
        continue;
      }
      ScriptValue pair;
      pair.kind = ValueKind::kSequence;
      pair.items = {m.values.Text(key), value};
      all.items.push_back(m.values.Add(std::move(pair)));
    }
    if (m.values.Field(self, kMore) != kNoValue) all.symbol = "items of a dictionary?";
    return m.values.Add(std::move(all));
  }
  if (name == "update" && Argument(call, 0) != kNoValue) {
    ScriptValue given;
    AddAllFields(m, given, Argument(call, 0));
    for (const auto& [key, value] : given.fields) m.SetField(self, key, value);
  }
  if (name == "update") {
    for (const CallArgument& one : call.arguments) {
      if (one.splat || !one.name.empty()) m.SetField(self, one.splat ? kMore : one.name, one.value);
    }
    return m.values.None();
  }
  return std::nullopt;
}

// Of args, cfg, vars(args).
std::optional<ValueId> CallOptionsMethod(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  const ValueId self = call.receiver;
  const bool configuration = IsConfiguration(m.values[self]);
  const ValueId first = Argument(call, 0);
  // cfg.get("lr", 0.1)
  if (name == "get" && configuration && first != kNoValue && m.values[first].kind == ValueKind::kText)
    return m.Attribute(self, m.values[first].text);
  if (name == "setdefault" && configuration && first != kNoValue && m.values[first].kind == ValueKind::kText)
    return m.Attribute(self, m.values[first].text);
  if ((name == "clone" || name == "copy") && configuration) return m.values.Add(ScriptValue(m.values[self]));
  if (name == "update" && (configuration || call.arguments.size() == 1)) {
    const ValueId given = first;
    if (given != kNoValue && m.values[given].kind == ValueKind::kMap && !m.values[given].fields.empty()) {
      const auto fields = m.values[given].fields;
      for (const auto& [key, value] : fields) SetAttribute(m, self, key, value, call.node);
    } else if (given != kNoValue) {
      Stir(m, self);
    }
    for (const CallArgument& one : call.arguments) {
      if (!one.name.empty()) SetAttribute(m, self, one.name, one.value, call.node);
      if (one.splat) Stir(m, self);
    }
    return m.values.None();
  }
  if (IsOptionsMerge(name) && configuration) {
    if (absl::EndsWith(name, "from_file") && !call.arguments.empty()) NoteSettingsFile(m, call.arguments[0].value);
    Stir(m, self);
    return m.values.None();
  }
  return std::nullopt;
}

}  // namespace

std::optional<ValueId> CallContainerMethod(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  const ValueId self = call.receiver;
  const ValueKind kind = m.values[self].kind;
  if (name == "sort" && kind != ValueKind::kInstance) {
    SortInPlace(m, self, Named(call, "key"), call.node);
    return m.values.None();
  }
  if ((name == "append" || name == "add" || name == "extend" || name == "insert" || name == "appendleft" ||
       name == "put") &&
      !call.arguments.empty()) {
    AddToContainer(m, name, self, call.arguments.back().value, call.arguments.front().value);
    return m.values.None();
  }
  if (kind == ValueKind::kMap) {
    if (const auto value = CallMapMethod(m, name, call)) return value;
  }
  if (HoldsOptions(m, self)) {
    if (const auto value = CallOptionsMethod(m, name, call)) return value;
  }
  if (kind == ValueKind::kText) {
    const std::string text = m.values[self].text;
    if (name == "lower") return m.values.Text(absl::AsciiStrToLower(text));
    if (name == "upper") return m.values.Text(absl::AsciiStrToUpper(text));
    if (name == "strip" && call.arguments.empty()) return m.values.Text(absl::StripAsciiWhitespace(text));
    if (name == "startswith" && Argument(call, 0) != kNoValue && m.values[Argument(call, 0)].kind == ValueKind::kText) {
      return m.values.Boolean(absl::StartsWith(text, m.values[Argument(call, 0)].text));
    }
    return FromAll(m, absl::StrCat("text.", name), call, true);
  }
  return std::nullopt;
}

}  // namespace paritect
