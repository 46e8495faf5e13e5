#include "formats/python/calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/api_calls.h"
#include "formats/python/attributes.h"
#include "formats/python/builtins.h"
#include "formats/python/closures.h"
#include "formats/python/command_lines.h"
#include "formats/python/contexts.h"
#include "formats/python/lookups.h"
#include "formats/python/maps.h"
#include "formats/python/options.h"
#include "formats/python/partials.h"
#include "formats/python/records.h"
#include "formats/python/steps.h"
#include "formats/python/untold.h"

namespace paritect {
namespace {

constexpr std::size_t kFramesMax = 40;
constexpr std::size_t kNetworksMax = 5'000;
constexpr int kDepthMax = 480;

// Parameters of a function with what a call gives them.
class Binding {
 public:
  Binding(ScriptMachine& machine, const ScriptValue& function, const std::vector<CallArgument>& arguments)
      : m_(machine), function_(function), tree_(machine.module(function.module).tree) {
    for (const CallArgument& one : arguments) {
      if (one.splat) {
        splat_ = one.value;
      } else if (one.name.empty()) {
        positional_.push_back(one.value);
      } else {
        named_.emplace_back(one.name, one.value);
      }
    }
  }

  // In the frame of the function.
  void Bind() {
    const NodeId list = tree_.ChildOf(function_.node, Syntax::kParameters);
    if (list == kNoNode) return;
    bool first = true;
    for (NodeId child = tree_[list].first; child != kNoNode; child = tree_[child].next) {
      Parameter(child, first);
      first = false;
    }
  }

 private:
  void Parameter(NodeId node, bool first) {
    NodeId name = node;
    NodeId fallback = kNoNode;
    Syntax kind = tree_[node].kind;
    if (kind == Syntax::kTypedParameter) {
      name = tree_[node].first;
      if (name == kNoNode) return;
      kind = tree_[name].kind;
    } else if (kind == Syntax::kDefaultParameter || kind == Syntax::kTypedDefaultParameter) {
      name = tree_.Child(node, Part::kName);
      fallback = tree_.Child(node, Part::kValue);
      kind = Syntax::kIdentifier;
      if (name == kNoNode) return;
    }
    if (kind == Syntax::kListSplat) return Rest(tree_[name].first);
    if (kind == Syntax::kDictionarySplat) return NamedRest(tree_[name].first);
    if (kind != Syntax::kIdentifier) return;
    const std::string text(tree_.TextOf(name));
    m_.SetLocal(text, ValueOf(text, fallback, first));
  }

  ValueId ValueOf(const std::string& name, NodeId fallback, bool first) {
    if (first && function_.self != kNoValue) return function_.self;
    for (auto& [given, value] : named_) {
      if (given != name || value == kNoValue) continue;
      const ValueId taken = value;
      value = kNoValue;
      return taken;
    }
    if (next_ < positional_.size()) return positional_[next_++];
    if (splat_ != kNoValue) return Derived(m_, absl::StrCat("?", name), {splat_});
    if (function_.text == kOfOptions) return OfOption(name, fallback);
    if (fallback != kNoNode) return m_.Evaluate(fallback);
    if (function_.text == "hydra") {
      ScriptValue configuration;
      configuration.kind = ValueKind::kObject;
      configuration.text = "configuration";
      configuration.option = ".";
      m_.settings_file_untold = true;  // it is composed of files that the decorator's options choose
      return m_.values.Add(std::move(configuration));
    }
    return UnknownOfName(m_, name);
  }

  // A decorator has told the option, or the parameter is one by its name.
  ValueId OfOption(const std::string& name, NodeId fallback) {
    for (const auto& [option, value] : function_.fields) {
      if (option == name) return value;
    }
    return OptionValue(m_, name, fallback == kNoNode ? m_.values.Unknown("") : m_.Evaluate(fallback));
  }

  void Rest(NodeId name) {
    if (name == kNoNode) return;
    ScriptValue list;
    list.kind = ValueKind::kSequence;
    for (; next_ < positional_.size(); ++next_) list.items.push_back(positional_[next_]);
    if (splat_ != kNoValue) list.symbol = "arguments?";
    m_.SetLocal(tree_.TextOf(name), m_.values.Add(std::move(list)));
  }

  void NamedRest(NodeId name) {
    if (name == kNoNode) return;
    ScriptValue map;
    map.kind = ValueKind::kMap;
    for (const auto& [given, value] : named_) {
      if (value != kNoValue) map.fields.emplace_back(given, value);
    }
    if (splat_ != kNoValue) map.fields.emplace_back(kMore, splat_);
    m_.SetLocal(tree_.TextOf(name), m_.values.Add(std::move(map)));
  }

  ScriptMachine& m_;
  const ScriptValue& function_;
  const SyntaxTree& tree_;
  std::vector<ValueId> positional_;
  std::vector<std::pair<std::string, ValueId>> named_;
  ValueId splat_ = kNoValue;
  std::size_t next_ = 0;
};

std::string NameOfFunction(ScriptMachine& m, const ScriptValue& function) {
  const SyntaxTree& tree = m.module(function.module).tree;
  const NodeId name = tree.Child(function.node, Part::kName);
  std::string text = name == kNoNode ? "lambda" : std::string(tree.TextOf(name));
  if (!function.items.empty()) text = absl::StrCat(m.values[function.items[0]].text, ".", text);
  return text;
}

ValueId ResultOf(ScriptMachine& m, const Frame& frame) {
  if (!frame.yielded.empty()) {
    ScriptValue generator;
    generator.kind = ValueKind::kSequence;
    generator.symbol = absl::StrCat("generator ", frame.function);
    ValueId joined = frame.yielded[0];
    for (ValueId one : frame.yielded) joined = m.JoinValues(joined, one);
    generator.items = {joined};
    m.values.Derive(generator, joined);
    return m.values.Add(std::move(generator));
  }
  if (frame.returned.empty()) return m.values.None();
  ValueId joined = frame.returned[0];
  for (std::size_t i = 1; i < frame.returned.size(); ++i) joined = m.JoinValues(joined, frame.returned[i]);
  return joined;
}

// The names of the parameters of a class's __init__, without `self`.
std::vector<std::string> ParametersOf(const ScriptMachine& m, ValueId type) {
  std::vector<std::string> names;
  const ValueId init = ClassAttribute(m, type, "__init__");
  if (init == kNoValue || m.values[init].kind != ValueKind::kFunction) return names;
  const SyntaxTree& tree = m.module(m.values[init].module).tree;
  const NodeId list = tree.ChildOf(m.values[init].node, Syntax::kParameters);
  if (list == kNoNode) return names;
  for (NodeId child = tree[list].first; child != kNoNode; child = tree[child].next) {
    NodeId name = tree.Child(child, Part::kName);
    if (name == kNoNode) name = tree[child].kind == Syntax::kIdentifier ? child : tree[child].first;
    names.emplace_back(name == kNoNode ? "" : tree.TextOf(name));
  }
  if (!names.empty()) names.erase(names.begin());
  return names;
}

// What the project's class is to a framework, by the base that it derives from.
struct ClassRole {
  std::string role;
  std::string framework_base;
};

void NoteInstance(ScriptMachine& m, ValueId self, ValueId type, const ClassRole& as,
                  const std::vector<CallArgument>& arguments, NodeId node) {
  MachineFact fact;
  fact.kind = as.role;
  fact.name = m.values[type].text;
  fact.framework = as.framework_base.substr(0, as.framework_base.find('.'));
  fact.target = m.target;
  const std::vector<std::string> parameters = ParametersOf(m, type);
  std::size_t number = 0;
  for (const CallArgument& one : arguments) {
    std::string name = one.name;
    if (name.empty()) {
      name = number < parameters.size() ? parameters[number] : absl::StrCat("arg", number);
      ++number;
    }
    fact.arguments.push_back(
        {name, one.node == kNoNode ? "" : m.tree().CodeOf(one.node).substr(0, 200), one.value, false});
    if (as.role == "dataset" || as.role == "optimizer") MergeNumbers(fact.made_of, m.values.AllFacts(one.value));
  }
  if (as.role == "dataset") {
    MarkClosures(m, type);
    fact.arguments.push_back({"<code>", "", type, false});
  }
  NoteSteps(m, fact);
  const int added = m.AddFact(std::move(fact), node);
  m.values[self].fact = added;
  if (added >= 0) m.values[self].made_of = {added};
}

// Of a class without __init__: a record (dataclass), or what a framework's base keeps.
void KeepArguments(ScriptMachine& m, ValueId self, bool is_record, const std::vector<CallArgument>& arguments) {
  int number = 0;
  // Which fields are given by position or by `**options` the source may not tell.
  for (const CallArgument& one : arguments) {
    const bool told = one.splat && m.values[one.value].kind == ValueKind::kMap && !m.values[one.value].fields.empty();
    if (told) {
      const auto fields = m.values[one.value].fields;
      for (const auto& [name, value] : fields) m.SetField(self, name, value);
      if (m.values.Field(one.value, kMore) != kNoValue) Stir(m, self);
    } else if (is_record && (one.splat || one.name.empty())) {
      Stir(m, self);
    }
  }
  for (const CallArgument& one : arguments) {
    if (one.splat) continue;
    m.SetField(self, one.name.empty() ? absl::StrCat("<argument ", number++, ">") : one.name, one.value);
  }
}

ValueId Instantiate(ScriptMachine& m, ValueId type, const std::vector<CallArgument>& arguments, NodeId node) {
  const ScriptValue& of = m.values[type];
  ScriptValue instance;
  instance.kind = ValueKind::kInstance;
  instance.self = type;
  instance.symbol = absl::StrCat(of.text, "(");
  for (const CallArgument& one : arguments) {
    absl::StrAppend(&instance.symbol, one.name, one.name.empty() ? "" : "=",
                    m.values.SymbolOf(one.value).substr(0, 100), ", ");
  }
  instance.symbol = absl::StrCat(instance.symbol.substr(0, 390), ")");
  std::string role;
  std::string framework_base;
  for (const std::string& base : FrameworkBases(m, type)) {
    const BaseRule* rule = m.rules.FindBase(base);
    if (rule == nullptr || !role.empty()) continue;
    role = rule->role;
    framework_base = base;
  }
  // Classes with the protocol of a data set are one, whatever they derive from.
  if (role.empty() && ClassAttribute(m, type, "__getitem__") != kNoValue &&
      ClassAttribute(m, type, "__len__") != kNoValue)
    role = "dataset";
  const ValueId self = m.values.Add(std::move(instance));
  if (role == "module" || role == "dataset" || role == "trainer" || role == "optimizer") {
    NoteInstance(m, self, type, {role, framework_base}, arguments, node);
  }
  const ValueId init = ClassAttribute(m, type, "__init__");
  if (init != kNoValue && m.values[init].kind == ValueKind::kFunction) {
    ScriptValue method = m.values[init];
    method.self = self;
    EnterFunction(m, m.values.Add(std::move(method)), arguments);
  } else {
    KeepArguments(m, self, role.empty(), arguments);
    FinishRecord(m, self, arguments, node);
  }
  if (role == "module") {
    if (m.called && !m.mute && m.networks.size() < kNetworksMax) m.networks.push_back(self);
    const std::vector<std::int32_t> all = m.values.AllFacts(self);
    MergeNumbers(m.values[self].made_of, all);
    m.values[self].closed = true;
  }
  return self;
}

ValueId CallInstance(ScriptMachine& m, ValueId instance, const std::vector<CallArgument>& arguments, NodeId node) {
  if (ModuleOf(m, instance) != kNoValue) return CallNetwork(m, instance, arguments, node);
  const ValueId method = ClassAttribute(m, m.values[instance].self, "__call__");
  if (method != kNoValue && m.values[method].kind == ValueKind::kFunction) {
    ScriptValue bound = m.values[method];
    bound.self = instance;
    return m.Call(m.values.Add(std::move(bound)), arguments, node);
  }
  ++m.untold;
  ScriptValue result;
  result.symbol = absl::StrCat("call(", m.values.SymbolOf(instance), "?)");
  for (const CallArgument& one : arguments) m.values.Derive(result, one.value);
  return m.values.Add(std::move(result));
}

}  // namespace

ValueId EnterFunction(ScriptMachine& m, ValueId id, const std::vector<CallArgument>& arguments) {
  const ScriptValue& function = m.values[id];
  const auto* at_yield = std::exchange(m.next_at_yield, nullptr);
  if (function.text == kContextManager && at_yield == nullptr) return DeferContext(m, id, arguments);
  const SyntaxTree& tree = m.module(function.module).tree;
  int active = 0;
  const std::string name = NameOfFunction(m, function);
  for (const Frame& frame : m.frames()) active += frame.module == function.module && frame.function == name ? 1 : 0;
  if (active > 1 || m.frames().size() > kFramesMax || m.depth > kDepthMax || !m.Step()) {
    ++m.untold;
    ScriptValue result;
    result.symbol = "?";
    for (const CallArgument& one : arguments) m.values.Derive(result, one.value);
    return m.values.Add(std::move(result));
  }
  m.entered().insert({function.module, function.node});
  Frame frame;
  frame.module = function.module;
  frame.scope = m.NewScope(function.scope, function.module);
  frame.function = name;
  frame.at_yield = at_yield;
  ScriptValue bound = function;
  if (function.text == "classmethod" && function.self == kNoValue && !function.items.empty())
    bound.self = function.items[0];
  frame.self = bound.self;
  if (frame.self == kNoValue && !function.items.empty() && function.text != "staticmethod" && !arguments.empty()) {
    frame.self = arguments[0].value;  // Base.__init__(self, ...)
  }
  if (!function.items.empty()) frame.own_class = function.items[0];
  const std::string target = std::move(m.target);
  m.target.clear();
  m.frames().push_back(std::move(frame));
  const int untold = std::exchange(m.untold, 0);
  std::string stranger = std::exchange(m.stranger, "");
  const auto around = std::exchange(m.around, {});
  Binding(m, bound, arguments).Bind();
  const std::size_t every = m.every.size();
  const bool context = function.fact >= 0;
  if (context) m.contexts().push_back(function.fact);
  const NodeId body = tree.Child(function.node, Part::kBody);
  if (body != kNoNode && tree[body].kind == Syntax::kBlock) {
    m.Execute(body);
  } else if (body != kNoNode) {
    m.untold = 0;
    const ValueId value = m.Evaluate(body);  // of a lambda
    m.frame().returned.push_back(value);
    if (m.untold > 0) NoteUntold(m, function.node, m.Mark());
  }
  m.untold = untold;
  m.stranger = std::move(stranger);
  m.around = around;
  if (context) m.contexts().pop_back();
  m.every.resize(std::min(every, m.every.size()));
  const Frame done = std::move(m.frames().back());
  m.frames().pop_back();
  m.target = target;
  return ResultOf(m, done);
}

ValueId CallValue(ScriptMachine& m, ValueId callee, const std::vector<CallArgument>& arguments, NodeId node) {
  if (!m.Step() || m.depth > kDepthMax) return m.values.Unknown();
  const ScriptValue& of = m.values[callee];
  switch (of.kind) {
    case ValueKind::kFunction: return EnterFunction(m, callee, arguments);
    case ValueKind::kClass: return Instantiate(m, callee, arguments, node);
    case ValueKind::kInstance: return CallInstance(m, callee, arguments, node);
    case ValueKind::kApi: return CallApi(m, {of.text, kNoValue, arguments, node});
    case ValueKind::kBound: return CallMethod(m, of.text, {of.text, of.self, arguments, node});
    case ValueKind::kObject:
      if (IsPartial(of)) return CallPartial(m, callee, arguments, node);
      if (ModuleOf(m, callee) != kNoValue) return CallNetwork(m, callee, arguments, node);
      return CallApi(m, {of.text, callee, arguments, node});
    default: break;
  }
  // Something unknown is called: functions that it is given may be called by it.
  ++m.untold;
  NoteStranger(m, m.values[callee].symbol, arguments);
  RunCallbacks(m, arguments);
  ScriptValue result;
  result.symbol = absl::StrCat(m.values.SymbolOf(callee).substr(0, 100), "(");
  for (const CallArgument& one : arguments) {
    m.values.Derive(result, one.value);
    absl::StrAppend(&result.symbol, m.values.SymbolOf(one.value).substr(0, 100), ", ");
  }
  m.values.Derive(result, callee);
  result.symbol = absl::StrCat(result.symbol.substr(0, 390), ")?");
  return m.values.Add(std::move(result));
}

}  // namespace paritect
