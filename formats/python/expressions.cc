#include "formats/python/expressions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/numbers.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

constexpr int kDepthMax = 520;  // of expressions and calls together
constexpr std::size_t kUnrolledMax = 4;
constexpr std::size_t kItemsMax = 2'000;
constexpr int kBasesMax = 16;

// Names that parameters of a place in the job are given, where nothing else is known of them.
std::uint8_t TraitsOfName(absl::string_view name) {
  constexpr absl::string_view kRanks[] = {"rank", "local_rank", "global_rank", "dp_rank", "shard_id", "shard_index", "rank_id",
                                          "node_rank", "data_parallel_rank", "worker_rank"};
  constexpr absl::string_view kWorlds[] = {"world_size", "world", "num_shards", "num_replicas", "rank_size", "dp_size",
                                           "data_parallel_size", "group_size", "nranks", "n_ranks"};
  for (absl::string_view one : kRanks) {
    if (name == one) return kFollowsRank;
  }
  for (absl::string_view one : kWorlds) {
    if (name == one) return kFollowsWorld;
  }
  return 0;
}

bool IsBuiltinName(absl::string_view name) {
  constexpr absl::string_view kNames[] = {
      "len",   "sorted", "list",  "tuple",    "set",     "frozenset", "dict",   "int",      "float",    "str",     "bool",
      "range", "print",  "min",   "max",      "sum",     "abs",       "round",  "enumerate", "zip",     "map",     "filter",
      "any",   "all",    "iter",  "next",     "reversed", "open",     "super",  "isinstance", "getattr", "setattr", "hasattr",
      "vars",  "type",   "repr",  "divmod",   "pow",     "hash",      "id",     "callable", "input",    "eval",    "property",
      "object"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

ValueId EvaluateName(ScriptMachine& m, NodeId node) {
  const absl::string_view name = m.tree().TextOf(node);
  if (const ValueId known = m.Look(name); known != kNoValue) return known;
  for (const std::string& package : m.module(m.frame().module).star_imports) {
    const std::string full = m.rules.Canonical(absl::StrCat(package, ".", name));
    if (m.rules.Find(full) != nullptr) return m.values.Api(full);
  }
  if (IsBuiltinName(name)) return m.values.Api(absl::StrCat("builtins.", name));
  return UnknownOfName(m, name);
}

ValueId EvaluateNumber(ScriptMachine& m, NodeId node) {
  std::string text = absl::StrReplaceAll(m.tree().TextOf(node), {{"_", ""}});
  if (m.tree()[node].kind == Syntax::kInteger) {
    while (!text.empty() && (text.back() == 'L' || text.back() == 'l')) text.pop_back();
    std::int64_t integer = 0;
    if (absl::StartsWithIgnoreCase(text, "0x") && absl::SimpleHexAtoi(text, &integer)) return m.values.Integer(integer);
    if (absl::SimpleAtoi(text, &integer)) return m.values.Integer(integer);
  }
  if (const auto number = ParseDouble(text)) return m.values.Number(*number);
  return m.values.Unknown(absl::StrCat("number ", text));
}

ValueId EvaluateText(ScriptMachine& m, NodeId node) {
  if (auto text = LiteralText(m.tree().TextOf(node))) return m.values.Text(*text);
  ScriptValue value;
  value.symbol = absl::StrCat("format(", m.tree().CodeOf(node).substr(0, 120), "?)");
  for (NodeId child = m.tree()[node].first; child != kNoNode; child = m.tree()[child].next) {
    if (m.tree()[child].kind != Syntax::kInterpolation) continue;
    for (NodeId inner = m.tree()[child].first; inner != kNoNode; inner = m.tree()[inner].next) {
      m.values.Derive(value, m.Evaluate(inner));
    }
  }
  return m.values.Add(std::move(value));
}

ValueId EvaluateConcatenated(ScriptMachine& m, NodeId node) {
  std::string whole;
  for (NodeId child = m.tree()[node].first; child != kNoNode; child = m.tree()[child].next) {
    auto text = LiteralText(m.tree().TextOf(child));
    if (!text) return m.values.Unknown("format(?)");
    whole += *text;
  }
  return m.values.Text(whole);
}

ValueId EvaluateItems(ScriptMachine& m, NodeId node) {
  ScriptValue list;
  list.kind = ValueKind::kSequence;
  for (NodeId child = m.tree()[node].first; child != kNoNode && list.items.size() < kItemsMax;
       child = m.tree()[child].next) {
    if (m.tree()[child].kind == Syntax::kListSplat) {
      const ValueId inner = m.Evaluate(m.tree()[child].first);
      if (m.values[inner].kind == ValueKind::kSequence) {
        const std::vector<ValueId> items = m.values[inner].items;
        list.items.insert(list.items.end(), items.begin(), items.end());
      }
      m.values.Derive(list, inner);
      list.symbol = "[...?]";
      continue;
    }
    list.items.push_back(m.Evaluate(child));
  }
  if (m.tree()[node].kind == Syntax::kSet) list.symbol = "set(?)";
  return m.values.Add(std::move(list));
}

ValueId EvaluateDictionary(ScriptMachine& m, NodeId node) {
  ScriptValue map;
  map.kind = ValueKind::kMap;
  map.symbol = "{";
  for (NodeId child = m.tree()[node].first; child != kNoNode; child = m.tree()[child].next) {
    if (m.tree()[child].kind == Syntax::kDictionarySplat) {
      const ValueId inner = m.Evaluate(m.tree()[child].first);
      const auto fields = m.values[inner].fields;
      map.fields.insert(map.fields.end(), fields.begin(), fields.end());
      continue;
    }
    const NodeId key = m.tree().Child(child, Part::kKey);
    const NodeId value = m.tree().Child(child, Part::kValue);
    if (key == kNoNode || value == kNoNode) continue;
    const ValueId name = m.Evaluate(key);
    const ValueId field = m.Evaluate(value);
    if (m.values[name].kind == ValueKind::kText && map.fields.size() < kItemsMax) {
      map.fields.emplace_back(m.values[name].text, field);
    } else {
      m.values.Derive(map, field);
    }
    if (map.symbol.size() < 300) absl::StrAppend(&map.symbol, m.values.SymbolOf(name), ": ", m.values.SymbolOf(field), ", ");
  }
  map.symbol += "}";
  return m.values.Add(std::move(map));
}

// --- operators

ValueId Arithmetic(ScriptMachine& m, absl::string_view sign, ValueId left, ValueId right) {
  const ScriptValue a = m.values[left];
  const ScriptValue b = m.values[right];
  ValueId result = kNoValue;
  if (a.is_number() && b.is_number()) {
    const double x = a.as_number();
    const double y = b.as_number();
    double out = NAN;
    if (sign == "+") out = x + y;
    if (sign == "-") out = x - y;
    if (sign == "*") out = x * y;
    if (sign == "/" && y != 0) out = x / y;
    if (sign == "//" && y != 0) out = std::floor(x / y);
    if (sign == "%" && y != 0) out = x - y * std::floor(x / y);
    if (sign == "**") out = std::pow(x, y);
    if (sign == "<<" && y >= 0 && y < 62) out = std::ldexp(x, static_cast<int>(y));
    const bool whole = a.kind == ValueKind::kInteger && b.kind == ValueKind::kInteger && sign != "/" &&
                       std::fabs(out) < 9e15 && out == std::floor(out);
    if (std::isfinite(out)) result = whole ? m.values.Integer(static_cast<std::int64_t>(out)) : m.values.Number(out);
  } else if (sign == "+" && a.kind == ValueKind::kText && b.kind == ValueKind::kText && a.text.size() + b.text.size() < 4096) {
    result = m.values.Text(absl::StrCat(a.text, b.text));
  } else if (sign == "+" && a.kind == ValueKind::kSequence && b.kind == ValueKind::kSequence &&
             a.items.size() + b.items.size() < kItemsMax) {
    ScriptValue list;
    list.kind = ValueKind::kSequence;
    list.items = a.items;
    list.items.insert(list.items.end(), b.items.begin(), b.items.end());
    list.unsorted = a.unsorted;
    MergeNumbers(list.unsorted, b.unsorted);
    result = m.values.Add(std::move(list));
  } else if (sign == "/" && a.kind == ValueKind::kObject && a.text == "pathlib.Path") {
    ScriptValue path;
    path.kind = ValueKind::kObject;
    path.text = "pathlib.Path";
    path.symbol = absl::StrCat(m.values.SymbolOf(left), " / ", m.values.SymbolOf(right));
    m.values.Derive(path, left);
    return m.values.Add(std::move(path));
  }
  if (result == kNoValue) {
    return Derived(m, absl::StrCat("(", m.values.SymbolOf(left), " ", sign, " ", m.values.SymbolOf(right), ")"), {left, right});
  }
  // A number that an option gives is that option's no longer, and still follows it.
  if (!a.option.empty() || !b.option.empty()) {
    m.values[result].option = absl::StrCat(a.option, a.option.empty() || b.option.empty() ? "" : ",", b.option);
  }
  return result;
}

ValueId EvaluateBinary(ScriptMachine& m, NodeId node) {
  const NodeId left = m.tree().Child(node, Part::kLeft);
  const NodeId right = m.tree().Child(node, Part::kRight);
  const NodeId sign = m.tree().Child(node, Part::kOperator);
  if (left == kNoNode || right == kNoNode || sign == kNoNode) return m.values.Unknown();
  const ValueId a = m.Evaluate(left);
  const ValueId b = m.Evaluate(right);
  return Arithmetic(m, m.tree().TextOf(sign), a, b);
}

std::optional<bool> Equal(const ScriptMachine& m, ValueId a, ValueId b) {
  const ScriptValue& x = m.values[a];
  const ScriptValue& y = m.values[b];
  if (x.is_constant() && y.is_constant()) {
    if (x.is_number() && y.is_number()) return x.as_number() == y.as_number();
    if (x.kind == y.kind) return m.values.SymbolOf(a) == m.values.SymbolOf(b) || (x.text == y.text && x.boolean == y.boolean && x.kind != ValueKind::kNone);
    return false;
  }
  if (x.kind == ValueKind::kApi && y.kind == ValueKind::kApi) return x.text == y.text;
  const auto is_object = [](const ScriptValue& value) {
    return value.kind == ValueKind::kObject || value.kind == ValueKind::kInstance || value.kind == ValueKind::kFunction ||
           value.kind == ValueKind::kClass || value.kind == ValueKind::kMap;
  };
  if ((x.kind == ValueKind::kNone && is_object(y)) || (y.kind == ValueKind::kNone && is_object(x))) return false;
  return std::nullopt;
}

std::optional<bool> Compare(const ScriptMachine& m, absl::string_view sign, ValueId a, ValueId b) {
  if (sign == "==" || sign == "is") return Equal(m, a, b);
  if (sign == "!=" || sign == "is not" || sign == "<>") {
    const auto equal = Equal(m, a, b);
    if (!equal) return std::nullopt;
    return !*equal;
  }
  const ScriptValue& x = m.values[a];
  const ScriptValue& y = m.values[b];
  if (sign == "in" || sign == "not in") {
    if (y.kind != ValueKind::kSequence || !x.is_constant() || !y.symbol.empty()) return std::nullopt;
    for (ValueId item : y.items) {
      const auto equal = Equal(m, a, item);
      if (!equal) return std::nullopt;
      if (*equal) return sign == "in";
    }
    return sign != "in";
  }
  if (!x.is_number() || !y.is_number()) return std::nullopt;
  if (sign == "<") return x.as_number() < y.as_number();
  if (sign == "<=") return x.as_number() <= y.as_number();
  if (sign == ">") return x.as_number() > y.as_number();
  if (sign == ">=") return x.as_number() >= y.as_number();
  return std::nullopt;
}

// "i % world == rank": samples or files are dealt by their number in the order in which they came.
void NoteModulo(ScriptMachine& m, NodeId node, ValueId a, ValueId b) {
  std::vector<std::int32_t> unsorted = m.values[a].unsorted;
  MergeNumbers(unsorted, m.values[b].unsorted);
  const std::uint8_t traits = m.values[a].traits | m.values[b].traits;
  if ((traits & kFollowsRank) == 0 || !absl::StrContains(m.tree().TextOf(node), '%')) return;
  MachineFact fact;
  fact.kind = "shard";
  fact.name = "modulo";
  fact.unsorted = std::move(unsorted);
  fact.arguments.push_back({"condition", m.tree().CodeOf(node), a, false});
  ScriptValue made;
  m.values.Derive(made, a);
  m.values.Derive(made, b);
  fact.made_of = std::move(made.made_of);
  m.AddFact(std::move(fact), node);
}

ValueId EvaluateComparison(ScriptMachine& m, NodeId node) {
  std::vector<ValueId> operands;
  std::string sign;
  for (NodeId child = m.tree()[node].first; child != kNoNode; child = m.tree()[child].next) {
    if (m.tree()[child].kind == Syntax::kOperator) {
      absl::StrAppend(&sign, sign.empty() ? "" : " ", m.tree().TextOf(child));
    } else {
      operands.push_back(m.Evaluate(child));
    }
  }
  if (operands.size() != 2) {
    ScriptValue value;
    value.symbol = "comparison(?)";
    for (ValueId operand : operands) m.values.Derive(value, operand, false);
    return m.values.Add(std::move(value));
  }
  NoteModulo(m, node, operands[0], operands[1]);
  std::string option = m.values[operands[0]].option;
  if (option.empty()) option = m.values[operands[1]].option;
  if (const auto known = Compare(m, sign, operands[0], operands[1])) {
    const ValueId result = m.values.Boolean(*known);
    m.values[result].option = option;
    return result;
  }
  return Derived(m, absl::StrCat("(", m.values.SymbolOf(operands[0]), " ", sign, " ", m.values.SymbolOf(operands[1]), ")"),
                 {operands[0], operands[1]});
}

ValueId EvaluateBoolean(ScriptMachine& m, NodeId node) {
  const NodeId left = m.tree().Child(node, Part::kLeft);
  const NodeId right = m.tree().Child(node, Part::kRight);
  const NodeId sign = m.tree().Child(node, Part::kOperator);
  if (left == kNoNode || right == kNoNode || sign == kNoNode) return m.values.Unknown();
  const bool is_and = m.tree().TextOf(sign) == "and";
  const ValueId a = m.Evaluate(left);
  const auto truth = TruthOf(m, a);
  if (truth.has_value()) return *truth == is_and ? m.Evaluate(right) : a;
  ++m.conditional;
  const ValueId b = m.Evaluate(right);
  --m.conditional;
  const ValueId joined = m.JoinValues(a, b);
  return joined;
}

ValueId EvaluateUnary(ScriptMachine& m, NodeId node) {
  const NodeId argument = m.tree().Child(node, Part::kArgument);
  if (argument == kNoNode) return m.values.Unknown();
  const ValueId value = m.Evaluate(argument);
  if (m.tree()[node].kind == Syntax::kNot) {
    const auto truth = TruthOf(m, value);
    if (truth) return m.values.Boolean(!*truth);
    return Derived(m, absl::StrCat("not ", m.values.SymbolOf(value)), {value});
  }
  const NodeId sign = m.tree().Child(node, Part::kOperator);
  const bool minus = sign != kNoNode && m.tree().TextOf(sign) == "-";
  const ScriptValue of = m.values[value];
  if (minus && of.kind == ValueKind::kInteger) return m.values.Integer(-of.integer);
  if (minus && of.kind == ValueKind::kNumber) return m.values.Number(-of.number);
  return minus ? Derived(m, absl::StrCat("-", m.values.SymbolOf(value)), {value}) : value;
}

// condition ? a : b: the three children are b's order "a if condition else b".
ValueId EvaluateConditional(ScriptMachine& m, NodeId node) {
  NodeId parts[3] = {kNoNode, kNoNode, kNoNode};
  int count = 0;
  for (NodeId child = m.tree()[node].first; child != kNoNode && count < 3; child = m.tree()[child].next) {
    if (m.tree()[child].kind != Syntax::kOperator) parts[count++] = child;
  }
  if (count < 3) return m.values.Unknown();
  const ValueId condition = m.Evaluate(parts[1]);
  const auto truth = TruthOf(m, condition);
  if (truth) return m.Evaluate(*truth ? parts[0] : parts[2]);
  ++m.conditional;
  const ValueId a = m.Evaluate(parts[0]);
  const ValueId b = m.Evaluate(parts[2]);
  --m.conditional;
  return m.JoinValues(a, b);
}

// --- subscripts

void NoteShard(ScriptMachine& m, NodeId node, ValueId base, ValueId index) {
  const std::uint8_t traits = m.values.AllTraits(index);
  const bool by_rank = (traits & kFollowsRank) != 0;
  const bool by_sample = (traits & kSampleNumber) != 0;
  const std::vector<std::int32_t> unsorted = m.values[base].unsorted;
  if (!by_rank && (!by_sample || unsorted.empty())) return;
  MachineFact fact;
  fact.kind = by_rank ? "shard" : "indexed";
  fact.name = "slice";
  fact.unsorted = unsorted;
  fact.arguments.push_back({"index", m.tree().CodeOf(node), index, false});
  ScriptValue made;
  m.values.Derive(made, base);
  m.values.Derive(made, index);
  fact.made_of = std::move(made.made_of);
  m.AddFact(std::move(fact), node);
}

ValueId EvaluateSlice(ScriptMachine& m, NodeId node) {
  ScriptValue slice;
  slice.symbol = "";
  for (NodeId child = m.tree()[node].first; child != kNoNode; child = m.tree()[child].next) {
    const ValueId part = m.Evaluate(child);
    m.values.Derive(slice, part);
    absl::StrAppend(&slice.symbol, slice.symbol.empty() ? "" : ":", m.values.SymbolOf(part));
  }
  absl::StrAppend(&slice.symbol, ":");
  return m.values.Add(std::move(slice));
}

ValueId EvaluateSubscript(ScriptMachine& m, NodeId node) {
  const NodeId object = m.tree().Child(node, Part::kValue);
  const NodeId subscript = m.tree().Child(node, Part::kSubscript);
  if (object == kNoNode || subscript == kNoNode) return m.values.Unknown();
  const ValueId base = m.Evaluate(object);
  const bool slice = m.tree()[subscript].kind == Syntax::kSlice;
  const ValueId index = slice ? EvaluateSlice(m, subscript) : m.Evaluate(subscript);
  const ScriptValue of = m.values[base];
  const ScriptValue at = m.values[index];
  if (of.kind == ValueKind::kApi && of.text == "os.environ" && at.kind == ValueKind::kText) {
    return EnvironmentValue(m, at.text, kNoValue);
  }
  if (!slice && of.kind == ValueKind::kSequence && at.kind == ValueKind::kInteger && of.symbol.empty()) {
    const auto size = static_cast<std::int64_t>(of.items.size());
    const std::int64_t place = at.integer < 0 ? at.integer + size : at.integer;
    if (place >= 0 && place < size) return of.items[static_cast<std::size_t>(place)];
  }
  if (at.kind == ValueKind::kText) {
    if (const ValueId field = m.values.Field(base, at.text); field != kNoValue) return field;
    if (of.kind == ValueKind::kObject && of.text == "configuration") return ConfigurationValue(m, base, at.text);
  }
  if (!slice && of.kind == ValueKind::kMap && !of.fields.empty()) {
    // One of its values, whichever.
    ValueId joined = of.fields[0].second;
    for (std::size_t i = 1; i < of.fields.size() && i < 8; ++i) joined = m.JoinValues(joined, of.fields[i].second);
    return joined;
  }
  NoteShard(m, node, base, index);
  ScriptValue value;
  value.symbol = absl::StrCat(m.values.SymbolOf(base), "[", m.values.SymbolOf(index), "]");
  if (slice && of.kind == ValueKind::kObject) {
    value.kind = ValueKind::kObject;
    value.text = of.text;
  }
  m.values.Derive(value, base);
  m.values.Derive(value, index, false);
  return m.values.Add(std::move(value));
}

// --- comprehensions

class Comprehension {
 public:
  Comprehension(ScriptMachine& machine, NodeId node) : m_(machine), node_(node) {
    for (NodeId child = m_.tree()[node].first; child != kNoNode; child = m_.tree()[child].next) {
      const Syntax kind = m_.tree()[child].kind;
      if (kind == Syntax::kForInClause || kind == Syntax::kIfClause) {
        clauses_.push_back(child);
      } else if (body_ == kNoNode) {
        body_ = child;
      }
    }
  }

  ValueId Run() {
    const int outer = m_.frame().scope;
    m_.frame().scope = m_.NewScope(outer, m_.frame().module);
    Clause(0);
    m_.frame().scope = outer;
    const Syntax kind = m_.tree()[node_].kind;
    ScriptValue value;
    value.made_of = made_.made_of;
    value.traits = made_.traits;
    if (kind != Syntax::kSetComprehension) value.unsorted = made_.unsorted;
    value.symbol = absl::StrCat("[", body_symbol_, symbol_, "]");
    if (kind == Syntax::kDictionaryComprehension) {
      value.kind = ValueKind::kMap;
      value.fields = std::move(fields_);
    } else if (unrolled_ && !elements_.empty()) {
      value.kind = ValueKind::kSequence;
      value.items = std::move(elements_);
      value.symbol = "";
    } else if (!elements_.empty()) {
      // A list of as many as there are: one stands for all.
      value.kind = ValueKind::kSequence;
      value.items = {elements_[0]};
    }
    if (kind == Syntax::kSetComprehension) value.symbol = absl::StrCat("set(", value.symbol, ")");
    return m_.values.Add(std::move(value));
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the source has clauses in one comprehension, which is bounded here
  void Clause(std::size_t number) {
    if (!m_.Step() || number > 8) return;
    if (number == clauses_.size()) return Element();
    const NodeId clause = clauses_[number];
    if (m_.tree()[clause].kind == Syntax::kIfClause) {
      const NodeId condition = m_.tree()[clause].first;
      const ValueId value = condition == kNoNode ? kNoValue : m_.Evaluate(condition);
      const auto truth = value == kNoValue ? std::nullopt : TruthOf(m_, value);
      absl::StrAppend(&symbol_, " if ", m_.values.SymbolOf(value).substr(0, 120));
      if (truth.has_value() && !*truth) return;
      return Clause(number + 1);
    }
    const NodeId left = m_.tree().Child(clause, Part::kLeft);
    const NodeId right = m_.tree().Child(clause, Part::kRight);
    if (left == kNoNode || right == kNoNode) return;
    const ValueId over = m_.Evaluate(right);
    m_.values.Derive(made_, over);
    absl::StrAppend(&symbol_, " for ", m_.values.SymbolOf(over).substr(0, 160));
    const std::vector<ValueId> items = UnrolledItems(m_, over);
    if (items.empty()) {
      unrolled_ = false;
      m_.Assign(left, ElementOf(m_, over));
      return Clause(number + 1);
    }
    for (ValueId item : items) {
      m_.Assign(left, item);
      Clause(number + 1);
    }
  }

  void Element() {
    if (body_ == kNoNode) return;
    const NodeId key = m_.tree().Child(body_, Part::kKey);
    if (key != kNoNode) {
      const ValueId name = m_.Evaluate(key);
      const ValueId field = m_.Evaluate(m_.tree().Child(body_, Part::kValue));
      if (m_.values[name].kind == ValueKind::kText) fields_.emplace_back(m_.values[name].text, field);
      m_.values.Derive(made_, field);
      return;
    }
    const ValueId element = m_.Evaluate(body_);
    body_symbol_ = m_.values.SymbolOf(element).substr(0, 120);
    m_.values.Derive(made_, element, false);
    if (elements_.size() < 64) elements_.push_back(element);
  }

  ScriptMachine& m_;
  const NodeId node_;
  NodeId body_ = kNoNode;
  std::vector<NodeId> clauses_;
  ScriptValue made_;
  std::vector<ValueId> elements_;
  std::vector<std::pair<std::string, ValueId>> fields_;
  std::string symbol_;
  std::string body_symbol_;
  bool unrolled_ = true;
};

ValueId EvaluateCall(ScriptMachine& m, NodeId node) {
  const NodeId function = m.tree().Child(node, Part::kFunction);
  const NodeId list = m.tree().Child(node, Part::kArguments);
  if (function == kNoNode) return m.values.Unknown();
  const std::string target = std::move(m.target);
  m.target.clear();
  const ValueId callee = m.Evaluate(function);
  std::vector<CallArgument> arguments;
  if (list != kNoNode && m.tree()[list].kind == Syntax::kGenerator) {
    arguments.push_back({"", Comprehension(m, list).Run(), list, false});
  } else if (list != kNoNode) {
    for (NodeId child = m.tree()[list].first; child != kNoNode; child = m.tree()[child].next) {
      const Syntax kind = m.tree()[child].kind;
      if (kind == Syntax::kKeywordArgument) {
        const NodeId value = m.tree().Child(child, Part::kValue);
        const NodeId name = m.tree().Child(child, Part::kName);
        if (value == kNoNode || name == kNoNode) continue;
        arguments.push_back({std::string(m.tree().TextOf(name)), m.Evaluate(value), value, false});
      } else if (kind == Syntax::kListSplat || kind == Syntax::kDictionarySplat) {
        const NodeId inner = m.tree()[child].first;
        if (inner == kNoNode) continue;
        const ValueId value = m.Evaluate(inner);
        // **{"a": 1} is a=1.
        if (kind == Syntax::kDictionarySplat && m.values[value].kind == ValueKind::kMap) {
          for (const auto& [name, field] : m.values[value].fields) arguments.push_back({name, field, inner, false});
        } else if (kind == Syntax::kListSplat && m.values[value].kind == ValueKind::kSequence && m.values[value].symbol.empty()) {
          for (ValueId item : m.values[value].items) arguments.push_back({"", item, inner, false});
        } else {
          arguments.push_back({"", value, inner, true});
        }
      } else {
        arguments.push_back({"", m.Evaluate(child), child, false});
      }
    }
  }
  m.target = target;
  const ValueId result = m.Call(callee, arguments, node);
  m.target.clear();
  return result;
}

ValueId EvaluateLambda(ScriptMachine& m, NodeId node) {
  ScriptValue function;
  function.kind = ValueKind::kFunction;
  function.module = m.frame().module;
  function.node = node;
  function.scope = m.frame().scope;
  function.symbol = absl::StrCat("function ", m.tree().CodeOf(node).substr(0, 200));
  return m.values.Add(std::move(function));
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
ValueId EvaluateExpression(ScriptMachine& m, NodeId node) {
  if (node == kNoNode || m.depth > kDepthMax || !m.Step()) return m.values.Unknown();
  ++m.depth;
  struct Leave {
    ScriptMachine& m;
    ~Leave() { --m.depth; }
  } leave{m};
  const SyntaxTree& tree = m.tree();
  switch (tree[node].kind) {
    case Syntax::kIdentifier: return EvaluateName(m, node);
    case Syntax::kInteger:
    case Syntax::kFloat: return EvaluateNumber(m, node);
    case Syntax::kString: return EvaluateText(m, node);
    case Syntax::kConcatenatedString: return EvaluateConcatenated(m, node);
    case Syntax::kTrue: return m.values.Boolean(true);
    case Syntax::kFalse: return m.values.Boolean(false);
    case Syntax::kNone: return m.values.None();
    case Syntax::kTuple:
    case Syntax::kList:
    case Syntax::kSet:
    case Syntax::kExpressionList:
    case Syntax::kPatternList: return EvaluateItems(m, node);
    case Syntax::kDictionary: return EvaluateDictionary(m, node);
    case Syntax::kBinary: return EvaluateBinary(m, node);
    case Syntax::kComparison: return EvaluateComparison(m, node);
    case Syntax::kBoolean: return EvaluateBoolean(m, node);
    case Syntax::kUnary:
    case Syntax::kNot: return EvaluateUnary(m, node);
    case Syntax::kConditional: return EvaluateConditional(m, node);
    case Syntax::kSubscript: return EvaluateSubscript(m, node);
    case Syntax::kSlice: return EvaluateSlice(m, node);
    case Syntax::kListComprehension:
    case Syntax::kSetComprehension:
    case Syntax::kDictionaryComprehension:
    case Syntax::kGenerator: return Comprehension(m, node).Run();
    case Syntax::kLambda: return EvaluateLambda(m, node);
    case Syntax::kCall: return EvaluateCall(m, node);
    case Syntax::kAttribute: {
      const NodeId object = tree.Child(node, Part::kObject);
      const NodeId name = tree.Child(node, Part::kAttribute);
      if (object == kNoNode || name == kNoNode) return m.values.Unknown();
      const std::string attribute(tree.TextOf(name));
      const ValueId of = m.Evaluate(object);
      return m.Attribute(of, attribute);
    }
    case Syntax::kNamedExpression: {
      const ValueId value = m.Evaluate(tree.Child(node, Part::kValue));
      m.Assign(tree.Child(node, Part::kName), value);
      return value;
    }
    case Syntax::kYield: {
      ValueId value = m.values.None();
      for (NodeId child = tree[node].first; child != kNoNode; child = m.tree()[child].next) value = m.Evaluate(child);
      if (m.frame().yielded.size() < 64) m.frame().yielded.push_back(value);
      return m.values.Unknown();
    }
    case Syntax::kParenthesized:
    case Syntax::kAwait:
    case Syntax::kInterpolation: return m.Evaluate(tree[node].first);
    case Syntax::kAsPattern: {
      const ValueId value = m.Evaluate(tree[node].first);
      const NodeId alias = tree.Child(node, Part::kAlias);
      if (alias != kNoNode) m.Assign(alias, value);
      return value;
    }
    default: break;
  }
  ScriptValue value;
  value.symbol = "?";
  for (NodeId child = tree[node].first; child != kNoNode; child = m.tree()[child].next) {
    m.values.Derive(value, m.Evaluate(child));
  }
  return m.values.Add(std::move(value));
}

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
      if (value.text == "pure" || value.text == "configuration" || absl::StartsWith(value.text, "numpy.")) return std::nullopt;
      return true;
    default: return std::nullopt;
  }
}

std::vector<ValueId> UnrolledItems(const ScriptMachine& m, ValueId over) {
  const ScriptValue& value = m.values[over];
  if (value.kind != ValueKind::kSequence || !value.symbol.empty() || value.items.empty() || value.items.size() > kUnrolledMax) {
    return {};
  }
  return value.items;
}

ValueId ElementOf(ScriptMachine& m, ValueId over) {
  if (over == kNoValue) return m.values.Unknown();
  const ScriptValue of = m.values[over];
  // A list of like things: the first stands for all.
  if (of.kind == ValueKind::kSequence && !of.items.empty() && of.unsorted.empty()) {
    ValueId joined = of.items[0];
    for (std::size_t i = 1; i < of.items.size() && i < 8; ++i) joined = m.JoinValues(joined, of.items[i]);
    return joined;
  }
  ScriptValue element;
  element.symbol = absl::StrCat("each of ", m.values.SymbolOf(over));
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

ValueId AttributeOf(ScriptMachine& m, ValueId object, absl::string_view name) {
  const ScriptValue of = m.values[object];
  switch (of.kind) {
    case ValueKind::kApi:
      if (absl::EndsWith(of.text, "flags.FLAGS") && m.flags != kNoValue) {
        const ValueId option = m.values.Field(m.flags, name);
        return option != kNoValue ? option : ConfigurationValue(m, m.flags, name);
      }
      return m.values.Api(m.rules.Canonical(absl::StrCat(of.text, ".", name)));
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
        if (!bases.empty()) return m.values.Api(absl::StrCat(bases[0], ".", name));
      }
      break;
    }
    case ValueKind::kSuper: {
      for (ValueId base : m.values[of.items[0]].items) {
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
    case ValueKind::kObject:
      if (const ValueId field = m.values.Field(object, name); field != kNoValue) return field;
      if (of.text == "wrapper" && of.self != kNoValue && name == "module") return of.self;
      if (of.text == "configuration" || of.text == "options") return ConfigurationValue(m, object, name);
      break;
    case ValueKind::kUnknown:
      if (!of.option.empty()) return ConfigurationValue(m, object, name);
      if (const ValueId field = m.values.Field(object, name); field != kNoValue) return field;
      break;
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
  const ScriptValue of = m.values[configuration];
  const std::string path = of.option.empty() || of.option == "." ? std::string(name) : absl::StrCat(of.option, ".", name);
  ScriptValue value;
  value.option = path;
  value.symbol = absl::StrCat("option:", path);
  value.made_of = of.made_of;
  if (name == "get" || name == "items" || name == "keys" || name == "values" || name == "update" || name == "pop") {
    value.option.clear();
    value.kind = ValueKind::kBound;
    value.text = std::string(name);
    value.self = configuration;
  }
  return m.values.Add(std::move(value));
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
  if (fallback != kNoValue && value.traits == 0) value.symbol = absl::StrCat(value.symbol, " or ", m.values.SymbolOf(fallback));
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
      if (rule != nullptr && (rule->role == "module" || (rule->role == "trainer" && absl::EndsWith(base, "Module")))) return id;
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
  return absl::StrReplaceAll(literal.substr(0, 4096), {{"\\n", "\n"}, {"\\t", "\t"}, {"\\\\", "\\"}, {"\\'", "'"}, {"\\\"", "\""}, {"\\\n", ""}});
}

}  // namespace paritect
