#include "formats/logs/machinery/rank_prefix.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "formats/logs/machinery/log_keys.h"
#include "formats/logs/machinery/log_numbers.h"
#include "rules/metrics.h"

namespace paritect {
namespace {

constexpr std::size_t kRankDigitsMax = 7;
constexpr std::size_t kHostBytesMax = 128;

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

// The time that a container's engine writes before each line, with the time zone that no program's own time here has:
// "2026-01-01T00:00:00.123456789Z ", with " stdout F " behind it in the files of a kubelet.
bool StripEngineTime(absl::string_view& text) {
  constexpr absl::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(text[i]));
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return false;
  }
  absl::string_view rest = text.substr(kShape.size());
  if (rest[0] == '.') {
    const std::size_t end = rest.find_first_not_of("0123456789", 1);
    if (end == absl::string_view::npos) return false;
    rest.remove_prefix(end);
  }
  const bool utc = absl::ConsumePrefix(&rest, "Z");
  if (!utc) {  // "+08:00"
    if (rest.size() < 6 || (rest[0] != '+' && rest[0] != '-') || rest[3] != ':') return false;
    rest.remove_prefix(6);
  }
  if (!absl::ConsumePrefix(&rest, " ")) return false;
  for (const absl::string_view stream : {"stdout F ", "stderr F "}) {
    if (absl::ConsumePrefix(&rest, stream)) break;
  }
  text = rest;
  return true;
}

// "[pod/train-worker-0/pytorch] ", of kubectl logs --prefix; `text` begins behind '['.
bool Pod(absl::string_view& text) {
  const std::size_t close = text.find("] ");
  if (!absl::StartsWith(text, "pod/") || close == absl::string_view::npos || close > kHostBytesMax) return false;
  text.remove_prefix(close + 2);
  return true;
}

// "worker-0: " (pdsh, and launchers over it), "10.0.0.7: ", "trainer-1  | " (docker compose). A name that ends in a
// number may be anything's: "acc-1: 0.5" gives a number, "step-5: loss 2.5" a place, "val-0: loss 2.5" an evaluation.
bool StripHost(absl::string_view& text) {
  std::size_t n = 0;
  bool parted = false;
  while (n < text.size() && n < kHostBytesMax &&
         (absl::ascii_isalnum(static_cast<unsigned char>(text[n])) || text[n] == '-' || text[n] == '.' ||
          text[n] == '_')) {
    parted = parted || text[n] == '-' || text[n] == '.';
    ++n;
  }
  if (!parted || !absl::ascii_isdigit(static_cast<unsigned char>(text[n - 1]))) return false;
  const absl::string_view name = text.substr(0, n);
  absl::string_view rest = text.substr(n);
  if (!absl::ConsumePrefix(&rest, ": ")) {
    rest = absl::StripLeadingAsciiWhitespace(rest);
    if (rest.size() == text.size() - n || !absl::ConsumePrefix(&rest, "| ")) return false;
  }
  const absl::string_view stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  const bool is_address = name.find_first_not_of("0123456789.") == absl::string_view::npos;
  const bool is_place = absl::StartsWith(rest, "[") && absl::StrContains(rest.substr(0, rest.find(']')), "/");
  const bool is_number = !is_place && ReadLogNumber(rest).kind == LogNumber::Kind::kValue;
  if (is_number || (is_address && std::count(name.begin(), name.end(), '.') != 3)) return false;
  if (ClassifyLogKey(stem.substr(0, stem.size() - 1)) != LogField::kOther || NamesEvaluationFigure(stem)) return false;
  text = rest;
  return true;
}

bool StripOne(absl::string_view& text, std::optional<std::int32_t>& rank) {
  absl::string_view rest = text;
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  if (rest.empty()) return false;
  if (rest[0] == '[') {
    rest.remove_prefix(1);
    if (!Bracketed("rank", rest, rank) && !Bracketed("rank ", rest, rank) && !Bracketed("default", rest, rank) &&
        !Mpi(rest, rank) && !Pod(rest)) {
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
  } else if (!StripEngineTime(rest) && !StripHost(rest)) {
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
