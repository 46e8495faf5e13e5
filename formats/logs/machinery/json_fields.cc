#include "formats/logs/machinery/json_fields.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"

namespace paritect {
namespace {

constexpr int kDepthMax = 16;

class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text) {}

  std::size_t Run(absl::FunctionRef<void(absl::string_view, absl::string_view)> visit) {
    if (!Take('{')) return 0;
    path_ends_.push_back(0);
    while (!path_ends_.empty()) {
      SkipBlanks();
      if (Take('}')) {
        path_ends_.pop_back();
        SkipBlanks();
        if (!path_ends_.empty()) Take(',');
        continue;
      }
      absl::string_view key;
      if (!Key(key)) return 0;
      path_.resize(path_ends_.back());
      if (!path_.empty()) path_.push_back('.');
      path_.append(key.data(), key.size());
      SkipBlanks();
      if (!Take(':')) return 0;
      SkipBlanks();
      if (Take('{')) {
        if (path_ends_.size() >= kDepthMax) return 0;
        path_ends_.push_back(path_.size());
        continue;
      }
      absl::string_view value;
      if (!Value(value)) return 0;
      visit(path_, value);
      SkipBlanks();
      if (!Take(',') && (at_ >= text_.size() || text_[at_] != '}')) return 0;
    }
    return at_;
  }

 private:
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  bool Quoted(absl::string_view& out) {
    const char quote = text_[at_];
    const std::size_t begin = ++at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == quote) {
        out = text_.substr(begin, at_ - begin);
        ++at_;
        return true;
      }
    }
    return false;
  }

  bool Key(absl::string_view& out) {
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '"' || text_[at_] == '\'') return Quoted(out);
    const std::size_t begin = at_;  // a number as key, in Python
    while (at_ < text_.size() && text_[at_] != ':' && text_[at_] != '}' && text_[at_] != ',') ++at_;
    out = absl::StripAsciiWhitespace(text_.substr(begin, at_ - begin));
    return !out.empty();
  }

  // A scalar, or a bracketed value up to its closing bracket.
  bool Value(absl::string_view& out) {
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '"' || text_[at_] == '\'') return Quoted(out);
    const std::size_t begin = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        absl::string_view ignored;
        if (!Quoted(ignored)) return false;
        --at_;
      } else if (c == '[' || c == '(' || c == '{') {
        ++depth;
      } else if (depth > 0 && (c == ']' || c == ')' || c == '}')) {
        --depth;
      } else if (depth == 0 && (c == ',' || c == '}')) {
        break;
      }
    }
    if (at_ >= text_.size()) return false;
    out = absl::StripAsciiWhitespace(text_.substr(begin, at_ - begin));
    return !out.empty();
  }

  absl::string_view text_;
  std::size_t at_ = 0;
  std::string path_;
  std::vector<std::size_t> path_ends_;
};

}  // namespace

std::size_t ForEachJsonField(absl::string_view text,
                             absl::FunctionRef<void(absl::string_view, absl::string_view)> visit) {
  return Scanner(text).Run(visit);
}

}  // namespace paritect
