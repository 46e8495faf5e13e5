#include "formats/python/records.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/lookups.h"
#include "formats/python/options.h"

namespace paritect {
namespace {

constexpr char kArguments[] = "training_arguments";
constexpr std::size_t kBasesMax = 16;
constexpr std::size_t kFieldsMax = 1'000;

// The names that the class and its bases in the project declare in their bodies, those of the bases first.
std::vector<std::string> FieldsOf(const ScriptMachine& m, ValueId type) {
  std::vector<ValueId> classes = {type};
  for (std::size_t i = 0; i < classes.size() && i < kBasesMax; ++i) {
    for (ValueId base : m.values[classes[i]].items) {
      if (m.values[base].kind == ValueKind::kClass) classes.push_back(base);
    }
  }
  std::vector<std::string> fields;
  for (auto one = classes.rbegin(); one != classes.rend(); ++one) {
    const ScriptValue& of = m.values[*one];
    const SyntaxTree& tree = m.module(of.module).tree;
    const NodeId body = tree.Child(of.node, Part::kBody);
    if (body == kNoNode) continue;
    for (NodeId child = tree[body].first; child != kNoNode; child = tree[child].next) {
      const NodeId inner = tree[child].kind == Syntax::kExpressionStatement ? tree[child].first : child;
      if (inner == kNoNode || tree[inner].kind != Syntax::kAssignment || fields.size() >= kFieldsMax) continue;
      const NodeId left = tree.Child(inner, Part::kLeft);
      if (left == kNoNode || tree[left].kind != Syntax::kIdentifier) continue;
      const std::string name(tree.TextOf(left));
      if (std::find(fields.begin(), fields.end(), name) == fields.end()) fields.push_back(name);
    }
  }
  return fields;
}

// The framework's class of arguments among the bases; "".
std::string ArgumentsBase(const ScriptMachine& m, ValueId type) {
  for (const std::string& base : FrameworkBases(m, type)) {
    const ApiRule* rule = m.rules.Find(base);
    if (rule != nullptr && rule->kind == kArguments) return base;
  }
  return "";
}

// What the command line gives that none of the records' own fields takes: the framework's arguments.
std::vector<CallArgument> OfCommandLine(ScriptMachine& m, const std::set<std::string>& taken) {
  std::vector<CallArgument> arguments;
  if (!m.command_line_known) return arguments;
  std::vector<std::string> names;
  for (const auto& [name, value] : m.command_line) {
    if (!taken.contains(name)) names.push_back(name);
  }
  for (const std::string& name : names)
    arguments.push_back({name, OptionValue(m, name, m.values.None()), kNoNode, false});
  return arguments;
}

ValueId Options(ScriptMachine& m) {
  ScriptValue options;
  options.kind = ValueKind::kObject;
  options.text = "options";
  options.option = ".";
  return m.values.Add(std::move(options));
}

ValueId Record(ScriptMachine& m, ValueId type) {
  ScriptValue record;
  record.kind = ValueKind::kInstance;
  record.self = type;
  record.symbol = absl::StrCat(m.values[type].text, "(options)");
  const ValueId self = m.values.Add(std::move(record));
  for (const std::string& name : FieldsOf(m, type)) {
    const ValueId own = ClassAttribute(m, type, name);
    m.SetField(self, name, OptionValue(m, name, own == kNoValue ? m.values.Unknown("") : own));
  }
  return self;
}

}  // namespace

ValueId FieldDefault(ScriptMachine& m, const ApiCall& call) {
  for (const char* name : {"default", "factory", "default_factory"}) {
    const ValueId given = Named(call, name);
    if (given == kNoValue) continue;
    return name == std::string("default") ? given : m.Call(given, {}, kNoNode);
  }
  // pydantic.Field(0.1), typer.Option(0.1)
  const ValueId first = Argument(call, 0);
  return first == kNoValue || m.values[first].kind == ValueKind::kUnknown ? m.values.Unknown("") : first;
}

std::vector<ValueId> RecordsOfOptions(ScriptMachine& m, const std::vector<ValueId>& classes, NodeId node) {
  std::set<std::string> taken;
  for (ValueId type : classes) {
    if (m.values[type].kind != ValueKind::kClass) continue;
    for (std::string& name : FieldsOf(m, type)) taken.insert(std::move(name));
  }
  std::vector<ValueId> records;
  for (ValueId type : classes) {
    const ScriptValue& of = m.values[type];
    if (of.kind == ValueKind::kClass) {
      records.push_back(Record(m, type));
      FinishRecord(m, records.back(), OfCommandLine(m, taken), node);
      continue;
    }
    const ApiRule* rule = of.kind == ValueKind::kApi ? m.rules.Find(of.text) : nullptr;
    const bool told = rule != nullptr && rule->kind == kArguments && m.command_line_known;
    records.push_back(told ? m.Call(type, OfCommandLine(m, taken), node) : Options(m));
  }
  return records;
}

void FinishRecord(ScriptMachine& m, ValueId record, const std::vector<CallArgument>& more, NodeId node) {
  const ValueId type = m.values[record].self;
  const ValueId after = ClassAttribute(m, type, "__post_init__");
  if (after != kNoValue && m.values[after].kind == ValueKind::kFunction) {
    ScriptValue method = m.values[after];
    method.self = record;
    m.Call(m.values.Add(std::move(method)), {}, kNoNode);
  }
  const std::string base = ArgumentsBase(m, type);
  if (base.empty()) return;
  std::vector<CallArgument> arguments = more;
  for (const std::string& name : FieldsOf(m, type)) {
    ValueId value = m.values.Field(record, name);
    if (value == kNoValue) value = ClassAttribute(m, type, name);
    if (value == kNoValue) continue;
    const auto given =
        std::find_if(arguments.begin(), arguments.end(), [&](const CallArgument& one) { return one.name == name; });
    if (given == arguments.end()) arguments.push_back({name, value, kNoNode, false});
  }
  const ValueId made = m.Call(m.values.Api(base), arguments, node);
  m.values[record].fact = m.values[made].fact;
  MergeNumbers(m.values[record].made_of, m.values[made].made_of);
}

}  // namespace paritect
