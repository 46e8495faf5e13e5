#include "formats/python/expressions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/numbers.h"
#include "formats/python/closures.h"
#include "formats/python/configurations.h"
#include "formats/python/every.h"
#include "formats/python/lookups.h"
#include "formats/python/maps.h"
#include "formats/python/orders.h"

namespace paritect {
namespace {

constexpr int kDepthMax = 520;  // of expressions and calls together
constexpr std::size_t kItemsMax = 2'000;

bool IsBuiltinName(absl::string_view name) {
  constexpr absl::string_view kNames[] = {
      "len",      "sorted", "list",      "tuple",    "set",    "frozenset",  "dict",    "int",
      "float",    "str",    "bool",      "range",    "print",  "min",        "max",     "sum",
      "abs",      "round",  "enumerate", "zip",      "map",    "filter",     "any",     "all",
      "iter",     "next",   "reversed",  "open",     "super",  "isinstance", "getattr", "setattr",
      "hasattr",  "vars",   "type",      "repr",     "divmod", "pow",        "hash",    "id",
      "callable", "input",  "eval",      "property", "object", "__import__", "exec",    "execfile"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

ValueId EvaluateName(ScriptMachine& m, NodeId node) {
  const absl::string_view name = m.tree().TextOf(node);
  if (const ValueId known = m.Look(name); known != kNoValue) return known;
  for (const std::string& package : m.module(m.frame().module).star_imports) {
    const std::string full = m.rules.Canonical(absl::StrCat(package, ".", name));
    if (m.rules.Find(full) != nullptr) return m.PackageName(full);
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
      AddAllFields(m, map, m.Evaluate(m.tree()[child].first));
      continue;
    }
    const NodeId key = m.tree().Child(child, Part::kKey);
    const NodeId value = m.tree().Child(child, Part::kValue);
    if (key == kNoNode || value == kNoNode) continue;
    const ValueId name = m.Evaluate(key);
    const ValueId field = m.Evaluate(value);
    if (m.values[name].kind == ValueKind::kText && map.fields.size() < kItemsMax) {
      SetFieldOf(map, m.values[name].text, field);
    } else {
      m.values.Derive(map, field);
    }
    if (map.symbol.size() < 300)
      absl::StrAppend(&map.symbol, m.values.SymbolOf(name), ": ", m.values.SymbolOf(field), ", ");
  }
  map.symbol += "}";
  return m.values.Add(std::move(map));
}

// --- operators

ValueId Arithmetic(ScriptMachine& m, absl::string_view sign, ValueId left, ValueId right) {
  const ScriptValue& a = m.values[left];
  const ScriptValue& b = m.values[right];
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
  } else if (sign == "+" && a.kind == ValueKind::kText && b.kind == ValueKind::kText &&
             a.text.size() + b.text.size() < 4096) {
    result = m.values.Text(absl::StrCat(a.text, b.text));
  } else if (sign == "+" && a.kind == ValueKind::kSequence && b.kind == ValueKind::kSequence &&
             a.items.size() + b.items.size() < kItemsMax) {
    ScriptValue list;
    list.kind = ValueKind::kSequence;
    list.items = a.items;
    list.items.insert(list.items.end(), b.items.begin(), b.items.end());
    if (!a.symbol.empty() || !b.symbol.empty())
      list.symbol = absl::StrCat("(", m.values.SymbolOf(left), " + ", m.values.SymbolOf(right), ")");
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
    ++m.untold;
    result = Derived(m, absl::StrCat("(", m.values.SymbolOf(left), " ", sign, " ", m.values.SymbolOf(right), ")"),
                     {left, right});
    if (sign == "%") MarkRest(m, result, right);
    return result;
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
    if (x.kind == y.kind)
      return m.values.SymbolOf(a) == m.values.SymbolOf(b) ||
             (x.text == y.text && x.boolean == y.boolean && x.kind != ValueKind::kNone);
    return false;
  }
  if (x.kind == ValueKind::kApi && y.kind == ValueKind::kApi) return x.text == y.text;
  const auto is_object = [](const ScriptValue& value) {
    return value.kind == ValueKind::kObject || value.kind == ValueKind::kInstance ||
           value.kind == ValueKind::kFunction || value.kind == ValueKind::kClass || value.kind == ValueKind::kMap;
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
    ++m.untold;
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
  ++m.untold;
  const ValueId result =
      Derived(m, absl::StrCat("(", m.values.SymbolOf(operands[0]), " ", sign, " ", m.values.SymbolOf(operands[1]), ")"),
              {operands[0], operands[1]});
  MarkCompared(m, sign, operands[0], operands[1], result);
  return result;
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
  ++m.untold;
  ++m.conditional;
  const ValueId b = m.Evaluate(right);
  --m.conditional;
  return MarkEither(m, a, b, m.JoinValues(a, b));
}

ValueId EvaluateUnary(ScriptMachine& m, NodeId node) {
  const NodeId argument = m.tree().Child(node, Part::kArgument);
  if (argument == kNoNode) return m.values.Unknown();
  const ValueId value = m.Evaluate(argument);
  if (m.tree()[node].kind == Syntax::kNot) {
    const auto truth = TruthOf(m, value);
    if (truth) return m.values.Boolean(!*truth);
    ++m.untold;
    const ValueId result = Derived(m, absl::StrCat("not ", m.values.SymbolOf(value)), {value});
    MarkNegated(m, value, result);
    return result;
  }
  const NodeId sign = m.tree().Child(node, Part::kOperator);
  const bool minus = sign != kNoNode && m.tree().TextOf(sign) == "-";
  const ScriptValue& of = m.values[value];
  if (minus && of.kind == ValueKind::kInteger) return m.values.Integer(-of.integer);
  if (minus && of.kind == ValueKind::kNumber) return m.values.Number(-of.number);
  if (minus) ++m.untold;
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
  ++m.untold;
  ++m.conditional;
  const ValueId a = m.Evaluate(parts[0]);
  const ValueId b = m.Evaluate(parts[2]);
  --m.conditional;
  return m.JoinValues(a, b);
}

// --- subscripts

// What a network gave follows everything; it deals nothing out.
bool FollowsTraining(ScriptMachine& m, ValueId index) {
  const std::vector<std::int32_t> facts = m.values.AllFacts(index);
  return std::any_of(facts.begin(), facts.end(), [&](std::int32_t fact) {
    const std::string& kind = m.facts()[static_cast<std::size_t>(fact)].kind;
    return kind == "forward" || kind == "module" || kind == "layer" || kind == "optimizer";
  });
}

void NoteShard(ScriptMachine& m, NodeId node, ValueId base, ValueId index) {
  const std::uint8_t traits = m.values.AllTraits(index);
  const bool by_rank = (traits & kFollowsRank) != 0 && !FollowsTraining(m, index);
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
  const ScriptValue& of = m.values[base];
  const ScriptValue& at = m.values[index];
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
    if (IsConfiguration(of)) return ConfigurationValue(m, base, at.text);
    if (const ValueId more = m.values.Field(base, kMore); of.kind == ValueKind::kMap && more != kNoValue) {
      if (IsConfiguration(m.values[more])) return ConfigurationValue(m, more, at.text);
    }
  }
  if (!slice && of.kind == ValueKind::kMap && !of.fields.empty() && at.kind != ValueKind::kText) {
    // One of its values, whichever.
    ValueId joined = of.fields[0].second;
    for (std::size_t i = 1; i < of.fields.size() && i < 8; ++i) joined = m.JoinValues(joined, of.fields[i].second);
    return joined;
  }
  // What stands under a key of a dictionary is the same whatever the order in which it was filled.
  // Nor is the one that is picked from a list by a constant a list of its own.
  const bool picked = !slice && at.kind == ValueKind::kInteger;
  const bool ordered = !picked && (of.kind != ValueKind::kMap || (of.traits & kPosition) != 0);
  if (ordered) NoteShard(m, node, base, index);
  ++m.untold;
  ScriptValue value;
  value.symbol = absl::StrCat(m.values.SymbolOf(base), "[", m.values.SymbolOf(index), "]");
  if (slice && of.kind == ValueKind::kObject) {
    value.kind = ValueKind::kObject;
    value.text = of.text;
  }
  m.values.Derive(value, base, ordered);
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
      SetByPosition(value, by_position_);
    } else if (unrolled_ && !elements_.empty()) {
      value.kind = ValueKind::kSequence;
      value.items = std::move(elements_);
      value.symbol = "";
    } else if (!elements_.empty()) {
      // A list of as many as there are: one stands for all.
      value.kind = ValueKind::kSequence;
      value.items = {elements_[0]};
    }
    if (kind != Syntax::kSetComprehension) return m_.values.Add(std::move(value));
    value.symbol = absl::StrCat("set(", value.symbol, ")");
    return WithoutOrder(m_, m_.values.Add(std::move(value)), node_);
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
      Round(clause, over, ElementOf(m_, over), number);
    }
    for (ValueId item : items) Round(clause, over, item, number);
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void Round(NodeId clause, ValueId over, ValueId item, std::size_t number) {
    m_.OpenLoop(over, clause);
    m_.Assign(m_.tree().Child(clause, Part::kLeft), item);
    Clause(number + 1);
    m_.CloseLoop();
  }

  void Element() {
    if (body_ == kNoNode) return;
    const NodeId key = m_.tree().Child(body_, Part::kKey);
    if (key != kNoNode) {
      const ValueId name = m_.Evaluate(key);
      const ValueId field = m_.Evaluate(m_.tree().Child(body_, Part::kValue));
      if (m_.values[name].kind == ValueKind::kText) fields_.emplace_back(m_.values[name].text, field);
      m_.values.Derive(made_, field);
      by_position_ = by_position_ || IsPosition(m_.values[name]);
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
  bool by_position_ = false;  // of a dictionary
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
          for (const auto& [name, field] : m.values[value].fields) {
            const bool more = name == kMore;
            arguments.push_back({more ? "" : name, field, inner, more});
          }
        } else if (kind == Syntax::kListSplat && m.values[value].kind == ValueKind::kSequence &&
                   m.values[value].symbol.empty()) {
          for (ValueId item : m.values[value].items) arguments.push_back({"", item, inner, false});
        } else {
          arguments.push_back({"", value, inner, true});
        }
      } else {
        arguments.push_back({"", m.Evaluate(child), child, false});
      }
    }
  }
  for (const CallArgument& one : arguments) MarkClosures(m, one.value);
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

ValueId EvaluateAttribute(ScriptMachine& m, NodeId node) {
  const SyntaxTree& tree = m.tree();
  const NodeId object = tree.Child(node, Part::kObject);
  const NodeId name = tree.Child(node, Part::kAttribute);
  if (object == kNoNode || name == kNoNode) return m.values.Unknown();
  const std::string attribute(tree.TextOf(name));
  const ValueId of = m.Evaluate(object);
  return m.Attribute(of, attribute);
}

ValueId EvaluateYield(ScriptMachine& m, NodeId node) {
  ValueId value = m.values.None();
  for (NodeId child = m.tree()[node].first; child != kNoNode; child = m.tree()[child].next) value = m.Evaluate(child);
  if (const auto* at_yield = m.frame().at_yield; at_yield != nullptr) {
    (*at_yield)(value);
    return m.values.None();
  }
  if (m.frame().yielded.size() < 64) m.frame().yielded.push_back(value);
  return m.values.Unknown();
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
    case Syntax::kFloat: return m.Once(node, [&] { return EvaluateNumber(m, node); });
    case Syntax::kString:
      // What is formatted is another text each time.
      return tree[node].first == kNoNode ? m.Once(node, [&] { return EvaluateText(m, node); }) : EvaluateText(m, node);
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
    case Syntax::kAttribute: return EvaluateAttribute(m, node);
    case Syntax::kNamedExpression: {
      const ValueId value = m.Evaluate(tree.Child(node, Part::kValue));
      m.Assign(tree.Child(node, Part::kName), value);
      return value;
    }
    case Syntax::kYield: return EvaluateYield(m, node);
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
  ++m.untold;
  ScriptValue value;
  value.symbol = "?";
  for (NodeId child = tree[node].first; child != kNoNode; child = m.tree()[child].next) {
    m.values.Derive(value, m.Evaluate(child));
  }
  return m.values.Add(std::move(value));
}

}  // namespace paritect
