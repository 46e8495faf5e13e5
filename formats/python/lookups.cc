#include "formats/python/lookups.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/python/configurations.h"
#include "formats/python/walks.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

constexpr std::size_t kUnrolledMax = 4;
constexpr int kBasesMax = 16;

// Names that parameters of a place in the job are given, where nothing else is known of them.
std::uint8_t TraitsOfName(absl::string_view name) {
  constexpr absl::string_view kRanks[] = {
      "rank",    "local_rank", "global_rank",        "dp_rank",    "shard_id", "shard_index",
      "rank_id", "node_rank",  "data_parallel_rank", "worker_rank"};
  constexpr absl::string_view kWorlds[] = {"world_size", "world",   "num_shards",         "num_replicas",
                                           "rank_size",  "dp_size", "data_parallel_size", "group_size",
                                           "nranks",     "n_ranks"};
  for (absl::string_view one : kRanks) {
    if (name == one) return kFollowsRank;
  }
  for (absl::string_view one : kWorlds) {
    if (name == one) return kFollowsWorld;
  }
  return 0;
}

}  // namespace

std::optional<bool> TruthOf(const ScriptMachine& m, ValueId id) {
  const ScriptValue& value = m.values[id];
  // What the command line may have changed decides nothing, unless the command line is known.
  if (!value.option.empty() && !m.command_line_known) return std::nullopt;
  switch (value.kind) {
    case ValueKind::kNone: return false;
    case ValueKind::kBoolean: return value.boolean;
    case ValueKind::kInteger: return value.integer != 0;
    case ValueKind::kNumber: return value.number != 0;
    case ValueKind::kText: return !value.text.empty();
    case ValueKind::kFunction:
    case ValueKind::kClass:
    case ValueKind::kModule:
    case ValueKind::kInstance: return true;
    case ValueKind::kApi:
      if (value.text == "typing.TYPE_CHECKING") return false;
      return std::nullopt;
    case ValueKind::kObject:
      // A scaler, a sampler, an optimizer is there or None.
      if (value.text == "pure" || value.text == "configuration" || absl::StartsWith(value.text, "numpy."))
        return std::nullopt;
      return true;
    default: return std::nullopt;
  }
}

std::vector<ValueId> UnrolledItems(const ScriptMachine& m, ValueId over) {
  const ScriptValue& value = m.values[over];
  if (value.kind != ValueKind::kSequence || !value.symbol.empty() || value.items.empty() ||
      value.items.size() > kUnrolledMax) {
    return {};
  }
  return value.items;
}

ValueId ElementOf(ScriptMachine& m, ValueId over) {
  if (over == kNoValue) return m.values.Unknown();
  if (IsWalk(m, over)) return ElementOfWalk(m, over);
  const ScriptValue& of = m.values[over];
  // A list of like things: the first stands for all.
  if (of.kind == ValueKind::kSequence && !of.items.empty() && of.unsorted.empty()) {
    ValueId joined = of.items[0];
    for (std::size_t i = 1; i < of.items.size() && i < 8; ++i) joined = m.JoinValues(joined, of.items[i]);
    return joined;
  }
  ScriptValue element;
  std::string symbol = m.values.SymbolOf(over);
  // A sample is told by the loader; what it is made of stands in the loader's own arguments, and would be cut here.
  if (of.fact >= 0 && m.facts()[static_cast<std::size_t>(of.fact)].kind == "loader" && symbol.find('(') < symbol.size())
    symbol = absl::StrCat(symbol.substr(0, symbol.find('(')), absl::StrContains(symbol, '?') ? "(?)" : "(...)");
  element.symbol = absl::StrCat("each of ", symbol);
  m.values.Derive(element, over);
  return m.values.Add(std::move(element));
}

ValueId ClassAttribute(const ScriptMachine& m, ValueId of_class, absl::string_view name) {
  std::vector<ValueId> open = {of_class};
  for (std::size_t i = 0; i < open.size() && i < kBasesMax; ++i) {
    const ScriptValue& one = m.values[open[i]];
    if (one.kind != ValueKind::kClass) continue;
    if (const ValueId found = m.values.Field(open[i], name); found != kNoValue) return found;
    open.insert(open.end(), one.items.begin(), one.items.end());
  }
  return kNoValue;
}

std::vector<std::string> FrameworkBases(const ScriptMachine& m, ValueId of_class) {
  std::vector<std::string> names;
  std::vector<ValueId> open = {of_class};
  for (std::size_t i = 0; i < open.size() && i < kBasesMax; ++i) {
    const ScriptValue& one = m.values[open[i]];
    if (one.kind == ValueKind::kApi) names.push_back(one.text);
    if (one.kind == ValueKind::kClass) open.insert(open.end(), one.items.begin(), one.items.end());
  }
  return names;
}

namespace {

// Of `super()`: the first base class of the project that has it, else what a framework's class would have.
ValueId AttributeOfSuper(ScriptMachine& m, ValueId object, const ScriptValue& of, absl::string_view name) {
  const std::vector<ValueId> bases = m.values[of.items[0]].items;
  for (ValueId base : bases) {
    const ValueId found = ClassAttribute(m, base, name);
    if (found == kNoValue || m.values[found].kind != ValueKind::kFunction) continue;
    ScriptValue method = m.values[found];
    method.self = of.self;
    return m.values.Add(std::move(method));
  }
  ScriptValue bound;
  bound.kind = ValueKind::kBound;
  bound.text = std::string(name);
  bound.self = of.self;
  bound.symbol = absl::StrCat("super.", name);
  bound.items = {object};
  return m.values.Add(std::move(bound));
}

}  // namespace

ValueId AttributeOf(ScriptMachine& m, ValueId object, absl::string_view name) {
  const ScriptValue& of = m.values[object];
  switch (of.kind) {
    case ValueKind::kApi:
      if (absl::EndsWith(of.text, "flags.FLAGS") && m.flags != kNoValue) {
        const ValueId option = m.values.Field(m.flags, name);
        return option != kNoValue ? option : ConfigurationValue(m, m.flags, name);
      }
      return m.PackageName(absl::StrCat(of.text, ".", name));
    case ValueKind::kModule: {
      const int scope = m.module(of.module).scope;
      const ValueId found = scope < 0 ? kNoValue : m.LookIn(scope, name);
      return found != kNoValue ? found : m.values.Unknown(absl::StrCat("?", name));
    }
    case ValueKind::kClass:
    case ValueKind::kInstance: {
      if (of.kind == ValueKind::kInstance) {
        if (const ValueId field = m.values.Field(object, name); field != kNoValue) return field;
        if (name == "__class__") return of.self;
        if (name == "__dict__") return object;
      }
      const ValueId found = ClassAttribute(m, of.kind == ValueKind::kInstance ? of.self : object, name);
      if (found != kNoValue) {
        ScriptValue method = m.values[found];
        if (of.kind != ValueKind::kInstance || method.kind != ValueKind::kFunction) return found;
        const bool fixed = method.text == "staticmethod";
        method.self = fixed ? kNoValue : object;
        const bool property = method.text == "property";
        const ValueId bound = m.values.Add(std::move(method));
        return property ? m.Call(bound, {}, kNoNode) : bound;
      }
      if (of.kind == ValueKind::kClass) {
        const std::vector<std::string> bases = FrameworkBases(m, object);
        if (!bases.empty()) return m.PackageName(absl::StrCat(bases[0], ".", name));
      }
      break;
    }
    case ValueKind::kSuper: return AttributeOfSuper(m, object, of, name);
    case ValueKind::kObject:
      if (const ValueId field = m.values.Field(object, name); field != kNoValue) return field;
      if (of.text == "wrapper" && of.self != kNoValue && name == "module") return of.self;
      if (name == "__dict__" && IsConfiguration(of)) return object;
      if (IsConfiguration(of)) return ConfigurationValue(m, object, name);
      break;
    case ValueKind::kUnknown:
      if (const ValueId field = m.values.Field(object, name); field != kNoValue) return field;
      if (!of.option.empty()) return ConfigurationValue(m, object, name);
      break;
    case ValueKind::kBound:
    case ValueKind::kFunction:
      if (const ValueId field = m.values.Field(object, name); field != kNoValue) return field;
      break;
    default: break;
  }
  ScriptValue bound;
  bound.kind = ValueKind::kBound;
  bound.text = std::string(name);
  bound.self = object;
  bound.symbol = absl::StrCat(m.values.SymbolOf(object), ".", name);
  bound.traits = of.traits;
  bound.made_of = of.made_of;
  if (of.kind != ValueKind::kInstance) bound.unsorted = of.unsorted;
  return m.values.Add(std::move(bound));
}

ValueId UnknownOfName(ScriptMachine& m, absl::string_view name) {
  const ValueId unknown = m.values.Unknown(absl::StrCat("?", name));
  m.values[unknown].traits = TraitsOfName(name);
  return unknown;
}

ValueId Derived(ScriptMachine& m, std::string symbol, std::initializer_list<ValueId> from) {
  ScriptValue value;
  value.symbol = std::move(symbol);
  if (value.symbol.size() > 400) value.symbol = absl::StrCat(value.symbol.substr(0, 400), "?");
  for (ValueId one : from) m.values.Derive(value, one);
  return m.values.Add(std::move(value));
}

ValueId ConfigurationValue(ScriptMachine& m, ValueId configuration, absl::string_view name) {
  const ScriptValue& of = m.values[configuration];
  const std::string path =
      of.option.empty() || of.option == "." ? std::string(name) : absl::StrCat(of.option, ".", name);
  ScriptValue value;
  const bool stirred = IsStirred(m, configuration);
  if (!stirred) value.option = path;
  value.symbol = absl::StrCat(stirred ? "?" : "option:", path);
  value.made_of = of.made_of;
  value.unsorted = of.unsorted;  // a record of a listed file is read like a configuration
  if (IsOptionsMethod(name)) {
    value.option.clear();
    value.kind = ValueKind::kBound;
    value.text = std::string(name);
    value.self = configuration;
    return m.values.Add(std::move(value));
  }
  // The same each time it is looked at, until it is set.
  const ValueId found = m.values.Field(configuration, name);
  if (found != kNoValue) return found;
  const ValueId id = m.values.Add(std::move(value));
  if (!stirred) m.AddField(configuration, name, id);
  return id;
}

ValueId EnvironmentValue(ScriptMachine& m, absl::string_view name, ValueId fallback) {
  const LauncherTable& launchers = BuiltInLaunchers();
  ScriptValue value;
  value.symbol = absl::StrCat("variable:", name);
  for (LauncherField field : {LauncherField::kRank, LauncherField::kLocalRank, LauncherField::kNodeRank}) {
    if (launchers.IsField(field, name)) value.traits |= kFollowsRank;
  }
  for (LauncherField field : {LauncherField::kWorldSize, LauncherField::kLocalSize}) {
    if (launchers.IsField(field, name)) value.traits |= kFollowsWorld;
  }
  if (value.traits != 0) {
    MachineFact fact;
    fact.kind = (value.traits & kFollowsRank) != 0 ? "rank" : "world_size";
    fact.name = absl::StrCat("os.environ[", name, "]");
    value.fact = m.AddFact(std::move(fact), kNoNode);
    if (value.fact >= 0) value.made_of = {value.fact};
  }
  if (fallback != kNoValue && value.traits == 0)
    value.symbol = absl::StrCat(value.symbol, " or ", m.values.SymbolOf(fallback));
  return m.values.Add(std::move(value));
}

bool IsModuleType(absl::string_view type) {
  return type == "torch.nn.Module" || type == "mindspore.nn.Cell" || type == "keras.Model" || type == "keras.Layer" ||
         type == "mindspore.nn.TrainCell" || type == "deepspeed.Engine" || type == "prepared";
}

ValueId ModuleOf(const ScriptMachine& m, ValueId id) {
  for (int round = 0; round < 8 && id != kNoValue; ++round) {
    const ScriptValue& value = m.values[id];
    if (value.kind == ValueKind::kObject) {
      if (value.text == "wrapper" || value.text == "prepared" || value.text == "deepspeed.Engine") {
        if (value.self == kNoValue) return IsModuleType(value.text) ? id : kNoValue;
        id = value.self;
        continue;
      }
      return IsModuleType(value.text) ? id : kNoValue;
    }
    if (value.kind != ValueKind::kInstance) return kNoValue;
    for (const std::string& base : FrameworkBases(m, value.self)) {
      const BaseRule* rule = m.rules.FindBase(base);
      if (rule != nullptr && (rule->role == "module" || (rule->role == "trainer" && absl::EndsWith(base, "Module"))))
        return id;
    }
    return kNoValue;
  }
  return kNoValue;
}

std::optional<std::string> LiteralText(absl::string_view literal) {
  std::size_t quote = literal.find_first_of("'\"");
  if (quote == absl::string_view::npos) return std::nullopt;
  const std::string prefix = absl::AsciiStrToLower(literal.substr(0, quote));
  if (absl::StrContains(prefix, 'f')) return std::nullopt;
  literal.remove_prefix(quote);
  const std::size_t width = literal.size() >= 6 && literal[1] == literal[0] && literal[2] == literal[0] ? 3 : 1;
  if (literal.size() < 2 * width) return std::nullopt;
  literal = literal.substr(width, literal.size() - 2 * width);
  if (absl::StrContains(prefix, 'r') || !absl::StrContains(literal, '\\')) return std::string(literal.substr(0, 4096));
  return absl::StrReplaceAll(
      literal.substr(0, 4096),
      {{"\\n", "\n"}, {"\\t", "\t"}, {"\\\\", "\\"}, {"\\'", "'"}, {"\\\"", "\""}, {"\\\n", ""}});
}

}  // namespace paritect
