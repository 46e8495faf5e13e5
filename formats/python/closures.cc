#include "formats/python/closures.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/lookups.h"
#include "formats/python/names.h"
#include "formats/python/plain_code.h"

namespace paritect {
namespace {

constexpr std::size_t kItemsMax = 32;
constexpr std::size_t kNamesMax = 64;
constexpr int kDepthMax = 3;
constexpr std::size_t kTextMax = 4096;

// The symbol of a function or class by its plain code; of a lambda as it is.
std::string PlainSymbol(ScriptMachine& m, const ScriptValue& value) {
  const SyntaxTree& tree = m.module(value.module).tree;
  const Syntax kind = value.node == kNoNode ? Syntax::kOther : tree[value.node].kind;
  if (kind != Syntax::kFunction && kind != Syntax::kClass) return value.symbol;
  std::string& mark = m.TextOfDefinition(value.module, value.node).plain_mark;
  if (mark.empty()) mark = CodeMark(PlainCode(tree, value.node));
  return absl::StrCat(kind == Syntax::kFunction ? "function " : "class ", mark);
}

const Names& NamesOf(ScriptMachine& m, const ScriptValue& value) {
  std::unique_ptr<const Names>& names = m.TextOfDefinition(value.module, value.node).names;
  if (names == nullptr) names = std::make_unique<const Names>(NamesIn(m.module(value.module).tree, value.node));
  return *names;
}

class Closure {
 public:
  explicit Closure(ScriptMachine& machine) : m_(machine) {}

  // The definition with all that it uses.
  // NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
  std::string Of(ValueId value, int depth) {
    const ScriptValue& of = m_.values[value];
    if (depth > kDepthMax || !seen_.insert({of.module, of.node}).second || !m_.Step()) return "";
    const Names& names = NamesOf(m_, of);
    std::string text;
    for (const std::string& name : names.used) {
      const ValueId used = m_.LookFrom(of.kind == ValueKind::kClass ? m_.module(of.module).scope : of.scope, name);
      if (used == kNoValue || used == value) continue;
      absl::StrAppend(&text, name, "=", Shown(used, depth), ";");
      for (const auto& [object, attribute] : names.attributes) {
        if (object == name) Attribute(used, attribute, depth, text);
      }
      if (text.size() > kTextMax) break;
    }
    if (of.self != kNoValue && of.kind == ValueKind::kFunction) {
      for (const auto& [object, attribute] : names.attributes) {
        if (object == names.first) Attribute(of.self, attribute, depth, text);
      }
    }
    return text;
  }

  const std::string& option() const { return option_; }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  void Attribute(ValueId object, const std::string& name, int depth, std::string& text) {
    const ScriptValue& of = m_.values[object];
    ValueId found = kNoValue;
    if (of.kind == ValueKind::kModule) {
      found = m_.module(of.module).scope < 0 ? kNoValue : m_.LookIn(m_.module(of.module).scope, name);
    } else if (of.kind == ValueKind::kInstance || of.kind == ValueKind::kClass || of.kind == ValueKind::kObject) {
      found = m_.values.Field(object, name);
      const ValueId type = of.kind == ValueKind::kInstance ? of.self : object;
      if (found == kNoValue && of.kind != ValueKind::kObject) found = ClassAttribute(m_, type, name);
    }
    if (found != kNoValue) absl::StrAppend(&text, ".", name, "=", Shown(found, depth), ";");
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  std::string Shown(ValueId id, int depth) {
    const ScriptValue& of = m_.values[id];
    if (!of.option.empty() && of.option != "." && !m_.command_line_known) option_ = of.option;
    switch (of.kind) {
      case ValueKind::kInteger: return absl::StrCat(of.integer);
      case ValueKind::kNumber: return absl::StrCat(of.number);
      case ValueKind::kText: return absl::StrCat("'", of.text, "'");
      case ValueKind::kFunction:
      case ValueKind::kClass: return absl::StrCat(PlainSymbol(m_, of), "(", Of(id, depth + 1), ")");
      case ValueKind::kModule: return "module";
      case ValueKind::kMap: {
        std::string text = "{";
        for (std::size_t i = 0; i < of.fields.size() && i < kNamesMax; ++i) {
          absl::StrAppend(&text, of.fields[i].first, ":", m_.values.SymbolOf(of.fields[i].second), ",");
        }
        return absl::StrCat(text, "}", of.fields.empty() ? of.symbol : "");
      }
      default: return m_.values.SymbolOf(id);
    }
  }

  ScriptMachine& m_;
  std::set<std::pair<std::int32_t, NodeId>> seen_;
  std::string option_;
};

void MarkOne(ScriptMachine& m, ValueId id) {
  const ScriptValue& value = m.values[id];
  if (value.closed || (value.kind != ValueKind::kFunction && value.kind != ValueKind::kClass)) return;
  Closure closure(m);
  const std::string text = closure.Of(id, 0);
  ScriptValue& marked = m.values[id];
  marked.closed = true;
  marked.symbol = PlainSymbol(m, marked);
  if (!closure.option().empty()) marked.option = closure.option();
  if (text.empty()) return;
  absl::StrAppend(&marked.symbol, "/", CodeMark(text), absl::StrContains(text, '?') ? "?" : "");
}

}  // namespace

void MarkClosures(ScriptMachine& m, ValueId value) {
  if (value == kNoValue) return;
  MarkOne(m, value);
  if (m.values[value].kind != ValueKind::kSequence) return;
  const std::vector<ValueId> items = m.values[value].items;
  for (std::size_t i = 0; i < items.size() && i < kItemsMax; ++i) MarkOne(m, items[i]);
}

}  // namespace paritect
