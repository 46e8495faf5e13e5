// The one file that parses JSON into the document tree. nlohmann-json's event interface, with
// exceptions off; positions come from the number of bytes it has taken.
#include <nlohmann/json.hpp>

#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using Json = nlohmann::json;

// Counts what the lexer takes. It reads one byte ahead after a number.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    if (at_ > *furthest_) *furthest_ = at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

class JsonBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  JsonBuilder(absl::string_view text, const DocumentLimits& limits) : text_(text), limits_(limits) {
    furthest = text.data();
    line_at_ = text.data();
    line_start_ = text.data();
  }

  const char* furthest;
  DocumentNode root;
  std::string error;

  bool null() { return Put(NodeHere(DocumentNode::Kind::kNull, 4)); }
  bool boolean(bool value) { return PutScalar(value ? "true" : "false", value ? 4 : 5); }
  bool number_integer(number_integer_t) { return PutNumber(); }
  bool number_unsigned(number_unsigned_t) { return PutNumber(); }
  bool number_float(number_float_t, const string_t&) { return PutNumber(); }
  bool binary(binary_t&) { return false; }

  bool string(string_t& value) {
    DocumentNode node = NodeBackToQuote();
    node.text = value;
    return Put(std::move(node));
  }

  bool start_object(std::size_t) { return Open(DocumentNode::Kind::kMap); }
  bool start_array(std::size_t) { return Open(DocumentNode::Kind::kList); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(string_t& value) {
    Level& level = levels_.back();
    level.key = NodeBackToQuote();
    level.key.text = value;
    if (!level.keys.insert(value).second) {
      return Refuse(level.key.line, level.key.column, absl::StrCat("key '", value, "' stands twice"));
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& why) {
    if (!error.empty()) return false;
    const char* at = furthest > text_.data() ? furthest - 1 : furthest;
    absl::string_view message = why.what();
    if (auto colon = message.rfind("; expected"); colon != absl::string_view::npos) message = message.substr(0, colon);
    if (auto part = message.find(": syntax error"); part != absl::string_view::npos) message = message.substr(part + 2);
    const auto [line, column] = LineColumn(at);
    return Refuse(line, column, absl::StrCat("not valid JSON: ", DisplayBytes(message.substr(0, 200))));
  }

 private:
  struct Level {
    DocumentNode node;
    DocumentNode key;
    absl::flat_hash_set<std::string> keys;
  };

  bool Refuse(int line, int column, absl::string_view message) {
    if (error.empty()) error = absl::StrCat(line, ":", column, ": ", message);
    return false;
  }

  // Lines are counted once and where one begins is kept, since a whole document may be one line: positions only move
  // forward (but for the few bytes of the last token).
  std::pair<int, int> LineColumn(const char* at) {
    bool crossed = false;  // backwards over the end of a line
    for (; line_at_ > at; --line_at_) {
      if (line_at_[-1] != '\n') continue;
      --line_;
      crossed = true;
    }
    for (; line_at_ < at; ++line_at_) {
      if (*line_at_ != '\n') continue;
      ++line_;
      line_start_ = line_at_ + 1;
    }
    if (crossed) {
      line_start_ = at;
      while (line_start_ > text_.data() && line_start_[-1] != '\n') --line_start_;
    }
    return {line_, static_cast<int>(at - line_start_) + 1};
  }

  DocumentNode NodeAt(const char* at, DocumentNode::Kind kind) {
    DocumentNode node;
    node.kind = kind;
    const auto [line, column] = LineColumn(at);
    node.line = line;
    node.column = column;
    return node;
  }

  DocumentNode NodeHere(DocumentNode::Kind kind, std::size_t token_length) {
    return NodeAt(
        furthest - std::min<std::ptrdiff_t>(furthest - text_.data(), static_cast<std::ptrdiff_t>(token_length)), kind);
  }

  // The token just taken is a string: its opening quote is the last one before it that no odd number
  // of backslashes precedes.
  DocumentNode NodeBackToQuote() {
    const char* at = furthest - 2;
    while (at > text_.data()) {
      if (*at == '"') {
        const char* slash = at;
        while (slash > text_.data() && slash[-1] == '\\') --slash;
        if ((at - slash) % 2 == 0) break;
      }
      --at;
    }
    DocumentNode node = NodeAt(std::max(at, text_.data()), DocumentNode::Kind::kScalar);
    node.quoted = true;
    return node;
  }

  // The number as it is spelled: precision and form are evidence. The lexer has read one byte past it
  // unless the text ended.
  bool PutNumber() {
    const auto is_number = [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    };
    const char* end = furthest;
    while (end > text_.data() && !is_number(end[-1])) --end;
    const char* begin = end;
    while (begin > text_.data() && is_number(begin[-1])) --begin;
    DocumentNode node = NodeAt(begin, DocumentNode::Kind::kScalar);
    node.text.assign(begin, end);
    return Put(std::move(node));
  }

  bool PutScalar(const char* text, std::size_t length) {
    DocumentNode node = NodeHere(DocumentNode::Kind::kScalar, length);
    node.text = text;
    return Put(std::move(node));
  }

  bool Open(DocumentNode::Kind kind) {
    DocumentNode node = NodeHere(kind, 1);
    if (static_cast<int>(levels_.size()) >= limits_.depth_max) {
      return Refuse(node.line, node.column, absl::StrCat("nested deeper than ", limits_.depth_max));
    }
    levels_.emplace_back();
    levels_.back().node = std::move(node);
    return true;
  }

  bool Close() {
    DocumentNode node = std::move(levels_.back().node);
    levels_.pop_back();
    return Put(std::move(node));
  }

  bool Put(DocumentNode node) {
    if (++nodes_ > limits_.nodes_max) return Refuse(node.line, node.column, "too many values");
    if (levels_.empty()) {
      root = std::move(node);
    } else if (levels_.back().node.is_map()) {
      levels_.back().node.fields.emplace_back(std::move(levels_.back().key), std::move(node));
    } else {
      levels_.back().node.items.push_back(std::move(node));
    }
    return true;
  }

  const absl::string_view text_;
  const DocumentLimits limits_;
  std::vector<Level> levels_;
  std::size_t nodes_ = 0;
  const char* line_at_;
  const char* line_start_;
  int line_ = 1;
};

// Python's json module writes NaN, Infinity and -Infinity, which JSON does not have. They become
// strings here (same length kept by blanks), where they stand as values outside of strings.
std::string QuoteNonFinite(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out.push_back(c);
      if (c == '\\' && i + 1 < text.size()) out.push_back(text[++i]);
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    const absl::string_view rest = text.substr(i);
    bool replaced = false;
    for (absl::string_view word : {"NaN", "-Infinity", "Infinity"}) {
      if (!absl::StartsWith(rest, word)) continue;
      absl::StrAppend(&out, "\"\\u0000", word, "\"");
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) out.push_back(c);
  }
  return out;
}

// Undoes QuoteNonFinite in the tree.
void UnquoteNonFinite(DocumentNode& root) {
  std::vector<DocumentNode*> open = {&root};
  while (!open.empty()) {
    DocumentNode* node = open.back();
    open.pop_back();
    if (node->quoted && !node->text.empty() && node->text.front() == '\0') {
      node->text.erase(0, 1);
      node->quoted = false;
    }
    for (DocumentNode& item : node->items) open.push_back(&item);
    for (auto& field : node->fields) open.push_back(&field.second);
  }
}

absl::StatusOr<DocumentNode> Parse(absl::string_view text, const DocumentLimits& limits) {
  JsonBuilder builder(text, limits);
  CountingIterator begin(text.data(), &builder.furthest);
  const char* text_end = text.data() + text.size();
  CountingIterator end(text_end, &text_end);
  if (!Json::sax_parse(begin, end, &builder)) {
    return absl::InvalidArgumentError(builder.error.empty() ? "1:1: not valid JSON" : builder.error);
  }
  return std::move(builder.root);
}

}  // namespace

absl::StatusOr<DocumentNode> ParseJson(absl::string_view text, const DocumentLimits& limits) {
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.size() > limits.bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("1:1: ", text.size(), " bytes found, at most ", limits.bytes_max, " are read"));
  }
  if (!absl::StrContains(text, "NaN") && !absl::StrContains(text, "Infinity")) return Parse(text, limits);
  auto root = Parse(QuoteNonFinite(text), limits);
  if (root.ok()) UnquoteNonFinite(*root);
  return root;
}

}  // namespace paritect
