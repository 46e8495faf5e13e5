#include "formats/shards/list_scanner.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace paritect {
namespace {

void AppendUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | ((code >> 18) & 0x07)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

class Scanner {
 public:
  Scanner(absl::string_view text, std::size_t at) : text_(text), at_(at) {}

  std::optional<ScannedList> Run() {
    ScannedList list;
    ++at_;  // '['
    for (;;) {
      SkipBetween();
      if (at_ >= text_.size()) {
        list.cut = true;
        list.end = at_;
        return list;
      }
      if (text_[at_] == ']') {
        list.end = at_ + 1;
        return list;
      }
      if (absl::StartsWith(text_.substr(at_), "...")) {
        at_ += 3;
        list.elided = true;
        continue;
      }
      if (!ScanItem(list)) return std::nullopt;
    }
  }

 private:
  // Blanks, line ends, commas and semicolons.
  void SkipBetween() {
    while (at_ < text_.size() && (absl::ascii_isspace(Byte()) || text_[at_] == ',' || text_[at_] == ';')) ++at_;
  }

  unsigned char Byte() const { return static_cast<unsigned char>(text_[at_]); }

  bool ScanItem(ScannedList& list) {
    // A wrapper such as PosixPath( or np.int64( or b before a quote.
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalpha(Byte()) ||
            (at_ > begin && (absl::ascii_isalnum(Byte()) || text_[at_] == '.' || text_[at_] == '_'))))
      ++at_;
    const bool word = at_ > begin;
    if (at_ >= text_.size()) return Cut(list);
    const bool wrapped = word && text_[at_] == '(';
    if (wrapped) ++at_;
    if (word && !wrapped && text_[at_] != '\'' && text_[at_] != '"') return false;
    if (at_ >= text_.size()) return Cut(list);
    std::string item;
    if (text_[at_] == '\'' || text_[at_] == '"') {
      if (!ScanQuoted(item)) return Cut(list);
      list.numbers = false;
    } else if (!ScanNumber(item)) {
      return false;
    }
    if (wrapped) {
      if (at_ >= text_.size()) return Cut(list);
      if (text_[at_] != ')') return false;
      ++at_;
    }
    // "1.5", "1/100", "12:30" are no whole numbers.
    if (at_ < text_.size() && !absl::ascii_isspace(Byte()) && !absl::StrContains(",;]", text_.substr(at_, 1)))
      return false;
    if (at_ >= text_.size() && !list.items.empty() && item.empty()) return Cut(list);
    list.items.push_back(std::move(item));
    return true;
  }

  // The text ends within an item: the item is not one, the list is cut.
  bool Cut(ScannedList& list) {
    at_ = text_.size();
    list.cut = true;
    return true;
  }

  bool ScanNumber(std::string& item) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && absl::ascii_isdigit(Byte()) && at_ - begin < 19) ++at_;
    item = std::string(text_.substr(begin, at_ - begin));
    return at_ > begin;
  }

  bool ScanQuoted(std::string& item) {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] != '\\') {
        item.push_back(text_[at_++]);
        continue;
      }
      if (++at_ < text_.size()) ScanEscape(item);
    }
    if (at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  void ScanEscape(std::string& item) {
    const char c = text_[at_++];
    switch (c) {
      case 'n': item.push_back('\n'); return;
      case 't': item.push_back('\t'); return;
      case 'r': item.push_back('\r'); return;
      case 'x': ScanHex(2, c, item); return;
      case 'u': ScanHex(4, c, item); return;
      case 'U': ScanHex(8, c, item); return;
      case '\\':
      case '\'':
      case '"':
      case '/': item.push_back(c); return;
      default:
        item.push_back('\\');
        item.push_back(c);
        return;  // Python keeps an unknown escape
    }
  }

  void ScanHex(std::size_t digits, char kind, std::string& item) {
    std::uint32_t code = 0;
    const absl::string_view hex = text_.substr(at_, digits);
    if (hex.size() != digits || !absl::SimpleHexAtoi(hex, &code) || code > 0x10ffff) {
      item.push_back('\\');
      item.push_back(kind);
      return;
    }
    at_ += digits;
    // \xHH within bytes (b'..') is that byte; within a text Python prints it for control characters only.
    if (kind == 'x') {
      item.push_back(static_cast<char>(code));
    } else if (code >= 0xdc80 && code <= 0xdcff) {
      item.push_back(static_cast<char>(code - 0xdc00));  // surrogateescape: a byte that was not UTF-8
    } else {
      AppendUtf8(code, item);
    }
  }

  absl::string_view text_;
  std::size_t at_;
};

}  // namespace

std::optional<ScannedList> ScanList(absl::string_view text, std::size_t begin) {
  return Scanner(text, begin).Run();
}

namespace {

constexpr absl::string_view kPipe = "pipe:";

// An address with a path: "https://host" alone, as of an option, is no shard.
bool IsAddress(absl::string_view word) {
  const std::size_t mark = word.find("://");
  if (mark == absl::string_view::npos || mark == 0) return false;
  const std::size_t path = word.find('/', mark + 3);
  return path != absl::string_view::npos && path + 1 < word.size();
}

bool IsPath(absl::string_view word) {
  if (absl::StartsWith(word, "-") || absl::StartsWith(word, "/dev/") || absl::StrContains(word, "://")) return false;
  if (word.find_first_of("<>|&;=$") != absl::string_view::npos) return false;
  return word.find_first_of("/.") != absl::string_view::npos && word.find_first_not_of("./") != absl::string_view::npos;
}

}  // namespace

bool TakeNameOutOfPipe(std::string& name) {
  if (!absl::StartsWith(name, kPipe)) return true;
  std::set<std::string> addresses, paths;
  bool program = true;  // the next word is a command's own name
  for (absl::string_view word :
       absl::StrSplit(absl::string_view(name).substr(kPipe.size()), absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    if (word.find_first_not_of("|&;") == absl::string_view::npos) {
      program = true;
      continue;
    }
    const char quote = word.front();
    if ((quote == '"' || quote == '\'') && word.size() > 2 && word.back() == quote)
      word = word.substr(1, word.size() - 2);
    if (IsAddress(word)) {
      // What stands behind '?' is a signature, another one each time.
      if (absl::StartsWith(word, "http")) word = word.substr(0, word.find('?'));
      addresses.emplace(word);
    } else if (!program && IsPath(word)) {
      paths.emplace(word);
    }
    program = false;
  }
  const std::set<std::string>& found = addresses.empty() ? paths : addresses;
  if (found.size() != 1) return false;
  name = *found.begin();
  return true;
}

}  // namespace paritect
