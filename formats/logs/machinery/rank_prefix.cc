#include "formats/logs/machinery/rank_prefix.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace paritect {
namespace {

constexpr std::size_t kRankDigitsMax = 7;

std::size_t Digits(absl::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && n <= kRankDigitsMax && absl::ascii_isdigit(static_cast<unsigned char>(text[n]))) ++n;
  return n <= kRankDigitsMax ? n : 0;
}

std::optional<std::int32_t> ToRank(absl::string_view digits) {
  std::int32_t rank = 0;
  if (!absl::SimpleAtoi(digits, &rank)) return std::nullopt;
  return rank;
}

// "WORDn]" then an optional ':'; `text` begins behind '['.
bool Bracketed(absl::string_view word, absl::string_view& text, std::optional<std::int32_t>& rank) {
  if (!absl::StartsWithIgnoreCase(text, word)) return false;
  absl::string_view rest = text.substr(word.size());
  const std::size_t n = Digits(rest);
  if (n == 0 || n >= rest.size() || rest[n] != ']') return false;
  rank = ToRank(rest.substr(0, n));
  rest.remove_prefix(n + 1);
  if (!rest.empty() && rest[0] == ':') rest.remove_prefix(1);
  text = rest;
  return true;
}

// "1,0]<stdout>:" behind '['.
bool Mpi(absl::string_view& text, std::optional<std::int32_t>& rank) {
  const std::size_t job = Digits(text);
  if (job == 0 || job >= text.size() || text[job] != ',') return false;
  absl::string_view rest = text.substr(job + 1);
  const std::size_t n = Digits(rest);
  if (n == 0 || !absl::StartsWith(rest.substr(n), "]<std")) return false;
  const std::size_t end = rest.find(">:");
  if (end == absl::string_view::npos || end > n + 9) return false;
  rank = ToRank(rest.substr(0, n));
  text = rest.substr(end + 2);
  return true;
}

bool StripOne(absl::string_view& text, std::optional<std::int32_t>& rank) {
  absl::string_view rest = text;
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  if (rest.empty()) return false;
  if (rest[0] == '[') {
    rest.remove_prefix(1);
    if (!Bracketed("rank", rest, rank) && !Bracketed("rank ", rest, rank) && !Bracketed("default", rest, rank) &&
        !Mpi(rest, rank)) {
      return false;
    }
  } else if (rest[0] == '(') {
    const std::size_t close = rest.find(')');
    if (close == absl::string_view::npos || close > 120) return false;
    if (!absl::StrContains(rest.substr(0, close), " pid=")) return false;
    rest.remove_prefix(close + 1);
  } else if (const std::size_t n = Digits(rest); n > 0 && absl::StartsWith(rest.substr(n), ": ")) {
    rank = ToRank(rest.substr(0, n));
    rest.remove_prefix(n + 2);
  } else {
    return false;
  }
  text = rest;
  return true;
}

}  // namespace

std::optional<std::int32_t> StripRankPrefix(absl::string_view& text) {
  std::optional<std::int32_t> rank;
  for (int i = 0; i < 4; ++i) {
    if (!StripOne(text, rank)) break;
  }
  return rank;
}

std::size_t FindRankPrefixInside(absl::string_view text) {
  for (std::size_t at = text.find('['); at != absl::string_view::npos; at = text.find('[', at + 1)) {
    if (at == 0) continue;
    absl::string_view rest = text.substr(at + 1);
    std::optional<std::int32_t> rank;
    const bool mpi = Mpi(rest, rank);
    if (mpi || (absl::StartsWith(rest, "rank") && Bracketed("rank", rest, rank) && rest.data()[-1] == ':')) {
      return at;
    }
  }
  return absl::string_view::npos;
}

}  // namespace paritect
