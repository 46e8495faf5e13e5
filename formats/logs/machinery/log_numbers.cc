#include "formats/logs/machinery/log_numbers.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Wrappers whose first number is the value: tensor(2.3, device='npu:0'), [2.3], array(2.3), np.float64(0.3).
absl::string_view Unwrap(absl::string_view text) {
  for (int depth = 0; depth < 4 && !text.empty(); ++depth) {
    const std::size_t open = text.find_first_of("([");
    if (open == absl::string_view::npos) break;
    const absl::string_view name = text.substr(0, open);
    bool is_name = true;
    for (char c : name)
      is_name = is_name && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.');
    if (!is_name || (!name.empty() && !absl::ascii_isalpha(static_cast<unsigned char>(name[0])))) break;
    const std::string lower = absl::AsciiStrToLower(name);
    const bool known = name.empty() || absl::EndsWith(lower, "tensor") || absl::EndsWith(lower, "array") ||
                       absl::EndsWith(lower, "parameter") || absl::EndsWith(lower, "decimal") ||
                       absl::StrContains(lower, "float") || absl::StrContains(lower, "int");
    if (!known) break;
    text.remove_prefix(open + 1);
    text = absl::StripLeadingAsciiWhitespace(text);
    // MindSpore: Tensor(shape=[], dtype=Float32, value= 10.2)
    if (const auto value = text.find("value="); absl::StartsWith(text, "shape=") && value != absl::string_view::npos) {
      text = absl::StripLeadingAsciiWhitespace(text.substr(value + 6));
    }
  }
  return text;
}

bool EndsInChinese(absl::string_view sign) {
  return sign == "，" || sign == "。" || sign == "；" || sign == "、" || sign == "）" || sign == "】" || sign == "％";
}

absl::string_view TokenOf(absl::string_view text) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    // "1'234.5": a mark between digits belongs to the number, as a comma does; "'0.5'" ends at it.
    if (c == '\'' && i > 0 && IsDigit(text[i - 1]) && i + 1 < text.size() && IsDigit(text[i + 1])) continue;
    if (c == ' ' || c == '\t' || c == '|' || c == ';' || c == ']' || c == '}' || c == '\'' || c == '"' || c == '/')
      break;
    if (c == ')' || (c == ':' && (i + 1 == text.size() || text[i + 1] == ' '))) break;
    if (c == '(' && !absl::StartsWith(absl::AsciiStrToLower(text.substr(0, i)), "nan") &&
        !absl::StartsWith(absl::AsciiStrToLower(text.substr(0, i)), "-nan")) {
      break;
    }
    if (i > 0 && EndsInChinese(text.substr(i, 3))) break;
    // A comma belongs to the token only between digits.
    if (c == ',' && !(i > 0 && IsDigit(text[i - 1]) && i + 1 < text.size() && IsDigit(text[i + 1]))) break;
  }
  return text.substr(0, i);
}

std::optional<double> Special(absl::string_view token) {
  const bool negative = absl::ConsumePrefix(&token, "-");
  if (!negative) absl::ConsumePrefix(&token, "+");
  const std::string t = absl::AsciiStrToLower(token);
  if (t == "nan" || absl::StartsWith(t, "nan(") || t == "1.#ind" || t == "1.#qnan" || t == "1.#snan" ||
      t == "1.#ind00") {
    return kNan;
  }
  if (t == "inf" || t == "infinity" || t == "1.#inf" || t == "1.#inf00") return negative ? -kInf : kInf;
  return std::nullopt;
}

std::optional<double> HexFloat(absl::string_view token) {
  const bool negative = absl::ConsumePrefix(&token, "-");
  if (!absl::ConsumePrefix(&token, "0x") && !absl::ConsumePrefix(&token, "0X")) return std::nullopt;
  double value = 0;
  const char* end = token.data() + token.size();
  auto [stop, error] = std::from_chars(token.data(), end, value, std::chars_format::hex);
  if (token.empty() || stop != end || error != std::errc()) return std::nullopt;
  return negative ? -value : value;
}

// "1_000": underscores stand between digits only.
std::optional<std::string> WithoutUnderscores(absl::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '_') {
      out.push_back(token[i]);
    } else if (i == 0 || i + 1 >= token.size() || !IsDigit(token[i - 1]) || !IsDigit(token[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

// "1'234.5": marks that cut the whole part into groups of three; anything else with marks is no number.
std::optional<std::string> WithoutMarks(absl::string_view token) {
  std::string out;
  const std::size_t end = std::min(token.find_first_of(".eE"), token.size());
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '\'') {
      out.push_back(token[i]);
      continue;
    }
    std::size_t digits = 0;  // behind the mark
    while (i + 1 + digits < token.size() && IsDigit(token[i + 1 + digits])) ++digits;
    const std::size_t next = i + 1 + digits;
    if (i > end || digits != 3 || (next < token.size() && token[next] != '\'' && next != end)) return std::nullopt;
  }
  const std::size_t first = token.find('\'');
  const std::size_t sign = token[0] == '-' || token[0] == '+' ? 1 : 0;
  if (first <= sign || first > sign + 3) return std::nullopt;
  return out;
}

// "3.4K", "1.2M": thousands, millions; "76.1%" is 76.1. Value and resolution.
std::optional<std::pair<double, double>> WithSuffix(absl::string_view token) {
  if (token.size() < 2) return std::nullopt;
  double factor = 0;
  switch (token.back()) {
    case '%': factor = 1; break;
    case 'k':
    case 'K': factor = 1e3; break;
    case 'M': factor = 1e6; break;
    case 'G':
    case 'B': factor = 1e9; break;
    default: return std::nullopt;
  }
  token.remove_suffix(1);
  if (!IsDigit(token.back())) return std::nullopt;
  const auto value = ParseDoubleWithCommas(token);
  if (!value) return std::nullopt;
  return std::make_pair(*value * factor, PrintResolution(token) * factor);
}

bool IsMissingWord(absl::string_view token) {
  return token.empty() || token == "-" || absl::EqualsIgnoreCase(token, "n/a") || absl::EqualsIgnoreCase(token, "na") ||
         absl::EqualsIgnoreCase(token, "null") || absl::EqualsIgnoreCase(token, "none");
}

bool LooksNumeric(absl::string_view token) {
  const char c = token[0];
  return IsDigit(c) || c == '-' || c == '+' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

constexpr std::ptrdiff_t kTenthsMax = 16;
constexpr double kTenth[kTenthsMax] = {0.5,    0.5e-1, 0.5e-2, 0.5e-3, 0.5e-4, 0.5e-5, 0.5e-6, 0.5e-7,
                                       0.5e-8, 0.5e-9, 5e-11,  5e-12,  5e-13,  5e-14,  5e-15,  5e-16};

// As PrintResolution, for a token that is known to be a plain decimal number.
double ResolutionOf(absl::string_view token) {
  static constexpr double kTens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
  std::size_t point = token.size();
  std::size_t end = token.size();
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == 'e' || token[i] == 'E') {
      end = i;
      break;
    }
    if (token[i] == '.') point = i + 1;
  }
  const std::size_t digits = point < end ? end - point : 0;
  if (digits >= 16) return PrintResolution(token);
  if (end == token.size()) return kTenth[digits];
  // "9.876543E+00": two exponent digits, as printf writes them
  if (token.size() - end != 4 || !IsDigit(token[end + 2]) || !IsDigit(token[end + 3])) return PrintResolution(token);
  const int exponent = (token[end + 2] - '0') * 10 + (token[end + 3] - '0');
  if (exponent > 12) return PrintResolution(token);
  return token[end + 1] == '-' ? kTenth[digits] / kTens[exponent] : kTenth[digits] * kTens[exponent];
}

// Appends the digits at the front to `value` (which may overflow: their count tells) and gives where they end. Eight at
// a time: their number differs from line to line, which a loop over digits would guess wrong each time.
inline const char* TakeDigits(const char* p, const char* end, std::uint64_t& value) {
  static constexpr std::uint64_t kPowers[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
  while (std::endian::native == std::endian::little && end - p >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof(word));
    word ^= 0x3030303030303030ULL;
    // The high bit of each byte that is no digit; a carry can only reach bytes behind the first of them.
    const std::uint64_t others = ((word + 0x7676767676767676ULL) | word) & 0x8080808080808080ULL;
    const int count = others == 0 ? 8 : std::countr_zero(others) / 8;
    if (count == 0) return p;
    word <<= 64 - 8 * count;
    word = word * 10 + (word >> 8);
    word = (((word & 0x000000FF000000FFULL) * 0x000F424000000064ULL) +
            (((word >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL)) >>
           32;
    value = value * kPowers[count] + word;
    p += count;
    if (count < 8) return p;
  }
  while (p != end && IsDigit(*p)) value = value * 10 + static_cast<std::uint64_t>(*p++ - '0');
  return p;
}

void Set(LogNumber& number, double value, double resolution) {
  number.kind = LogNumber::Kind::kValue;
  number.value = value;
  number.resolution = std::isfinite(value) ? resolution : 0;
}

// A plain decimal number with a proper end: nearly all of a log's numbers.
bool ReadPlain(absl::string_view text, LogNumber& number) {
  if (text.empty() || !(IsDigit(text[0]) || text[0] == '-' || text[0] == '.')) return false;
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::general);
  if (error != std::errc() || !std::isfinite(value)) return false;
  if (stop != end) {
    const char c = *stop;
    const bool ends = c == ' ' || c == '|' || c == '\t' || c == ']' || c == '}' || c == ';' || c == '/' ||
                      (c == ':' && (stop + 1 == end || stop[1] == ' ')) ||
                      (c == ',' && (stop + 1 == end || !IsDigit(stop[1])));
    if (!ends) return false;
  }
  number.text = text.substr(0, static_cast<std::size_t>(stop - text.data()));
  Set(number, value, ResolutionOf(number.text));
  return true;
}

}  // namespace

std::size_t ReadPlainLogNumber(absl::string_view text, LogNumber& number) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int kPowersMax = 22;
  const char* p = text.data();
  const char* const end = p + text.size();
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  const char* const digits = p;
  std::uint64_t mantissa = 0;
  p = TakeDigits(p, end, mantissa);
  if (p == digits) return 0;
  std::ptrdiff_t count = p - digits;
  std::ptrdiff_t fraction = 0;
  if (end - p > 1 && *p == '.' && IsDigit(p[1])) {
    const char* const point = ++p;
    p = TakeDigits(p, end, mantissa);
    fraction = p - point;
    count += fraction;
  }
  int exponent = 0;
  int exponent_digits = 0;
  if (p != end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    const bool down = q != end && *q == '-';
    if (q != end && (*q == '-' || *q == '+')) ++q;
    for (; q != end && IsDigit(*q); ++q, ++exponent_digits) {
      if (exponent < 10'000) exponent = exponent * 10 + (*q - '0');
    }
    if (exponent_digits > 0) p = q;
    if (down) exponent = -exponent;
  }
  const auto length = static_cast<std::size_t>(p - text.data());
  number.text = text.substr(0, length);
  // Digits and a power of ten that a double holds exactly: one rounding, the right one.
  const std::ptrdiff_t power = exponent - fraction;
  double value = 0;
  if (count <= 18 && mantissa < (1ULL << 53) && power >= -kPowersMax && power <= kPowersMax) {
    value = static_cast<double>(mantissa);
    value = power < 0 ? value / kPowers[-power] : value * kPowers[power];
    if (negative) value = -value;
  } else {
    auto [stop, error] = std::from_chars(text.data(), p, value, std::chars_format::general);
    if (error != std::errc() || stop != p || !std::isfinite(value)) return 0;
  }
  // As ResolutionOf, which would look for the point and the exponent again.
  const bool printf_exponent = exponent_digits == 2 && number.text[length - 3] != 'e' && number.text[length - 3] != 'E';
  double resolution = 0;
  if (fraction >= kTenthsMax || (exponent_digits > 0 && (!printf_exponent || std::abs(exponent) > 12))) {
    resolution = ResolutionOf(number.text);
  } else {
    resolution = exponent < 0 ? kTenth[fraction] / kPowers[-exponent] : kTenth[fraction] * kPowers[exponent];
  }
  Set(number, value, resolution);
  return length;
}

LogNumber ReadLogNumber(absl::string_view text) {
  LogNumber number;
  text = absl::StripLeadingAsciiWhitespace(text);
  if (ReadPlain(text, number)) return number;
  text = Unwrap(text);
  if (!text.empty() && (text[0] == '\'' || text[0] == '"')) text.remove_prefix(1);
  absl::string_view token = TokenOf(text);
  if (token == "N" && absl::StartsWith(text, "N/A")) token = text.substr(0, 3);
  number.text = token;
  if (IsMissingWord(token)) return number;
  double value = 0;
  const char* end = token.data() + token.size();
  auto [stop, error] = std::from_chars(token.data(), end, value, std::chars_format::general);
  // The common spellings, without a copy. A sentence's full stop behind the number is not the number's.
  const bool digit_first = IsDigit(token[0]) || token[0] == '-' || token[0] == '.';
  if (digit_first && error == std::errc() && (stop == end || (stop + 1 == end && *stop == '.')) &&
      std::isfinite(value)) {
    Set(number, value, ResolutionOf(token.substr(0, static_cast<std::size_t>(stop - token.data()))));
    return number;
  }
  absl::string_view plain = token;
  if (plain.size() > 1 && plain.back() == '.') plain.remove_suffix(1);
  if (auto special = Special(plain)) {
    Set(number, *special, 0);
    return number;
  }
  if (auto hex = HexFloat(plain)) {
    Set(number, *hex, 0);
    return number;
  }
  if (absl::StrContains(plain, '\'')) {
    const auto digits = WithoutMarks(plain);
    const auto parsed = digits ? ParseDouble(*digits) : std::nullopt;
    if (parsed) Set(number, *parsed, PrintResolution(*digits));
    if (!parsed) number.kind = LooksNumeric(token) ? LogNumber::Kind::kRefused : LogNumber::Kind::kMissing;
    return number;
  }
  if (auto digits = WithoutUnderscores(plain)) {
    if (auto parsed = ParseDoubleWithCommas(*digits); parsed && LooksNumeric(plain)) {
      Set(number, *parsed, PrintResolution(*digits));
      return number;
    }
  }
  if (auto scaled = WithSuffix(plain)) {
    Set(number, scaled->first, scaled->second);
    number.percent = plain.back() == '%';
    return number;
  }
  if (!LooksNumeric(token)) return number;  // a word: the value is not there
  const bool spliced = token.find_first_of("=[:<") != absl::string_view::npos;
  number.kind = spliced ? LogNumber::Kind::kSpliced : LogNumber::Kind::kRefused;
  return number;
}

LogNumber ReadLogShare(absl::string_view text) {
  LogNumber number = ReadLogNumber(text);
  if (number.kind != LogNumber::Kind::kValue || number.percent || number.text.data() == nullptr) return number;
  const absl::string_view rest =
      text.substr(static_cast<std::size_t>(number.text.data() + number.text.size() - text.data()));
  const absl::string_view behind = absl::StripLeadingAsciiWhitespace(rest);
  const auto cover = [&](absl::string_view last) {
    number.text =
        absl::string_view(number.text.data(), static_cast<std::size_t>(last.data() + last.size() - number.text.data()));
  };
  if (absl::StartsWith(behind, "%") || absl::StartsWith(behind, "\xEF\xBC\x85")) {
    number.percent = true;
    cover(behind.substr(0, behind[0] == '%' ? 1 : 3));
    return number;
  }
  const auto is_count = [](const LogNumber& n) {
    return !n.text.empty() && n.text.find_first_not_of("0123456789,") == absl::string_view::npos;
  };
  if (!is_count(number) || !absl::StartsWith(behind, "/")) return number;
  // "2497/10042=0.2487": what stands behind the count is the share once more.
  absl::string_view total = absl::StripLeadingAsciiWhitespace(behind.substr(1));
  const std::size_t end = std::min(total.find_first_not_of("0123456789,"), total.size());
  const LogNumber all = ReadLogNumber(end < total.size() && total[end] == '=' ? total.substr(0, end) : total);
  if (all.kind != LogNumber::Kind::kValue || !is_count(all) || all.value <= 0 || number.value > all.value)
    return number;
  cover(all.text);
  Set(number, number.value / all.value, 0.5 / all.value);
  return number;
}

std::optional<std::int64_t> WholeLogNumber(double value) {
  if (!(std::fabs(value) < 9e15) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<double> ParseLogNumber(absl::string_view text) {
  const LogNumber number = ReadLogNumber(text);
  if (number.kind != LogNumber::Kind::kValue) return std::nullopt;
  return number.value;
}

}  // namespace paritect
