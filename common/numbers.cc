#include "common/numbers.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace paritect {
namespace {

constexpr double kIntegersExactBelow = 9007199254740992.0;  // 2^53

std::optional<double> ParseSpecial(absl::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (absl::EqualsIgnoreCase(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (absl::EqualsIgnoreCase(text, "inf") || absl::EqualsIgnoreCase(text, "infinity")) {
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> ParseDouble(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return std::nullopt;
  if (auto special = ParseSpecial(text)) return special;
  if (text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  if (text.empty() || !(absl::ascii_isdigit(text.front()) || text.front() == '-' || text.front() == '.')) {
    return std::nullopt;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::general);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // from_chars leaves the value alone; the exponent's sign tells which way it went.
    const bool tiny = absl::StrContains(text, "e-") || absl::StrContains(text, "E-");
    const double magnitude = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    return text.front() == '-' ? -magnitude : magnitude;
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> ParseInt(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> ParseDoubleWithCommas(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::StrContains(text, ',')) return ParseDouble(text);
  std::string plain;
  std::size_t digits_in_group = 0;
  bool seen_comma = false;
  bool in_integer_part = true;
  for (char c : text) {
    if (c == ',') {
      if (!in_integer_part || digits_in_group == 0 || digits_in_group > 3) return std::nullopt;
      if (seen_comma && digits_in_group != 3) return std::nullopt;
      seen_comma = true;
      digits_in_group = 0;
      continue;
    }
    if (in_integer_part && absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      ++digits_in_group;
    } else if (c != '-' && c != '+') {
      if (in_integer_part && seen_comma && digits_in_group != 3) return std::nullopt;
      in_integer_part = false;
    }
    plain.push_back(c);
  }
  if (in_integer_part && digits_in_group != 3) return std::nullopt;
  return ParseDouble(plain);
}

std::string FormatDouble(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  if (value == std::floor(value) && std::fabs(value) < kIntegersExactBelow) {
    auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<std::int64_t>(value));
    return error == std::errc() ? std::string(buffer, end) : "";
  }
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return error == std::errc() ? std::string(buffer, end) : "";
}

std::string FormatShort(double value, int digits) {
  if (!std::isfinite(value)) return FormatDouble(value);
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, digits);
  return error == std::errc() ? std::string(buffer, end) : "";
}

double PrintResolution(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!ParseDouble(text) || ParseSpecial(text)) return 0;
  int exponent = 0;
  if (auto e = text.find_first_of("eE"); e != absl::string_view::npos) {
    exponent = static_cast<int>(ParseInt(text.substr(e + 1)).value_or(0));
    text = text.substr(0, e);
  }
  if (auto point = text.find('.'); point != absl::string_view::npos) {
    exponent -= static_cast<int>(text.size() - point - 1);
  }
  return 0.5 * std::pow(10.0, exponent);
}

}  // namespace paritect
