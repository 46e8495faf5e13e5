#include "checks/scripts/shapes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"

namespace paritect {
namespace {

struct Token {
  std::string text;
  bool number = false;
};

bool InName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

// Behind a bracket that opens at `i`; the end where it never closes (long symbols are cut).
std::size_t BehindBracket(absl::string_view text, std::size_t i) {
  int depth = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == ']') && --depth == 0) return i + 1;
  }
  return text.size();
}

std::size_t BehindWord(absl::string_view text, std::size_t i) {
  const std::size_t begin = i;
  const bool number = IsDigit(text[begin]) || text[begin] == '.';
  while (i < text.size() && (InName(text[i]) || (number && i > begin && (text[i] == '-' || text[i] == '+') &&
                                                 (text[i - 1] == 'e' || text[i - 1] == 'E'))))
    ++i;
  return i;
}

Token TokenOf(absl::string_view word) {
  auto number = ParseDouble(word);
  // As code is compared, a float has a point behind it ("0.5.").
  if (!number && IsDigit(word[0]) && absl::EndsWith(word, ".")) number = ParseDouble(word.substr(0, word.size() - 1));
  if (number) return {FormatDouble(*number), true};
  return {std::string(word), false};
}

// "each of LOADER(...)": where samples come from is compared by itself.
std::size_t BehindEach(absl::string_view text, std::size_t i) {
  while (absl::StartsWith(text.substr(i), "each of ")) i += 8;
  while (i < text.size() && InName(text[i])) ++i;
  return i < text.size() && (text[i] == '(' || text[i] == '[') ? BehindBracket(text, i) : i;
}

std::vector<Token> TokensOf(absl::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (absl::StartsWith(text.substr(i), "each of ")) {
      i = BehindEach(text, i);
      tokens.push_back({"each", false});
    } else if (text[i] == '\'' || text[i] == '"') {
      const std::size_t end = text.find(text[i], i + 1);
      i = end == absl::string_view::npos ? text.size() : end + 1;
      tokens.push_back({std::string(text.substr(begin, i - begin)), false});
    } else if (text[i] == '[' && i > 0 && (InName(text[i - 1]) || text[i - 1] == ')' || text[i - 1] == ']')) {
      i = BehindBracket(text, i);
      tokens.push_back({std::string(text.substr(begin, i - begin)), false});
    } else if (InName(text[i])) {
      i = BehindWord(text, i);
      tokens.push_back(TokenOf(text.substr(begin, i - begin)));
    } else {
      if (text[i] != ' ') tokens.push_back({std::string(1, text[i]), false});
      ++i;
    }
  }
  return tokens;
}

}  // namespace

std::optional<std::vector<std::pair<std::string, std::string>>> OtherConstants(absl::string_view a,
                                                                               absl::string_view b) {
  const std::vector<Token> x = TokensOf(a);
  const std::vector<Token> y = TokensOf(b);
  if (x.size() != y.size()) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> apart;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].number != y[i].number) return std::nullopt;
    if (x[i].text == y[i].text) continue;
    if (!x[i].number) return std::nullopt;
    apart.emplace_back(x[i].text, y[i].text);
  }
  if (apart.empty()) return std::nullopt;
  return apart;
}

void AddConstants(absl::string_view symbol, std::multiset<std::string>& constants) {
  const std::vector<Token> tokens = TokensOf(symbol);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].number) {
      constants.insert(tokens[i].text);
    } else if (tokens[i].text == "option" && i + 2 < tokens.size() && tokens[i + 1].text == ":") {
      constants.insert(absl::StrCat("option ", tokens[i += 2].text));
    }
  }
}

std::optional<std::int64_t> TurnsOf(absl::string_view over) {
  if (!absl::ConsumePrefix(&over, "range(") || !absl::ConsumeSuffix(&over, ")")) return std::nullopt;
  std::vector<std::int64_t> bounds;
  for (absl::string_view one : absl::StrSplit(over, ',')) {
    std::int64_t bound = 0;
    if (!absl::SimpleAtoi(one, &bound)) return std::nullopt;
    bounds.push_back(bound);
  }
  if (bounds.size() == 1) bounds.insert(bounds.begin(), 0);
  constexpr std::int64_t kTurnsMax = std::int64_t{1} << 40;
  if (bounds.size() != 2 || bounds[1] < bounds[0] || bounds[1] > kTurnsMax || bounds[0] < -kTurnsMax)
    return std::nullopt;
  return bounds[1] - bounds[0];
}

}  // namespace paritect
