#include "formats/settings/python_source.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"

namespace paritect {
namespace {

constexpr std::size_t kNone = absl::string_view::npos;
constexpr int kLiteralDepthMax = 8;
constexpr std::size_t kTargetBytes = 256;  // of a `for` or `as` within an expression, of a name in full
constexpr std::size_t kLiteralBytesMax = 1024;

bool IsWordSign(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The place of the quote that ends the text begun at `open`, or of the last sign of its line.
std::size_t EndOfText(absl::string_view text, std::size_t open) {
  std::size_t i = open + 1;
  for (; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open]) {
      return i;
    }
  }
  return std::min(i, text.size()) - 1;
}

// Calls `visit(place)` for the signs outside quotes and brackets until it returns false.
template <typename Visit>
void OutsideBrackets(absl::string_view text, Visit visit) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = EndOfText(text, i);
      continue;
    }
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0 && !visit(i)) return;
    if (c == '(' || c == '[' || c == '{') ++depth;
  }
}

std::size_t FindOutside(absl::string_view text, char sign) {
  std::size_t found = kNone;
  OutsideBrackets(text, [&](std::size_t i) {
    if (text[i] == sign) found = i;
    return found == kNone;
  });
  return found;
}

// The "=" of an assignment (the first one of `a = b = 1`), not of a comparison; npos for other statements.
std::size_t FindAssignment(absl::string_view text) {
  std::size_t found = kNone;
  OutsideBrackets(text, [&](std::size_t i) {
    if (text[i] != '=') return true;
    const bool compares = (i + 1 < text.size() && text[i + 1] == '=') ||
                          (i > 0 && absl::StrContains("=!<>", text[i - 1]) && !(i > 1 && text[i - 2] == text[i - 1]));
    if (!compares) found = i;
    return false;
  });
  return found;
}

struct RawLine {
  absl::string_view text;
  std::int64_t line = 0;
  std::size_t indent = 0;
};

// Logical lines: a bracket or a backslash goes on.
std::vector<RawLine> LogicalLines(absl::string_view text) {
  std::vector<RawLine> lines;
  bool balanced = true;
  std::int64_t number = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first_end = std::min(text.find('\n', at), text.size());
    std::size_t end = first_end;
    int depth = 0;
    std::int64_t further = 0;
    for (std::size_t i = at; balanced && i < text.size(); ++i) {
      const char c = text[i];
      if (c == '"' || c == '\'') {
        i = EndOfText(text, i);
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (c == ')' || c == ']' || c == '}') {
        depth = std::max(0, depth - 1);
      } else if (c == '\n') {
        const bool goes_on = i > 0 && text[i - 1] == '\\';
        if (depth == 0 && !goes_on) {
          end = i;
          break;
        }
        ++further;
      }
      if (i + 1 >= text.size()) end = text.size();
    }
    if (depth > 0) {  // a bracket that never closes: from here on each line stands for itself
      balanced = false;
      end = first_end;
      further = 0;
    }
    const absl::string_view whole = text.substr(at, end - at);
    const absl::string_view trimmed = absl::StripAsciiWhitespace(whole);
    if (!trimmed.empty()) {
      const auto indent = static_cast<std::size_t>(trimmed.data() - whole.data());
      lines.push_back({trimmed, number, indent});
    }
    number += further + 1;
    at = end + 1;
  }
  return lines;
}

enum class Truth { kYes, kNo, kUnknown };

Truth TruthOf(absl::string_view condition, const PythonSource& source) {
  condition = absl::StripAsciiWhitespace(condition);
  while (condition.size() > 2 && condition.front() == '(' && ClosingBracket(condition, 0) == condition.size() - 1)
    condition = absl::StripAsciiWhitespace(condition.substr(1, condition.size() - 2));
  bool negated = false;
  while (absl::ConsumePrefix(&condition, "not ")) negated = !negated;
  condition = absl::StripAsciiWhitespace(condition);
  if (auto known = source.literals.find(condition); known != source.literals.end()) condition = known->second;
  Truth truth = Truth::kUnknown;
  if (condition == "True" || condition == "1" || absl::StartsWith(condition, "__name__ ==")) truth = Truth::kYes;
  if (condition == "False" || condition == "0" || condition == "None" || condition == "TYPE_CHECKING" ||
      condition == "typing.TYPE_CHECKING" || condition == "\"\"" || condition == "''")
    truth = Truth::kNo;
  if (!negated || truth == Truth::kUnknown) return truth;
  return truth == Truth::kYes ? Truth::kNo : Truth::kYes;
}

// The word that opens a block, "" for other statements.
absl::string_view BlockWord(absl::string_view text) {
  absl::ConsumePrefix(&text, "async ");
  std::size_t end = 0;
  while (end < text.size() && IsWordSign(text[end])) ++end;
  const absl::string_view word = text.substr(0, end);
  for (absl::string_view one :
       {"if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class", "case", "match"}) {
    if (word == one && (end >= text.size() || text[end] != '=')) return one;
  }
  return "";
}

// Walks the logical lines with the blocks that are open.
class BlockReader {
 public:
  explicit BlockReader(PythonSource& source) : source_(source) {}

  void Line(const RawLine& line) {
    Block before;  // the block that just ended at this indentation
    while (blocks_.size() > 1 && line.indent <= blocks_.back().indent) {
      if (blocks_.back().indent == line.indent) before = blocks_.back();
      blocks_.pop_back();
    }
    Statement(line.text, line, before);
  }

 private:
  struct Block {
    std::size_t indent = 0;
    absl::string_view word;
    PythonReach reach = PythonReach::kAlways;
    int chain = -1;
    int branch = 0;
    int own_chain = -1;  // of the if ... else that the block is part of
    bool taken = false;  // a constant condition of the chain holds
  };

  void Statement(absl::string_view text, const RawLine& line, const Block& before) {
    const absl::string_view word = BlockWord(text);
    const std::size_t colon = word.empty() ? kNone : FindOutside(text, ':');
    if (colon == kNone) return Plain(text, line.line);
    const absl::string_view header = absl::StripAsciiWhitespace(text.substr(0, colon));
    Add(header, line.line, blocks_.back());
    blocks_.push_back(Open(word, header, line.indent, before));
    const absl::string_view body = absl::StripAsciiWhitespace(text.substr(colon + 1));
    if (!body.empty()) Plain(body, line.line);
  }

  // Statements of one line, parted by ";".
  void Plain(absl::string_view text, std::int64_t line) {
    std::size_t start = 0;
    OutsideBrackets(text, [&](std::size_t i) {
      if (text[i] == ';') {
        Add(absl::StripAsciiWhitespace(text.substr(start, i - start)), line, blocks_.back());
        start = i + 1;
      }
      return true;
    });
    Add(absl::StripAsciiWhitespace(text.substr(start)), line, blocks_.back());
  }

  void Add(absl::string_view text, std::int64_t line, const Block& block) {
    if (!text.empty()) source_.statements.push_back({text, line, block.reach, block.chain, block.branch});
  }

  Block Open(absl::string_view word, absl::string_view header, std::size_t indent, const Block& before) {
    const Block& outer = blocks_.back();
    Block block = outer;
    block.indent = indent;
    block.word = word;
    block.taken = false;
    block.own_chain = -1;
    Truth truth = Truth::kYes;
    int branch = 0;
    const bool goes_on = before.own_chain >= 0 && (word == "elif" || word == "else");
    if (word == "if" || word == "elif") truth = TruthOf(header.substr(word.size()), source_);
    if (word == "except" || word == "case") truth = Truth::kUnknown;
    if (word == "if" || goes_on) {
      block.own_chain = goes_on ? before.own_chain : static_cast<int>(counted_.size());
      if (!goes_on) {
        counted_.push_back(0);
        source_.branches.push_back(0);
      }
      const auto chain = static_cast<std::size_t>(block.own_chain);
      const bool doubtful = goes_on && doubtful_.contains(block.own_chain);
      if (goes_on && before.taken) truth = Truth::kNo;
      if (truth != Truth::kNo) branch = counted_[chain]++;
      if (truth == Truth::kUnknown) doubtful_.insert(block.own_chain);
      block.taken = (goes_on && before.taken) || (truth == Truth::kYes && !doubtful);
      if (truth == Truth::kYes && doubtful) {  // the rest, after conditions that are not known
        truth = Truth::kUnknown;
        source_.branches[chain] = counted_[chain];
      }
    }
    if (outer.reach == PythonReach::kNever || truth == Truth::kNo) {
      block.reach = PythonReach::kNever;
    } else if (truth == Truth::kUnknown) {
      block.chain = outer.reach == PythonReach::kAlways ? block.own_chain : -1;
      block.branch = branch;
      block.reach = PythonReach::kMaybe;
    }
    return block;
  }

  PythonSource& source_;
  std::vector<Block> blocks_ = {Block()};
  std::vector<int> counted_;  // branches of each chain
  std::set<int> doubtful_;    // chains with a condition that is not known
};

// Calls `visit` for each name of the text that is no attribute, no call and no index.
template <typename Visit>
void ForEachName(absl::string_view text, Visit visit) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"' || text[i] == '\'') {
      i = EndOfText(text, i) + 1;
      continue;
    }
    if (!IsWordSign(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && IsWordSign(text[end])) ++end;
    const bool attribute = i > 0 && text[i - 1] == '.';
    const bool further = end < text.size() && (text[end] == '.' || text[end] == '(' || text[end] == '[');
    if (!attribute && !further) visit(text.substr(i, end - i));
    i = end;
  }
}

// The text without what stands in the brackets behind a name: "y[A].b" -> "y[].b"; a name in an index is read.
std::string WithoutIndices(absl::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.push_back(text[i]);
    const bool index = i > 0 && (text[i] == '[' || text[i] == '(') &&
                       (IsWordSign(text[i - 1]) || absl::StrContains(")]", text[i - 1]));
    const std::size_t close = index ? ClosingBracket(text, i) : kNone;
    if (close == kNone) continue;
    out.push_back(text[close]);
    i = close;
  }
  return out;
}

// What a statement gives a value: names, how often.
class Writes {
 public:
  void Of(absl::string_view text) {
    const absl::string_view word = BlockWord(text);
    if (word == "def" || word == "class" || word == "for" || word == "with" || word == "except" || word == "case") {
      return ForEachName(text, [&](absl::string_view name) { ++counts_[std::string(name)]; });
    }
    if (const std::size_t equals = FindAssignment(text); equals != kNone) {
      const std::string targets = WithoutIndices(text.substr(0, LastTarget(text, equals)));
      ForEachName(targets, [&](absl::string_view name) { ++counts_[std::string(name)]; });
    }
    for (absl::string_view inner : {"for ", "lambda ", " as "}) {
      for (std::size_t at = text.find(inner); at != kNone; at = text.find(inner, at + 1)) {
        const absl::string_view rest = text.substr(at + inner.size(), kTargetBytes);
        const std::size_t end = inner == "for " ? rest.find(" in ") : rest.find_first_of(":,)\n");
        ForEachName(rest.substr(0, end), [&](absl::string_view name) { ++counts_[std::string(name)]; });
      }
    }
    for (std::size_t at = text.find(":="); at != kNone; at = text.find(":=", at + 2)) {
      absl::string_view left = absl::StripTrailingAsciiWhitespace(text.substr(0, at));
      std::size_t begin = left.size();
      while (begin > 0 && IsWordSign(left[begin - 1])) --begin;
      ++counts_[std::string(left.substr(begin))];
    }
    absl::string_view deleted = text;
    if (absl::ConsumePrefix(&deleted, "del "))
      ForEachName(deleted, [&](absl::string_view name) { ++counts_[std::string(name)]; });
  }

  int Count(absl::string_view name) const {
    auto it = counts_.find(name);
    return it == counts_.end() ? 0 : it->second;
  }

 private:
  // Of "a = b = 1" the place of the last "=".
  static std::size_t LastTarget(absl::string_view text, std::size_t equals) {
    while (true) {
      const std::size_t next = FindAssignment(text.substr(equals + 1));
      if (next == kNone) return equals;
      equals += next + 1;
    }
  }

  std::map<std::string, int, std::less<>> counts_;
};

// "import a.b as c", "from a import b as c, d".
void ReadImport(absl::string_view text, PythonSource& source) {
  std::string from;
  if (absl::ConsumePrefix(&text, "from ")) {
    const std::size_t import = text.find(" import ");
    if (import == kNone) return;
    from = absl::StrCat(absl::StripAsciiWhitespace(text.substr(0, import)), ".");
    text = text.substr(import + 8);
  } else if (!absl::ConsumePrefix(&text, "import ")) {
    return;
  }
  for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar(",()\\\n"), absl::SkipWhitespace())) {
    part = absl::StripAsciiWhitespace(part);
    const std::size_t as = part.find(" as ");
    const absl::string_view whole = absl::StripAsciiWhitespace(part.substr(0, as));
    const absl::string_view name = as == kNone ? whole : absl::StripAsciiWhitespace(part.substr(as + 4));
    if (from.size() + whole.size() > kTargetBytes || !IsIdentifier(name)) continue;
    if (name != whole || !from.empty()) source.names[std::string(name)] = absl::StrCat(from, whole);
  }
}

// "opts = npu.global_options()", "matmul = torch.backends.cuda.matmul": an object under another name.
bool IsObject(absl::string_view value) {
  absl::ConsumeSuffix(&value, "()");
  return absl::StrContains(value, '.') &&
         std::all_of(value.begin(), value.end(), [](char c) { return IsWordSign(c) || c == '.'; }) &&
         !absl::ascii_isdigit(static_cast<unsigned char>(value[0])) && value.back() != '.';
}

bool LiteralAt(absl::string_view text, int depth);

bool LiteralItems(absl::string_view inside, int depth) {
  const std::vector<absl::string_view> items = SplitOutsideBrackets(inside, ',');
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].empty() && i + 1 == items.size()) continue;
    const std::size_t colon = FindOutside(items[i], ':');
    if (colon != kNone && !LiteralAt(items[i].substr(0, colon), depth + 1)) return false;
    if (!LiteralAt(colon == kNone ? items[i] : items[i].substr(colon + 1), depth + 1)) return false;
  }
  return true;
}

bool LiteralAt(absl::string_view text, int depth) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty() || depth > kLiteralDepthMax) return false;
  if (text == "True" || text == "False" || text == "None") return true;
  absl::string_view number = text;
  absl::ConsumePrefix(&number, "-");
  if (!number.empty() && absl::ascii_isdigit(static_cast<unsigned char>(number[0])) &&
      number.find_first_not_of("0123456789._eE+-*xXabcdefABCDEF ") == kNone) {
    return ParseDouble(text) || absl::StartsWithIgnoreCase(number, "0x") ||
           number.find_first_not_of("0123456789* ") == kNone || number.find_first_not_of("0123456789_") == kNone;
  }
  if (text.front() == '.') return ParseDouble(text).has_value();
  if (text.size() > 1 && absl::StrContains("bru", absl::ascii_tolower(static_cast<unsigned char>(text[0]))) &&
      (text[1] == '"' || text[1] == '\''))
    text.remove_prefix(1);
  if (text.front() == '"' || text.front() == '\'')
    return text.size() > 1 && text.back() == text.front() && EndOfText(text, 0) == text.size() - 1;
  if (!absl::StrContains("([{", text.front()) || ClosingBracket(text, 0) != text.size() - 1) return false;
  return LiteralItems(text.substr(1, text.size() - 2), depth);
}

}  // namespace

std::size_t FindPythonAssignment(absl::string_view statement) {
  return FindAssignment(statement);
}

bool IsPythonLiteral(absl::string_view text) {
  return LiteralAt(text, 0);
}

std::string FullPythonName(const PythonSource& source, absl::string_view dotted) {
  std::string full(dotted);
  for (int round = 0; round < 4; ++round) {  // a name of a name
    const std::size_t end = std::min(full.find_first_of(".([ "), full.size());
    auto known = source.names.find(absl::string_view(full).substr(0, end));
    if (known == source.names.end() || absl::StartsWith(known->second, absl::StrCat(known->first, "."))) break;
    full = absl::StrCat(known->second, absl::string_view(full).substr(end));
  }
  return full;
}

PythonSource ReadPythonSource(absl::string_view plain) {
  PythonSource source;
  const std::vector<RawLine> lines = LogicalLines(plain);
  Writes writes;
  for (const RawLine& line : lines) {
    writes.Of(line.text);
    ReadImport(line.text, source);
  }
  for (const RawLine& line : lines) {
    const std::size_t equals = FindAssignment(line.text);
    if (equals == kNone || equals == 0) continue;
    absl::string_view name = absl::StripAsciiWhitespace(line.text.substr(0, equals));
    name = absl::StripAsciiWhitespace(name.substr(0, name.find(':')));  // "MODE: str = ..."
    const absl::string_view value = absl::StripAsciiWhitespace(line.text.substr(equals + 1));
    if (!IsIdentifier(name) || writes.Count(name) != 1) continue;
    if (line.indent == 0 && value.size() <= kLiteralBytesMax && IsPythonLiteral(value))
      source.literals[std::string(name)] = std::string(value);
    if (!value.empty() && value.size() <= kTargetBytes && IsObject(value))
      source.names.try_emplace(std::string(name), std::string(value));
  }
  BlockReader reader(source);
  for (const RawLine& line : lines) reader.Line(line);
  return source;
}

}  // namespace paritect
