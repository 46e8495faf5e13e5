#include "common/duration.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {
namespace {

struct Unit {
  char letter;
  std::int64_t seconds;
};
constexpr Unit kUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
constexpr std::int64_t kLongest = std::int64_t{10} * 366 * 86400;

absl::Status Refuse(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no duration; write seconds or a number with s, m, h or d, like 90s, 30m, 6h, 1d"));
}

absl::Status RefuseLong(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is too long: at most ", kLongest / 86400, "d"));
}

}  // namespace

absl::StatusOr<std::int64_t> ParseDuration(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  if (rest.empty()) return Refuse(text);
  std::int64_t total = 0;
  while (!rest.empty()) {
    std::size_t digits = 0;
    while (digits < rest.size() && absl::ascii_isdigit(static_cast<unsigned char>(rest[digits]))) ++digits;
    const auto number = ParseInt(rest.substr(0, digits));
    if (digits == 0 || digits > 12 || !number) return Refuse(text);
    rest.remove_prefix(digits);
    std::int64_t unit = 0;
    if (rest.empty() && total == 0) unit = 1;
    for (const Unit& known : kUnits) {
      if (!rest.empty() && rest[0] == known.letter) unit = known.seconds;
    }
    if (unit == 0) return Refuse(text);
    if (*number > kLongest) return RefuseLong(text);
    if (!rest.empty()) rest.remove_prefix(1);
    total += *number * unit;
  }
  if (total > kLongest) return RefuseLong(text);
  if (total < 1) return Refuse(text);
  return total;
}

std::string FormatDuration(std::int64_t seconds) {
  if (seconds < 1) return "0s";
  std::string out;
  int units = 0;
  for (const Unit& unit : kUnits) {
    if (seconds < unit.seconds) {
      if (units > 0) break;
      continue;
    }
    absl::StrAppend(&out, seconds / unit.seconds, absl::string_view(&unit.letter, 1));
    seconds %= unit.seconds;
    if (++units == 2) break;
  }
  return out;
}

}  // namespace paritect
