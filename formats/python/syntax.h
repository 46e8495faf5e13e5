// A Python source as a flat tree: what tree-sitter's grammar sees, without punctuation, in arrays that are cheap to walk.
//
// Nothing is refused: what cannot be parsed (merge marks, half a bracket, Python 2 where the grammar does not know it)
// stands as nodes of kind kError with whatever was understood in them, and its lines are named. Bytes that are no UTF-8
// are signs like others. Time and memory are bounded; no depth of nesting harms, for nothing here recurses.
#ifndef PARITECT_FORMATS_PYTHON_SYNTAX_H_
#define PARITECT_FORMATS_PYTHON_SYNTAX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

enum class Syntax : std::uint8_t {
  kOther,  // children are evaluated, nothing more is known
  kError,
  kModule,
  kBlock,
  kExpressionStatement,
  kAssignment,
  kAugmentedAssignment,
  kNamedExpression,
  kIf,
  kElif,
  kElse,
  kFor,
  kWhile,
  kWith,
  kWithClause,
  kWithItem,
  kAsPattern,
  kAsPatternTarget,
  kTry,
  kExcept,
  kFinally,
  kFunction,
  kClass,
  kDecorated,
  kDecorator,
  kReturn,
  kYield,
  kRaise,
  kBreak,
  kContinue,
  kDelete,
  kImport,
  kImportFrom,
  kAliasedImport,
  kWildcardImport,
  kRelativeImport,
  kImportPrefix,
  kDottedName,
  kCall,
  kArguments,
  kKeywordArgument,
  kListSplat,
  kDictionarySplat,
  kParameters,
  kDefaultParameter,
  kTypedParameter,
  kTypedDefaultParameter,
  kIdentifier,
  kAttribute,
  kSubscript,
  kSlice,
  kInteger,
  kFloat,
  kString,
  kConcatenatedString,
  kInterpolation,
  kTrue,
  kFalse,
  kNone,
  kTuple,
  kList,
  kSet,
  kDictionary,
  kPair,
  kListComprehension,
  kSetComprehension,
  kDictionaryComprehension,
  kGenerator,
  kForInClause,
  kIfClause,
  kBinary,
  kUnary,
  kNot,
  kBoolean,
  kComparison,
  kConditional,
  kLambda,
  kParenthesized,
  kAwait,
  kPatternList,
  kExpressionList,
  kOperator,  // of a binary, unary, boolean expression or a comparison
  kGlobal,
};

// Which part of its parent a node is.
enum class Part : std::uint8_t {
  kNone,
  kName,
  kValue,
  kLeft,
  kRight,
  kBody,
  kCondition,
  kConsequence,
  kAlternative,
  kFunction,
  kArguments,
  kArgument,
  kObject,
  kAttribute,
  kSubscript,
  kOperator,
  kSuperclasses,
  kParameters,
  kModuleName,
  kAlias,
  kDefinition,
  kKey,
};

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xFFFFFFFF;

struct SyntaxNode {
  Syntax kind = Syntax::kOther;
  Part part = Part::kNone;
  std::uint32_t begin = 0;  // bytes
  std::uint32_t end = 0;
  std::uint32_t line = 0;  // 1-based
  NodeId first = kNoNode;  // child
  NodeId next = kNoNode;   // sibling
};

// A comment that speaks to this program ("# paritect: ...").
struct SyntaxComment {
  std::uint32_t line = 0;
  std::string text;  // from "#" on
};

class SyntaxTree {
 public:
  // Node 0 is the module.
  const SyntaxNode& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  absl::string_view TextOf(NodeId id) const;
  // The first child that is this part of the node; kNoNode.
  NodeId Child(NodeId id, Part part) const;
  // The first child of this kind; kNoNode.
  NodeId ChildOf(NodeId id, Syntax kind) const;

  // The byte range of a node's text without comments, blanks and line ends: equal texts are equal code.
  std::string CodeOf(NodeId id) const;

  const std::string& source() const { return source_; }
  // Lines where something could not be parsed, sorted, no more than some.
  const std::vector<std::uint32_t>& unread_lines() const { return unread_lines_; }
  const std::vector<SyntaxComment>& comments() const { return comments_; }
  bool cut() const { return cut_; }  // too long, or too slow: parsed in part or not at all

 private:
  friend SyntaxTree ParsePython(std::string source);

  std::string source_;
  std::vector<SyntaxNode> nodes_;
  std::vector<std::uint32_t> unread_lines_;
  std::vector<SyntaxComment> comments_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> comment_ranges_;
  bool cut_ = false;
};

// Parses; always gives a tree.
SyntaxTree ParsePython(std::string source);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_SYNTAX_H_
