#include "formats/python/syntax.h"

#include <algorithm>
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
  const auto in_gap = [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)) || c == '\\'; };
  std::string out;
  out.reserve(node.end - node.begin);
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
    const std::uint32_t until =
        comment == comment_ranges_.end() ? node.end : std::min(node.end, std::max(comment->first, at));
    const std::uint32_t begin = at;
    while (at < until && !in_gap(source_[at])) ++at;
    if (at > begin) {
      if (gap && !out.empty()) out.push_back(' ');
      out.append(source_, begin, at - begin);
      gap = false;
    }
    while (at < until && in_gap(source_[at])) {
      ++at;
      gap = true;
    }
  }
  return out;
}

namespace {

// tree-sitter 0.20.7 loses count of an error's children beyond 16 bits, and frees what it must not: no piece that is
// parsed has as many tokens.
constexpr std::size_t kTokensMax = 60'000;
constexpr std::size_t kTokensOfPiece = 30'000;  // a longer text is parted where a definition begins

struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t tokens = 0;
  std::uint32_t line = 0;  // lines before it
};

// The end of a text literal that begins at `at`.
std::size_t EndOfLiteral(absl::string_view source, std::size_t at) {
  const char quote = source[at];
  const bool triple = at + 2 < source.size() && source[at + 1] == quote && source[at + 2] == quote;
  for (std::size_t i = at + (triple ? 3 : 1); i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (!triple && source[i] == '\n') {
      return i;
    } else if (source[i] == quote &&
               (!triple || (i + 2 < source.size() && source[i + 1] == quote && source[i + 2] == quote))) {
      return i + (triple ? 3 : 1);
    }
  }
  return source.size();
}

// Whether a top-level statement may begin a piece there.
bool BeginsDefinition(absl::string_view rest) {
  return absl::StartsWith(rest, "def ") || absl::StartsWith(rest, "class ") || absl::StartsWith(rest, "@") ||
         absl::StartsWith(rest, "import ") || absl::StartsWith(rest, "from ") || absl::StartsWith(rest, "if ");
}

bool IsWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0;
}

std::vector<Piece> PiecesOf(absl::string_view source) {
  std::vector<Piece> pieces(1);
  std::uint32_t line = 0;
  int depth = 0;
  bool decorated = false;  // the line before is a decorator
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    if (c == '\n') {
      ++line;
      ++i;
      const absl::string_view rest = source.substr(i, 8);
      if (pieces.back().tokens > kTokensOfPiece && depth == 0 && !decorated && BeginsDefinition(rest)) {
        pieces.back().end = i;
        pieces.push_back({i, i, 0, line});
      }
      if (!rest.empty() && rest[0] != '\n') decorated = rest[0] == '@';
      continue;
    }
    if (c == '#') {
      i = std::min(source.find('\n', i), source.size());
      continue;
    }
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      ++i;
      continue;
    }
    ++pieces.back().tokens;
    if (c == '"' || c == '\'') {
      const std::size_t end = EndOfLiteral(source, i);
      line += static_cast<std::uint32_t>(std::count(source.begin() + static_cast<std::ptrdiff_t>(i),
                                                    source.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      // Escapes and interpolations within are tokens of their own.
      pieces.back().tokens +=
          static_cast<std::size_t>(std::count_if(source.begin() + static_cast<std::ptrdiff_t>(i),
                                                 source.begin() + static_cast<std::ptrdiff_t>(end),
                                                 [](char sign) { return sign == '\\' || sign == '{'; })) *
          4;
      i = end;
    } else if (IsWord(c)) {
      while (i < source.size() && IsWord(source[i])) ++i;
    } else {
      depth += c == '(' || c == '[' || c == '{' ? 1 : 0;
      depth = std::max(0, depth - (c == ')' || c == ']' || c == '}' ? 1 : 0));
      ++i;
    }
  }
  pieces.back().end = source.size();
  return pieces;
}

}  // namespace

// Takes over what tree-sitter sees of one piece as further children of the module.
class PieceReader {
 public:
  explicit PieceReader(SyntaxTree& out) : out_(out) {}

  void Read(const TSTree* tree, const Piece& piece) {
    piece_ = piece;
    const TSNode root = ts_tree_root_node(tree);
    if (ts_node_symbol(root) == static_cast<TSSymbol>(-1)) Unread(piece.line + 1);
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    open_ = {{0, last_of_module_}};
    bool down = ts_tree_cursor_goto_first_child(&cursor);
    while (down) {
      if (Enter(cursor) && ts_tree_cursor_goto_first_child(&cursor)) {
        open_.push_back({static_cast<NodeId>(out_.nodes_.size() - 1), kNoNode});
        continue;
      }
      if (out_.cut_) break;
      while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
        if (open_.size() == 1 || !ts_tree_cursor_goto_parent(&cursor)) {
          down = false;
          break;
        }
        open_.pop_back();
      }
    }
    last_of_module_ = open_.front().last;
    ts_tree_cursor_delete(&cursor);
  }

  void Unread(std::uint32_t line) {
    if (out_.unread_lines_.size() < kUnreadLinesMax &&
        (out_.unread_lines_.empty() || out_.unread_lines_.back() != line)) {
      out_.unread_lines_.push_back(line);
    }
  }

 private:
  struct Open {
    NodeId id;
    NodeId last;  // child
  };

  // Takes over the node at the cursor. True: its children are of interest.
  bool Enter(const TSTreeCursor& cursor) {
    const Grammar& grammar = TheGrammar();
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const TSSymbol symbol = ts_node_symbol(node);
    const bool named = ts_node_is_named(node);
    const TSFieldId field = ts_tree_cursor_current_field_id(&cursor);
    const Part part = field < grammar.parts.size() ? grammar.parts[field] : Part::kNone;
    const auto base = static_cast<std::uint32_t>(piece_.begin);
    const std::uint32_t begin = base + ts_node_start_byte(node);
    const std::uint32_t end = base + ts_node_end_byte(node);
    const std::uint32_t line = piece_.line + ts_node_start_point(node).row + 1;
    if (symbol == static_cast<TSSymbol>(-1) || ts_node_is_missing(node)) Unread(line);
    if (symbol == grammar.comment && named) {
      Comment(line, begin, end);
      return false;
    }
    if (!named && (part != Part::kOperator || ts_node_is_missing(node))) return false;
    if (out_.nodes_.size() >= kNodesMax) {
      out_.cut_ = true;
      return false;
    }
    Syntax kind = Syntax::kOperator;
    if (named) kind = symbol < grammar.kinds.size() ? grammar.kinds[symbol] : Syntax::kError;
    const auto id = static_cast<NodeId>(out_.nodes_.size());
    out_.nodes_.push_back({kind, part, begin, end, line, kNoNode, kNoNode});
    Open& parent = open_.back();
    (parent.last == kNoNode ? out_.nodes_[parent.id].first : out_.nodes_[parent.last].next) = id;
    parent.last = id;
    return kind != Syntax::kString || IsFormatted(out_.TextOf(id));
  }

  void Comment(std::uint32_t line, std::uint32_t begin, std::uint32_t end) {
    out_.comment_ranges_.emplace_back(begin, end);
    const absl::string_view text = absl::string_view(out_.source_).substr(begin, end - begin);
    if (absl::StrContains(text, "paritect") && out_.comments_.size() < kCommentsMax) {
      out_.comments_.push_back({line, std::string(text)});
    }
  }

  SyntaxTree& out_;
  Piece piece_;
  std::vector<Open> open_;
  NodeId last_of_module_ = kNoNode;
};

SyntaxTree ParsePython(std::string source) {
  SyntaxTree out;
  out.source_ = std::move(source);
  out.nodes_.push_back(
      {Syntax::kModule, Part::kNone, 0, static_cast<std::uint32_t>(out.source_.size()), 1, kNoNode, kNoNode});
  if (out.source_.size() > kSourceBytesMax) {
    out.nodes_[0].end = 0;
    out.cut_ = true;
    return out;
  }
  // One of each thread: what it holds is costly to make and carries nothing over.
  static thread_local const std::unique_ptr<TSParser, DeleteParser> parser = [] {
    std::unique_ptr<TSParser, DeleteParser> made(ts_parser_new());
    ts_parser_set_language(made.get(), tree_sitter_python());
    ts_parser_set_timeout_micros(made.get(), kParseMicrosMax);
    return made;
  }();
  PieceReader reader(out);
  for (const Piece& piece : PiecesOf(out.source_)) {
    std::unique_ptr<TSTree, DeleteTree> tree;
    if (piece.tokens < kTokensMax) {
      tree.reset(ts_parser_parse_string(parser.get(), nullptr, out.source_.data() + piece.begin,
                                        static_cast<std::uint32_t>(piece.end - piece.begin)));
    }
    if (tree == nullptr) {
      out.cut_ = true;
      reader.Unread(piece.line + 1);
      ts_parser_reset(parser.get());
      continue;
    }
    reader.Read(tree.get(), piece);
    if (out.nodes_.size() >= kNodesMax) break;
  }
  // A mark that stands further up (an error around whole statements) was met later.
  std::sort(out.unread_lines_.begin(), out.unread_lines_.end());
  out.unread_lines_.erase(std::unique(out.unread_lines_.begin(), out.unread_lines_.end()), out.unread_lines_.end());
  return out;
}

}  // namespace paritect
