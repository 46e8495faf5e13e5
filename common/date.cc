#include "common/date.h"

#include "absl/strings/ascii.h"
#include "common/numbers.h"

namespace paritect {

bool IsDate(absl::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != 4 && i != 7 && !absl::ascii_isdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  const auto year = ParseInt(text.substr(0, 4)).value_or(0);
  const auto month = ParseInt(text.substr(5, 2)).value_or(0);
  const auto day = ParseInt(text.substr(8, 2)).value_or(0);
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12) return false;
  const bool leap = month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return day >= 1 && day <= kDays[month - 1] + (leap ? 1 : 0);
}

}  // namespace paritect
