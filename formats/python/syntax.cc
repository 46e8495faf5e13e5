#include "formats/python/syntax.h"

#include <array>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tree_sitter/api.h"

extern "C" const TSLanguage* tree_sitter_python();

namespace paritect {
namespace {

constexpr std::size_t kSourceBytesMax = 16 << 20;
constexpr std::size_t kNodesMax = 8'000'000;
constexpr std::uint64_t kParseMicrosMax = 10'000'000;
constexpr std::size_t kUnreadLinesMax = 100;
constexpr std::size_t kCommentsMax = 100'000;

struct KindName {
  const char* name;
  Syntax kind;
};
// Names of tree-sitter-python 0.20.4's grammar.
constexpr KindName kKinds[] = {
    {"module", Syntax::kModule},
    {"block", Syntax::kBlock},
    {"expression_statement", Syntax::kExpressionStatement},
    {"assignment", Syntax::kAssignment},
    {"augmented_assignment", Syntax::kAugmentedAssignment},
    {"named_expression", Syntax::kNamedExpression},
    {"if_statement", Syntax::kIf},
    {"elif_clause", Syntax::kElif},
    {"else_clause", Syntax::kElse},
    {"for_statement", Syntax::kFor},
    {"while_statement", Syntax::kWhile},
    {"with_statement", Syntax::kWith},
    {"with_clause", Syntax::kWithClause},
    {"with_item", Syntax::kWithItem},
    {"as_pattern", Syntax::kAsPattern},
    {"as_pattern_target", Syntax::kAsPatternTarget},
    {"try_statement", Syntax::kTry},
    {"except_clause", Syntax::kExcept},
    {"except_group_clause", Syntax::kExcept},
    {"finally_clause", Syntax::kFinally},
    {"function_definition", Syntax::kFunction},
    {"class_definition", Syntax::kClass},
    {"decorated_definition", Syntax::kDecorated},
    {"decorator", Syntax::kDecorator},
    {"return_statement", Syntax::kReturn},
    {"yield", Syntax::kYield},
    {"raise_statement", Syntax::kRaise},
    {"break_statement", Syntax::kBreak},
    {"continue_statement", Syntax::kContinue},
    {"delete_statement", Syntax::kDelete},
    {"import_statement", Syntax::kImport},
    {"import_from_statement", Syntax::kImportFrom},
    {"future_import_statement", Syntax::kOther},
    {"aliased_import", Syntax::kAliasedImport},
    {"wildcard_import", Syntax::kWildcardImport},
    {"relative_import", Syntax::kRelativeImport},
    {"import_prefix", Syntax::kImportPrefix},
    {"dotted_name", Syntax::kDottedName},
    {"call", Syntax::kCall},
    {"argument_list", Syntax::kArguments},
    {"keyword_argument", Syntax::kKeywordArgument},
    {"list_splat", Syntax::kListSplat},
    {"list_splat_pattern", Syntax::kListSplat},
    {"dictionary_splat", Syntax::kDictionarySplat},
    {"dictionary_splat_pattern", Syntax::kDictionarySplat},
    {"parameters", Syntax::kParameters},
    {"lambda_parameters", Syntax::kParameters},
    {"default_parameter", Syntax::kDefaultParameter},
    {"typed_parameter", Syntax::kTypedParameter},
    {"typed_default_parameter", Syntax::kTypedDefaultParameter},
    {"identifier", Syntax::kIdentifier},
    {"attribute", Syntax::kAttribute},
    {"subscript", Syntax::kSubscript},
    {"slice", Syntax::kSlice},
    {"integer", Syntax::kInteger},
    {"float", Syntax::kFloat},
    {"string", Syntax::kString},
    {"concatenated_string", Syntax::kConcatenatedString},
    {"interpolation", Syntax::kInterpolation},
    {"true", Syntax::kTrue},
    {"false", Syntax::kFalse},
    {"none", Syntax::kNone},
    {"tuple", Syntax::kTuple},
    {"list", Syntax::kList},
    {"set", Syntax::kSet},
    {"dictionary", Syntax::kDictionary},
    {"pair", Syntax::kPair},
    {"list_comprehension", Syntax::kListComprehension},
    {"set_comprehension", Syntax::kSetComprehension},
    {"dictionary_comprehension", Syntax::kDictionaryComprehension},
    {"generator_expression", Syntax::kGenerator},
    {"for_in_clause", Syntax::kForInClause},
    {"if_clause", Syntax::kIfClause},
    {"binary_operator", Syntax::kBinary},
    {"unary_operator", Syntax::kUnary},
    {"not_operator", Syntax::kNot},
    {"boolean_operator", Syntax::kBoolean},
    {"comparison_operator", Syntax::kComparison},
    {"conditional_expression", Syntax::kConditional},
    {"lambda", Syntax::kLambda},
    {"parenthesized_expression", Syntax::kParenthesized},
    {"await", Syntax::kAwait},
    {"pattern_list", Syntax::kPatternList},
    {"tuple_pattern", Syntax::kPatternList},
    {"list_pattern", Syntax::kPatternList},
    {"expression_list", Syntax::kExpressionList},
    {"global_statement", Syntax::kGlobal},
    {"nonlocal_statement", Syntax::kGlobal},
};

struct PartName {
  const char* name;
  Part part;
};
constexpr PartName kParts[] = {{"name", Part::kName},
                               {"value", Part::kValue},
                               {"left", Part::kLeft},
                               {"right", Part::kRight},
                               {"body", Part::kBody},
                               {"condition", Part::kCondition},
                               {"consequence", Part::kConsequence},
                               {"alternative", Part::kAlternative},
                               {"function", Part::kFunction},
                               {"arguments", Part::kArguments},
                               {"argument", Part::kArgument},
                               {"object", Part::kObject},
                               {"attribute", Part::kAttribute},
                               {"subscript", Part::kSubscript},
                               {"operator", Part::kOperator},
                               {"operators", Part::kOperator},
                               {"superclasses", Part::kSuperclasses},
                               {"parameters", Part::kParameters},
                               {"module_name", Part::kModuleName},
                               {"alias", Part::kAlias},
                               {"definition", Part::kDefinition},
                               {"key", Part::kKey}};

// The grammar's numbers of symbols and fields, looked up once.
struct Grammar {
  std::vector<Syntax> kinds;  // by symbol
  std::vector<Part> parts;    // by field
  TSSymbol comment = 0;

  Grammar() {
    const TSLanguage* language = tree_sitter_python();
    kinds.resize(ts_language_symbol_count(language), Syntax::kOther);
    for (const KindName& one : kKinds) {
      const absl::string_view name(one.name);
      const TSSymbol symbol =
          ts_language_symbol_for_name(language, one.name, static_cast<std::uint32_t>(name.size()), true);
      if (symbol < kinds.size()) kinds[symbol] = one.kind;
    }
    comment = ts_language_symbol_for_name(language, "comment", 7, true);
    parts.resize(ts_language_field_count(language) + 1, Part::kNone);
    for (const PartName& one : kParts) {
      const absl::string_view name(one.name);
      const TSFieldId field =
          ts_language_field_id_for_name(language, one.name, static_cast<std::uint32_t>(name.size()));
      if (field < parts.size()) parts[field] = one.part;
    }
  }
};

const Grammar& TheGrammar() {
  static const Grammar* const grammar = new Grammar();
  return *grammar;
}

// What stands within a text is of interest in f-strings only.
bool IsFormatted(absl::string_view text) {
  const absl::string_view prefix = text.substr(0, std::min(text.find_first_of("'\""), text.size()));
  return prefix.find_first_of("fF") != absl::string_view::npos;
}

struct DeleteParser {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};
struct DeleteTree {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};

}  // namespace

absl::string_view SyntaxTree::TextOf(NodeId id) const {
  const SyntaxNode& node = nodes_[id];
  return absl::string_view(source_).substr(node.begin, node.end - node.begin);
}

NodeId SyntaxTree::Child(NodeId id, Part part) const {
  for (NodeId child = nodes_[id].first; child != kNoNode; child = nodes_[child].next) {
    if (nodes_[child].part == part) return child;
  }
  return kNoNode;
}

NodeId SyntaxTree::ChildOf(NodeId id, Syntax kind) const {
  for (NodeId child = nodes_[id].first; child != kNoNode; child = nodes_[child].next) {
    if (nodes_[child].kind == kind) return child;
  }
  return kNoNode;
}

std::string SyntaxTree::CodeOf(NodeId id) const {
  const SyntaxNode& node = nodes_[id];
  std::string out;
  auto comment =
      std::lower_bound(comment_ranges_.begin(), comment_ranges_.end(), std::make_pair(node.begin, std::uint32_t{0}));
  bool gap = false;
  for (std::uint32_t at = node.begin; at < node.end;) {
    if (comment != comment_ranges_.end() && at >= comment->first) {
      at = std::max(at, comment->second);
      ++comment;
      gap = true;
      continue;
    }
    const char c = source_[at++];
    if (absl::ascii_isspace(static_cast<unsigned char>(c)) || c == '\\') {
      gap = true;
      continue;
    }
    if (gap && !out.empty()) out.push_back(' ');
    gap = false;
    out.push_back(c);
  }
  return out;
}

SyntaxTree ParsePython(std::string source) {
  SyntaxTree out;
  out.source_ = std::move(source);
  out.nodes_.push_back({Syntax::kModule, Part::kNone, 0, 0, 1, kNoNode, kNoNode});
  if (out.source_.size() > kSourceBytesMax) {
    out.cut_ = true;
    return out;
  }
  const Grammar& grammar = TheGrammar();
  const std::unique_ptr<TSParser, DeleteParser> parser(ts_parser_new());
  ts_parser_set_language(parser.get(), tree_sitter_python());
  ts_parser_set_timeout_micros(parser.get(), kParseMicrosMax);
  const std::unique_ptr<TSTree, DeleteTree> tree(ts_parser_parse_string(
      parser.get(), nullptr, out.source_.data(), static_cast<std::uint32_t>(out.source_.size())));
  if (tree == nullptr) {
    out.cut_ = true;
    return out;
  }
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree.get()));
  struct Open {
    NodeId id;
    NodeId last;  // child
  };
  std::vector<Open> open = {{0, kNoNode}};
  out.nodes_[0].end = static_cast<std::uint32_t>(out.source_.size());
  std::uint32_t last_error = 0;
  bool down = ts_tree_cursor_goto_first_child(&cursor);
  while (down) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const TSSymbol symbol = ts_node_symbol(node);
    const bool named = ts_node_is_named(node);
    const TSFieldId field = ts_tree_cursor_current_field_id(&cursor);
    const Part part = field < grammar.parts.size() ? grammar.parts[field] : Part::kNone;
    const std::uint32_t begin = ts_node_start_byte(node);
    const std::uint32_t end = ts_node_end_byte(node);
    const std::uint32_t line = ts_node_start_point(node).row + 1;
    const bool broken = symbol == static_cast<TSSymbol>(-1) || ts_node_is_missing(node);
    if (broken && line != last_error && out.unread_lines_.size() < kUnreadLinesMax) {
      out.unread_lines_.push_back(line);
      last_error = line;
    }
    bool entered = false;
    if (symbol == grammar.comment && named) {
      out.comment_ranges_.emplace_back(begin, end);
      const absl::string_view text = absl::string_view(out.source_).substr(begin, end - begin);
      if (absl::StrContains(text, "paritect") && out.comments_.size() < kCommentsMax) {
        out.comments_.push_back({line, std::string(text)});
      }
    } else if (named || (part == Part::kOperator && !ts_node_is_missing(node))) {
      if (out.nodes_.size() >= kNodesMax) {
        out.cut_ = true;
        break;
      }
      Syntax kind = Syntax::kOperator;
      if (named) kind = symbol < grammar.kinds.size() ? grammar.kinds[symbol] : Syntax::kError;
      const auto id = static_cast<NodeId>(out.nodes_.size());
      out.nodes_.push_back({kind, part, begin, end, line, kNoNode, kNoNode});
      Open& parent = open.back();
      (parent.last == kNoNode ? out.nodes_[parent.id].first : out.nodes_[parent.last].next) = id;
      parent.last = id;
      const bool plain = kind == Syntax::kString && !IsFormatted(out.TextOf(id));
      if (!plain && ts_tree_cursor_goto_first_child(&cursor)) {
        open.push_back({id, kNoNode});
        entered = true;
      }
    }
    if (entered) continue;
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      if (open.size() == 1 || !ts_tree_cursor_goto_parent(&cursor)) {
        down = false;
        break;
      }
      open.pop_back();
    }
  }
  ts_tree_cursor_delete(&cursor);
  // A mark that stands further up (an error around whole statements) was met later.
  std::sort(out.unread_lines_.begin(), out.unread_lines_.end());
  out.unread_lines_.erase(std::unique(out.unread_lines_.begin(), out.unread_lines_.end()), out.unread_lines_.end());
  return out;
}

}  // namespace paritect
