#include "formats/python/closures.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/lookups.h"

namespace paritect {
namespace {

constexpr std::size_t kItemsMax = 32;
constexpr std::size_t kNamesMax = 64;
constexpr int kDepthMax = 3;
constexpr std::size_t kTextMax = 4096;

// Names that a definition uses, and those that it makes itself.
struct Names {
  std::set<std::string> used;
  std::set<std::pair<std::string, std::string>> attributes;  // of a name: ("args", "size")
  std::set<std::string> own;
  std::string first;  // parameter
};

class NameReader {
 public:
  explicit NameReader(const SyntaxTree& tree) : tree_(tree) {}

  Names Read(NodeId definition) {
    std::vector<std::pair<NodeId, bool>> open = {{definition, false}};  // node, whether it is a place that is set
    while (!open.empty()) {
      const auto [node, set] = open.back();
      open.pop_back();
      One(node, set);
      for (NodeId child = tree_[node].first; child != kNoNode; child = tree_[child].next) {
        if (Skipped(node, child)) continue;
        open.emplace_back(child, Sets(node, child, set));
      }
    }
    for (const std::string& name : names_.own) names_.used.erase(name);
    return std::move(names_);
  }

 private:
  // What is no name of a value: attributes, keywords, the definition's own name.
  bool Skipped(NodeId node, NodeId child) const {
    const Syntax kind = tree_[node].kind;
    const Part part = tree_[child].part;
    if (kind == Syntax::kAttribute) return part == Part::kAttribute;
    if (kind == Syntax::kKeywordArgument) return part == Part::kName;
    return (kind == Syntax::kFunction || kind == Syntax::kClass) && part == Part::kName;
  }

  bool Sets(NodeId node, NodeId child, bool set) const {
    const Syntax kind = tree_[node].kind;
    const Part part = tree_[child].part;
    if (kind == Syntax::kAttribute || kind == Syntax::kSubscript) return false;
    if (part == Part::kValue) return false;  // of a default
    if (kind == Syntax::kParameters) return true;
    if (kind == Syntax::kAssignment || kind == Syntax::kFor || kind == Syntax::kForInClause) return part == Part::kLeft;
    if (kind == Syntax::kAsPattern) return part == Part::kAlias;
    const bool within = kind == Syntax::kTuple || kind == Syntax::kPatternList || kind == Syntax::kList ||
                        kind == Syntax::kDefaultParameter || kind == Syntax::kTypedParameter ||
                        kind == Syntax::kTypedDefaultParameter || kind == Syntax::kListSplat ||
                        kind == Syntax::kDictionarySplat || kind == Syntax::kAsPatternTarget;
    return set && within;
  }

  void One(NodeId node, bool set) {
    if (tree_[node].kind == Syntax::kIdentifier) {
      const std::string name(tree_.TextOf(node));
      (set ? names_.own : names_.used).insert(name);
    } else if (tree_[node].kind == Syntax::kParameters && names_.first.empty() && tree_[node].first != kNoNode) {
      names_.first = std::string(tree_.TextOf(tree_[node].first));
    } else if (tree_[node].kind == Syntax::kAttribute) {
      const NodeId object = tree_.Child(node, Part::kObject);
      const NodeId name = tree_.Child(node, Part::kAttribute);
      if (object == kNoNode || name == kNoNode || tree_[object].kind != Syntax::kIdentifier) return;
      names_.attributes.emplace(tree_.TextOf(object), tree_.TextOf(name));
    }
  }

  const SyntaxTree& tree_;
  Names names_;
};

class Closure {
 public:
  explicit Closure(ScriptMachine& machine) : m_(machine) {}

  // The definition with all that it uses.
  // NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
  std::string Of(ValueId value, int depth) {
    const ScriptValue of = m_.values[value];
    if (depth > kDepthMax || !seen_.insert({of.module, of.node}).second || !m_.Step()) return "";
    const Names names = NameReader(m_.module(of.module).tree).Read(of.node);
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
    const ScriptValue of = m_.values[id];
    if (!of.option.empty() && of.option != "." && !m_.command_line_known) option_ = of.option;
    switch (of.kind) {
      case ValueKind::kInteger: return absl::StrCat(of.integer);
      case ValueKind::kNumber: return absl::StrCat(of.number);
      case ValueKind::kText: return absl::StrCat("'", of.text, "'");
      case ValueKind::kFunction:
      case ValueKind::kClass: return absl::StrCat(of.symbol, "(", Of(id, depth + 1), ")");
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
  if (!closure.option().empty()) marked.option = closure.option();
  if (text.empty()) return;
  absl::StrAppend(&marked.symbol, "/", CodeMark(text), absl::StrContains(text, '?') ? "?" : "");
}

}  // namespace

std::string CodeMark(absl::string_view code) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (char c : code) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

void MarkClosures(ScriptMachine& m, ValueId value) {
  if (value == kNoValue) return;
  MarkOne(m, value);
  if (m.values[value].kind != ValueKind::kSequence) return;
  const std::vector<ValueId> items = m.values[value].items;
  for (std::size_t i = 0; i < items.size() && i < kItemsMax; ++i) MarkOne(m, items[i]);
}

}  // namespace paritect
