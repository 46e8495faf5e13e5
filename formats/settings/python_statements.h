// The statements of a Python source, nothing executed: which of them run for certain, and which names stand for one
// literal. On the syntax tree of formats/python, for readers of options that scripts set.
#ifndef PARITECT_FORMATS_SETTINGS_PYTHON_STATEMENTS_H_
#define PARITECT_FORMATS_SETTINGS_PYTHON_STATEMENTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "formats/python/syntax.h"

namespace paritect {

enum class PythonReach {
  kAlways,  // under no condition, or under one that is constant and holds; functions count as called, loops as entered
  kMaybe,   // under a condition that the source does not decide
  kNever,   // `if False:`, behind `if True:`
};

struct PythonStatement {
  NodeId node = kNoNode;  // a simple statement, or the head of one that holds blocks
  PythonReach reach = PythonReach::kAlways;
  int chain = -1;  // the if ... elif ... else that decides it, where that is a single one
  int branch = 0;  // of the chain
};

struct PythonStatements {
  SyntaxTree tree;
  std::vector<PythonStatement> statements;  // in the order of the source
  // Branches of a chain; 0 where none of them need run (no `else`).
  std::vector<int> branches;
  // Names that are assigned once in the whole file, at top level, to a literal (also a {dictionary} or [list]).
  std::map<std::string, NodeId, std::less<>> literals;
  // Names of imports and of attributes ("cudnn" -> "torch.backends.cudnn", "opts" -> "npu.global_options()").
  std::map<std::string, std::string, std::less<>> names;
};

// Never fails: what cannot be parsed stands as statements as far as it was understood. Depth is bounded.
PythonStatements ReadPythonStatements(std::string text);

// Calls `visit` for the node and all below it that belong to the statement itself, not to the blocks in it.
void ForEachNodeOf(const SyntaxTree& tree, NodeId node, absl::FunctionRef<void(NodeId)> visit);

// Whether the node is one literal: a number, True, False, None, "text" or b"text", a bracket (also dictionary) of
// literals, 2**16.
bool IsLiteral(const SyntaxTree& tree, NodeId node);
bool IsPythonLiteral(absl::string_view text);

// The text with a first name that stands for a module or an object put out in full: "cudnn.allow_tf32" ->
// "torch.backends.cudnn.allow_tf32".
std::string FullPythonName(const PythonStatements& source, absl::string_view dotted);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_PYTHON_STATEMENTS_H_
