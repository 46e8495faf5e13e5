#include "formats/settings/python_statements.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

constexpr int kBlockDepthMax = 200;
constexpr int kLiteralDepthMax = 8;
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kLiteralBytesMax = 1024;

enum class Truth { kYes, kNo, kUnknown };

// Blocks, and clauses with a block of their own, are statements apart.
bool IsApart(Syntax kind) {
  return kind == Syntax::kBlock || kind == Syntax::kElif || kind == Syntax::kElse || kind == Syntax::kExcept ||
         kind == Syntax::kFinally || kind == Syntax::kFunction || kind == Syntax::kClass;
}

NodeId Unwrapped(const SyntaxTree& tree, NodeId node) {
  for (int i = 0; i < kLiteralDepthMax && node != kNoNode && tree[node].kind == Syntax::kParenthesized; ++i)
    node = tree[node].first;
  return node;
}

// --- which statements run

class Walk {
 public:
  explicit Walk(PythonStatements& out) : out_(out), tree_(out.tree) {}

  void Run() { Children(0, {}, 0); }

 private:
  struct State {
    PythonReach reach = PythonReach::kAlways;
    int chain = -1;
    int branch = 0;
  };

  void Add(NodeId node, const State& state) {
    out_.statements.push_back({node, state.reach, state.chain, state.branch});
  }

  static State Doubtful(const State& outer, int chain, int branch) {
    if (outer.reach == PythonReach::kNever) return outer;
    return {PythonReach::kMaybe, outer.reach == PythonReach::kAlways ? chain : -1, branch};
  }

  // NOLINTNEXTLINE(misc-no-recursion): kBlockDepthMax bounds it
  void Children(NodeId node, const State& state, int depth) {
    if (depth > kBlockDepthMax) return;
    for (NodeId child = tree_[node].first; child != kNoNode; child = tree_[child].next) One(child, state, depth + 1);
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void One(NodeId node, const State& state, int depth) {
    switch (tree_[node].kind) {
      case Syntax::kIf: return If(node, state, depth);
      case Syntax::kError:
      case Syntax::kBlock: return Children(node, state, depth);
      case Syntax::kFor:
      case Syntax::kWhile:
      case Syntax::kWith:
      case Syntax::kFunction:
      case Syntax::kClass:
      case Syntax::kDecorated:
      case Syntax::kElse:
      case Syntax::kFinally:
      case Syntax::kTry: return Compound(node, state, depth);
      // Of the clauses of `try` and `match`, which one is taken is not known.
      case Syntax::kExcept: return Compound(node, Doubtful(state, -1, 0), depth);
      case Syntax::kOther:
        return tree_.ChildOf(node, Syntax::kBlock) == kNoNode ? Add(node, state)
                                                              : Compound(node, Doubtful(state, -1, 0), depth);
      default: Add(node, state);
    }
  }

  // The head, and what stands apart from it.
  // NOLINTNEXTLINE(misc-no-recursion)
  void Compound(NodeId node, const State& state, int depth) {
    Add(node, state);
    for (NodeId child = tree_[node].first; child != kNoNode; child = tree_[child].next) {
      if (IsApart(tree_[child].kind) || tree_[child].kind == Syntax::kOther) One(child, state, depth + 1);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void If(NodeId node, const State& outer, int depth) {
    const auto chain = out_.branches.size();
    out_.branches.push_back(0);
    int counted = 0;
    bool doubtful = false;  // a condition before is not known
    bool taken = false;     // a condition before holds
    const auto branch = [&](NodeId condition, NodeId body) {
      Truth truth = condition == kNoNode ? Truth::kYes : TruthOf(condition);
      if (condition != kNoNode) Add(condition, outer);
      if (taken) truth = Truth::kNo;
      const int number = truth == Truth::kNo ? 0 : counted++;
      taken = taken || (truth == Truth::kYes && !doubtful);
      if (truth == Truth::kYes && doubtful) {  // the rest
        truth = Truth::kUnknown;
        out_.branches[chain] = counted;
      }
      doubtful = doubtful || truth == Truth::kUnknown;
      State state = outer;
      if (truth == Truth::kUnknown) state = Doubtful(outer, static_cast<int>(chain), number);
      if (truth == Truth::kNo) state.reach = PythonReach::kNever;
      if (body != kNoNode) Children(body, state, depth + 1);
    };
    branch(tree_.Child(node, Part::kCondition), tree_.Child(node, Part::kConsequence));
    for (NodeId child = tree_[node].first; child != kNoNode; child = tree_[child].next) {
      if (tree_[child].kind == Syntax::kElif)
        branch(tree_.Child(child, Part::kCondition), tree_.Child(child, Part::kConsequence));
      if (tree_[child].kind == Syntax::kElse) branch(kNoNode, tree_.Child(child, Part::kBody));
    }
  }

  Truth TruthOf(NodeId condition) const {
    bool negated = false;
    for (int i = 0; i < kLiteralDepthMax; ++i) {
      condition = Unwrapped(tree_, condition);
      if (condition == kNoNode || tree_[condition].kind != Syntax::kNot) break;
      negated = !negated;
      condition = tree_.Child(condition, Part::kArgument);
    }
    if (condition == kNoNode) return Truth::kUnknown;
    if (auto known = out_.literals.find(tree_.TextOf(condition)); known != out_.literals.end())
      condition = known->second;
    const absl::string_view text = tree_.TextOf(condition);
    Truth truth = Truth::kUnknown;
    if (text == "True" || text == "1" || absl::StartsWith(text, "__name__ ==")) truth = Truth::kYes;
    for (absl::string_view no : {"False", "0", "None", "TYPE_CHECKING", "typing.TYPE_CHECKING", "\"\"", "''"}) {
      if (text == no) truth = Truth::kNo;
    }
    if (!negated || truth == Truth::kUnknown) return truth;
    return truth == Truth::kYes ? Truth::kNo : Truth::kYes;
  }

  PythonStatements& out_;
  const SyntaxTree& tree_;
};

// --- names

// How often each name is given a value.
class Writes {
 public:
  explicit Writes(const SyntaxTree& tree) : tree_(tree) {
    for (NodeId node = 0; node < tree.size(); ++node) Of(node);
  }

  int Count(absl::string_view name) const {
    auto it = counts_.find(name);
    return it == counts_.end() ? 0 : it->second;
  }

 private:
  void Of(NodeId node) {
    switch (tree_[node].kind) {
      case Syntax::kAssignment:
      case Syntax::kAugmentedAssignment:
      case Syntax::kFor:
      case Syntax::kForInClause: return Target(tree_.Child(node, Part::kLeft));
      case Syntax::kNamedExpression:
      case Syntax::kFunction:
      case Syntax::kClass: return Target(tree_.Child(node, Part::kName));
      case Syntax::kAsPatternTarget:
      case Syntax::kDelete:
      case Syntax::kParameters: return Targets(node);
      default: return;
    }
  }

  void Target(NodeId node) {
    if (node == kNoNode) return;
    const Syntax kind = tree_[node].kind;
    if (kind == Syntax::kIdentifier) {
      ++counts_[std::string(tree_.TextOf(node))];
    } else if (kind != Syntax::kAttribute && kind != Syntax::kSubscript) {
      Targets(node);
    }
  }

  // The names below: of parameters not those of their defaults, of (a, b) both.
  void Targets(NodeId node) {
    ForEachNodeOf(tree_, node, [&](NodeId below) {
      if (below == node || tree_[below].kind != Syntax::kIdentifier) return;
      ++counts_[std::string(tree_.TextOf(below))];
    });
  }

  const SyntaxTree& tree_;
  std::map<std::string, int, std::less<>> counts_;
};

// "import a.b as c", "from a import b as c, d".
void ReadImport(PythonStatements& out, NodeId node) {
  const SyntaxTree& tree = out.tree;
  const NodeId module = tree.Child(node, Part::kModuleName);
  const std::string from = module == kNoNode ? "" : absl::StrCat(tree.TextOf(module), ".");
  for (NodeId child = tree[node].first; child != kNoNode; child = tree[child].next) {
    if (child == module) continue;
    NodeId whole = child;
    NodeId name = child;
    if (tree[child].kind == Syntax::kAliasedImport) {
      whole = tree.Child(child, Part::kName);
      name = tree.Child(child, Part::kAlias);
    }
    if (whole == kNoNode || name == kNoNode) continue;
    const absl::string_view text = tree.TextOf(name);
    if (from.size() + tree.TextOf(whole).size() > kNameBytesMax || absl::StrContains(text, '.')) continue;
    if (name != whole || !from.empty()) out.names[std::string(text)] = absl::StrCat(from, tree.TextOf(whole));
  }
}

// "opts = npu.global_options()", "matmul = torch.backends.cuda.matmul": an object under another name.
bool IsObject(const SyntaxTree& tree, NodeId value) {
  if (tree[value].kind == Syntax::kCall) {
    const NodeId arguments = tree.Child(value, Part::kArguments);
    if (arguments == kNoNode || tree[arguments].first != kNoNode) return false;
    value = tree.Child(value, Part::kFunction);
  }
  for (int i = 0; i < 32 && value != kNoNode && tree[value].kind == Syntax::kAttribute; ++i) {
    value = tree.Child(value, Part::kObject);
    if (value != kNoNode && tree[value].kind == Syntax::kIdentifier) return true;
  }
  return false;
}

void ReadNames(PythonStatements& out) {
  const SyntaxTree& tree = out.tree;
  const Writes writes(tree);
  std::vector<NodeId> top;  // assignments at top level
  for (NodeId child = tree[0].first; child != kNoNode; child = tree[child].next) {
    if (tree[child].kind == Syntax::kExpressionStatement && tree[child].first != kNoNode)
      top.push_back(tree[child].first);
  }
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree[node].kind == Syntax::kImport || tree[node].kind == Syntax::kImportFrom) ReadImport(out, node);
    if (tree[node].kind != Syntax::kAssignment) continue;
    const NodeId left = tree.Child(node, Part::kLeft);
    const NodeId right = tree.Child(node, Part::kRight);
    if (left == kNoNode || right == kNoNode || tree[left].kind != Syntax::kIdentifier) continue;
    const std::string name(tree.TextOf(left));
    if (writes.Count(name) != 1) continue;
    const std::size_t size = tree.TextOf(right).size();
    const bool at_top = std::binary_search(top.begin(), top.end(), node);
    if (at_top && size <= kLiteralBytesMax && IsLiteral(tree, right)) out.literals[name] = right;
    if (size <= kNameBytesMax && IsObject(tree, right)) out.names.try_emplace(name, tree.TextOf(right));
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kLiteralDepthMax bounds it
bool IsLiteralAt(const SyntaxTree& tree, NodeId node, int depth) {
  node = Unwrapped(tree, node);
  if (node == kNoNode || depth > kLiteralDepthMax) return false;
  switch (tree[node].kind) {
    case Syntax::kTrue:
    case Syntax::kFalse:
    case Syntax::kNone:
    case Syntax::kInteger:
    case Syntax::kFloat: return true;
    case Syntax::kString: {
      const absl::string_view text = tree.TextOf(node);
      const absl::string_view prefix = text.substr(0, std::min(text.find_first_of("'\""), text.size()));
      return prefix.find_first_of("fF") == absl::string_view::npos;
    }
    case Syntax::kUnary: {
      const NodeId sign = tree.Child(node, Part::kOperator);
      return sign != kNoNode && tree.TextOf(sign) == "-" &&
             IsLiteralAt(tree, tree.Child(node, Part::kArgument), depth + 1);
    }
    case Syntax::kBinary: {
      const NodeId sign = tree.Child(node, Part::kOperator);
      const NodeId left = tree.Child(node, Part::kLeft);
      const NodeId right = tree.Child(node, Part::kRight);
      return sign != kNoNode && tree.TextOf(sign) == "**" && left != kNoNode && right != kNoNode &&
             tree[left].kind == Syntax::kInteger && tree[right].kind == Syntax::kInteger;
    }
    case Syntax::kTuple:
    case Syntax::kList:
    case Syntax::kSet:
    case Syntax::kDictionary:
    case Syntax::kPair: {
      for (NodeId child = tree[node].first; child != kNoNode; child = tree[child].next) {
        if (!IsLiteralAt(tree, child, depth + (tree[node].kind == Syntax::kPair ? 0 : 1))) return false;
      }
      return true;
    }
    default: return false;
  }
}

}  // namespace

void ForEachNodeOf(const SyntaxTree& tree, NodeId node, absl::FunctionRef<void(NodeId)> visit) {
  std::vector<NodeId> open = {node};
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    visit(at);
    std::vector<NodeId> below;
    for (NodeId child = tree[at].first; child != kNoNode; child = tree[child].next) {
      if (!IsApart(tree[child].kind)) below.push_back(child);
    }
    open.insert(open.end(), below.rbegin(), below.rend());
  }
}

bool IsLiteral(const SyntaxTree& tree, NodeId node) {
  return IsLiteralAt(tree, node, 0);
}

bool IsPythonLiteral(absl::string_view text) {
  const SyntaxTree tree = ParsePython(std::string(text));
  const NodeId statement = tree[0].first;
  if (statement == kNoNode || tree[statement].next != kNoNode || !tree.unread_lines().empty()) return false;
  if (tree[statement].kind != Syntax::kExpressionStatement) return false;
  const NodeId expression = tree[statement].first;
  return expression != kNoNode && tree[expression].next == kNoNode && IsLiteral(tree, expression);
}

std::string FullPythonName(const PythonStatements& source, absl::string_view dotted) {
  std::string full(dotted);
  for (int round = 0; round < 4; ++round) {  // a name of a name
    const std::size_t end = std::min(full.find_first_of(".([ "), full.size());
    auto known = source.names.find(absl::string_view(full).substr(0, end));
    if (known == source.names.end() || absl::StartsWith(known->second, absl::StrCat(known->first, "."))) break;
    full = absl::StrCat(known->second, absl::string_view(full).substr(end));
  }
  return full;
}

PythonStatements ReadPythonStatements(std::string text) {
  PythonStatements out;
  out.tree = ParsePython(std::move(text));
  ReadNames(out);
  Walk(out).Run();
  return out;
}

}  // namespace paritect
