#include "checks/shards/name_order.h"

#include "absl/strings/ascii.h"

namespace paritect {
namespace {

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

// Length of the run of digits at the front.
std::size_t DigitRun(absl::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && IsDigit(text[n])) ++n;
  return n;
}

int CompareNatural(absl::string_view a, absl::string_view b) {
  const absl::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    std::size_t run_a = DigitRun(a), run_b = DigitRun(b);
    if (run_a == 0 || run_b == 0) {
      if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]) ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    absl::string_view number_a = a.substr(0, run_a), number_b = b.substr(0, run_b);
    while (number_a.size() > 1 && number_a[0] == '0') number_a.remove_prefix(1);
    while (number_b.size() > 1 && number_b[0] == '0') number_b.remove_prefix(1);
    if (number_a.size() != number_b.size()) return number_a.size() < number_b.size() ? -1 : 1;
    if (const int c = number_a.compare(number_b); c != 0) return c;
    a.remove_prefix(run_a);
    b.remove_prefix(run_b);
  }
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return whole_a.compare(whole_b);
}

int CompareFolder(absl::string_view a, absl::string_view b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    // The end of a folder's name sorts before any further character of it.
    if (a[i] == '/') return -1;
    if (b[i] == '/') return 1;
    return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[i]) ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

// One collation element: what counts first, what breaks ties.
struct Element {
  std::uint32_t primary = 0;  // 0: ignored at the first level
  std::uint32_t accent = 0;
  bool upper = false;
};

// U+00C0 to U+00FF without their accents ("." where there is none to take away).
constexpr absl::string_view kLatin1Base = "AAAAAA.CEEEEIIII.NOOOOO.OUUUUY..aaaaaa.ceeeeiiii.nooooo.ouuuuy.y";

// Reads one character; bytes that are not UTF-8 count as themselves.
std::uint32_t NextCodePoint(absl::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  if (length == 1 || at + length > text.size()) return ++at, first;
  std::uint32_t code = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
  at += length;
  return code;
}

// `punctuation_counts`: glibc from 2.28 on (ISO 14651_t1 of 2018); before, it was ignored at first.
Element ReadElement(absl::string_view text, std::size_t& at, bool punctuation_counts) {
  std::uint32_t code = NextCodePoint(text, at);
  Element element;
  if (code >= 0xc0 && code <= 0xff && kLatin1Base[code - 0xc0] != '.') {
    element.accent = code;
    code = static_cast<unsigned char>(kLatin1Base[code - 0xc0]);
  }
  if (code >= 0x80) {
    element.primary = 0x10000 + code;
  } else if (absl::ascii_isalpha(static_cast<unsigned char>(code))) {
    element.upper = absl::ascii_isupper(static_cast<unsigned char>(code));
    element.primary = 0x2000 + static_cast<unsigned char>(absl::ascii_tolower(static_cast<unsigned char>(code)));
  } else if (absl::ascii_isdigit(static_cast<unsigned char>(code))) {
    element.primary = 0x1000 + code;
  } else if (punctuation_counts) {
    element.primary = 1 + code;
  }
  return element;
}

int CompareLocale(absl::string_view a, absl::string_view b, bool punctuation_counts) {
  int accents = 0, cases = 0;
  for (std::size_t i = 0, j = 0;;) {
    Element x, y;
    while (i < a.size() && x.primary == 0) x = ReadElement(a, i, punctuation_counts);
    while (j < b.size() && y.primary == 0) y = ReadElement(b, j, punctuation_counts);
    if (x.primary != y.primary) return x.primary < y.primary ? -1 : 1;
    if (x.primary == 0) break;  // both at their end
    if (accents == 0 && x.accent != y.accent) accents = x.accent < y.accent ? -1 : 1;
    if (cases == 0 && x.upper != y.upper) cases = y.upper ? -1 : 1;  // lower case first
  }
  if (accents != 0) return accents;
  if (cases != 0) return cases;
  return a.compare(b);
}

bool Increases(NameOrders order, absl::Span<const absl::string_view> names, bool punctuation_counts) {
  for (std::size_t i = 1; i < names.size(); ++i) {
    const bool before = order == kOrderLocale ? CompareLocale(names[i - 1], names[i], punctuation_counts) < 0
                                              : NameBefore(order, names[i - 1], names[i]);
    if (!before) return false;
  }
  return true;
}

}  // namespace

bool NameBefore(NameOrders order, absl::string_view a, absl::string_view b) {
  switch (order) {
    case kOrderNatural: return CompareNatural(a, b) < 0;
    case kOrderLocale: return CompareLocale(a, b, true) < 0;
    case kOrderFolder: return CompareFolder(a, b) < 0;
    default: return a < b;
  }
}

NameOrders FollowedOrders(absl::Span<const absl::string_view> names, NameOrders candidates) {
  NameOrders followed = 0;
  for (NameOrders order : {kOrderByte, kOrderNatural, kOrderLocale, kOrderFolder}) {
    if ((candidates & order) == 0) continue;
    // Two versions of the C library sort a locale differently; a list follows one of them throughout.
    if (Increases(order, names, true) || (order == kOrderLocale && Increases(order, names, false))) followed |= order;
  }
  return followed;
}

}  // namespace paritect
