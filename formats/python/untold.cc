#include "formats/python/untold.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/lookups.h"
#include "formats/python/plain_code.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

constexpr std::size_t kTextMax = 300;
constexpr int kChainMax = 8;

// "logger.info" of `logger.info(x)`, "print" of `print(x)`; "" where no call stands alone.
absl::string_view CalledName(const SyntaxTree& tree, NodeId expression) {
  if (expression == kNoNode || tree[expression].kind != Syntax::kCall) return "";
  const NodeId function = tree.Child(expression, Part::kFunction);
  return function == kNoNode ? "" : tree.TextOf(function);
}

class Constants {
 public:
  Constants(ScriptMachine& machine, std::size_t mark) : m_(machine), mark_(mark) {}

  std::optional<std::string> Of(NodeId node) const {
    const ValueId value = ValueOf(node);
    v1::Value constant;
    if (value == kNoValue || m_.values[value].kind == ValueKind::kNone) return std::nullopt;
    // However it was imported.
    if (m_.values[value].kind == ValueKind::kApi) return m_.values[value].text;
    if (!m_.values.ToProto(value, constant)) return std::nullopt;
    return m_.values.SymbolOf(value).substr(0, kTextMax);
  }

 private:
  ValueId ValueOf(NodeId node) const {
    std::vector<absl::string_view> names;
    const SyntaxTree& tree = m_.tree();
    for (int i = 0; i < kChainMax && tree[node].kind == Syntax::kAttribute; ++i) {
      const NodeId name = tree.Child(node, Part::kAttribute);
      node = tree.Child(node, Part::kObject);
      if (node == kNoNode || name == kNoNode) return kNoValue;
      names.push_back(tree.TextOf(name));
    }
    if (tree[node].kind != Syntax::kIdentifier) return kNoValue;
    ValueId value = m_.LookBefore(mark_, tree.TextOf(node));
    for (auto name = names.rbegin(); name != names.rend() && value != kNoValue; ++name) value = Field(value, *name);
    return value;
  }

  ValueId Field(ValueId object, absl::string_view name) const {
    const ScriptValue& of = m_.values[object];
    if (of.kind == ValueKind::kModule) {
      const int scope = m_.module(of.module).scope;
      return scope < 0 ? kNoValue : m_.LookIn(scope, name);
    }
    const ValueId own = m_.values.Field(object, name);
    if (own != kNoValue || (of.kind != ValueKind::kInstance && of.kind != ValueKind::kClass)) return own;
    return ClassAttribute(m_, of.kind == ValueKind::kInstance ? of.self : object, name);
  }

  ScriptMachine& m_;
  const std::size_t mark_;
};

// Long texts keep their beginning, for the reader, and a mark of the whole.
std::string Bounded(std::string text) {
  if (text.size() <= kTextMax) return text;
  return absl::StrCat(text.substr(0, kTextMax - 30), "... ", CodeMark(text));
}

bool OfNetwork(const ScriptMachine& m) {
  if (m.forward_depth > 0) return true;
  const ValueId self = m.frame().self;
  return self != kNoValue && m.values[self].kind == ValueKind::kInstance && ModuleOf(m, self) != kNoValue;
}

}  // namespace

// What only shows, keeps or times something: by the function's whole name, its first part with ".*" or its last with
// "*.".
bool NameShows(absl::string_view name) {
  if (name.empty()) return false;
  const auto& words = BuiltInScriptWords().shows;
  const std::size_t dot = name.rfind('.');
  if (words.contains(name) || (dot != absl::string_view::npos && words.contains(absl::StrCat("*", name.substr(dot)))))
    return true;
  if (words.contains(absl::StrCat(absl::AsciiStrToLower(name.substr(0, name.find('.'))), ".*"))) return true;
  for (std::size_t at = name.find('.'); at != absl::string_view::npos; at = name.find('.', at + 1)) {
    if (words.contains(absl::StrCat(name.substr(0, at), ".*"))) return true;
  }
  return false;
}

namespace {

// `super().__init__()`: what a class of the project does there is read as it is entered.
bool BeginsBase(const SyntaxTree& tree, NodeId call) {
  const std::string code = tree.CodeOf(call);
  return absl::StartsWith(code, "super(") && absl::EndsWith(code, ").__init__()");
}

}  // namespace

bool StatementShows(const SyntaxTree& tree, NodeId statement) {
  const NodeId first = tree[statement].first;
  switch (tree[statement].kind) {
    case Syntax::kRaise:
    case Syntax::kImport:
    case Syntax::kImportFrom: return true;
    case Syntax::kExpressionStatement:
      if (first == kNoNode) return true;
      if (tree[first].kind == Syntax::kString) return true;
      if (tree[first].kind == Syntax::kAssignment) {
        const NodeId left = tree.Child(first, Part::kLeft);
        const bool option = left != kNoNode && tree[left].kind == Syntax::kAttribute && NameShows(tree.TextOf(left));
        return option || NameShows(CalledName(tree, tree.Child(first, Part::kRight)));
      }
      return NameShows(CalledName(tree, first)) || BeginsBase(tree, first);
    case Syntax::kOther:  // `pass`, `assert`
      return absl::StartsWith(tree.TextOf(statement), "pass") || absl::StartsWith(tree.TextOf(statement), "assert");
    default: return false;
  }
}

bool OnlyShows(const SyntaxTree& tree, NodeId block) {
  for (NodeId child = tree[block].first; child != kNoNode; child = tree[child].next) {
    if (!StatementShows(tree, child)) return false;
  }
  return true;
}

void NoteStranger(ScriptMachine& m, absl::string_view symbol, const std::vector<CallArgument>& handed) {
  const std::size_t dot = symbol.find('.');
  if (dot == absl::string_view::npos || !m.stranger.empty()) return;
  const absl::string_view root = symbol.substr(0, dot);
  if (!m.packages.contains(root) || BuiltInScriptWords().libraries.contains(root)) return;
  const bool matters = std::any_of(handed.begin(), handed.end(), [&](const CallArgument& one) {
    return one.value != kNoValue && !m.values.AllFacts(one.value).empty();
  });
  if (matters) m.stranger = std::string(root);
}

void NoteUntold(ScriptMachine& m, NodeId statement, std::size_t mark) {
  if (!m.called || (m.mute && m.codes_alone == 0)) return;
  const SyntaxTree& tree = m.tree();
  if (StatementShows(tree, statement)) return;
  const Constants constants(m, mark);
  const auto told = [&](NodeId node) { return constants.Of(node); };
  MachineCode code;
  code.text = Bounded(PlainStatement(tree, statement, told));
  code.place = absl::StrCat(m.open_loop_count());
  const auto as_written = [](NodeId) -> std::optional<std::string> { return std::nullopt; };
  for (const OpenCondition& one : m.around) {
    // The block of a `with` runs within its manager's function.
    const std::string text = one.module == m.frame().module
                                 ? PlainStatement(tree, one.statement, told)
                                 : PlainStatement(m.module(one.module).tree, one.statement, as_written);
    absl::StrAppend(&code.place, " ", one.branch, ":", CodeMark(text));
  }
  code.package = m.stranger;
  code.of_network = OfNetwork(m);
  m.AddCode(std::move(code), statement);
}

}  // namespace paritect
