#include "rules/setting_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr double kSameNumber = 1e-12;  // relative: what is left of 1 - 0.9 against 0.1

// "2**32" and "2^16" as people write powers of two.
std::optional<double> PowerText(absl::string_view text) {
  for (absl::string_view sign : {"**", "^"}) {
    const auto at = text.find(sign);
    if (at == absl::string_view::npos) continue;
    auto base = ParseDouble(text.substr(0, at));
    auto exponent = ParseDouble(text.substr(at + sign.size()));
    if (base && exponent && std::fabs(*exponent) <= 1024) return std::pow(*base, *exponent);
  }
  return std::nullopt;
}

// "np.float64(0.0001)", "tensor(0.1)": a number as its library prints it.
absl::string_view InsideOfNumberType(absl::string_view text) {
  for (absl::string_view type : {"np.float64(", "np.float32(", "np.float16(", "np.int64(", "np.int32(",
                                 "numpy.float64(", "numpy.float32(", "tensor(", "Decimal('"}) {
    absl::string_view inside = text;
    if (absl::ConsumePrefix(&inside, type) && absl::ConsumeSuffix(&inside, ")")) {
      absl::ConsumeSuffix(&inside, "'");
      return inside.substr(0, inside.find(','));
    }
  }
  return text;
}

// Whether one of two numbers is what the other is as a float32, printed with enough digits (9 to 17): what
// get_config() of a float32 variable says of 0.0001. Whole numbers are not rounded.
bool SameAsFloat32(double a, double b) {
  if (std::floor(a) == a || std::floor(b) == b || static_cast<float>(a) != static_cast<float>(b)) return false;
  const double widened = static_cast<float>(a);
  const auto is = [&](double exact) {  // 1 - 0.9 leaves a little
    const double little = kSameNumber * std::fabs(exact);
    return std::fabs(a - exact) <= little || std::fabs(b - exact) <= little;
  };
  for (int digits = 9; digits <= 17; ++digits) {
    if (is(ParseDouble(absl::StrFormat("%.*g", digits, widened)).value_or(0))) return true;
  }
  return false;
}

bool SameNumber(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y || std::fabs(x - y) <= kSameNumber * std::max(std::fabs(x), std::fabs(y)) || SameAsFloat32(x, y);
}

bool IsListLike(const v1::Value& value) {
  const absl::string_view text = absl::StripAsciiWhitespace(value.text());
  return value.kind_case() == v1::Value::kList || (!text.empty() && absl::StrContains("([", text.front()));
}

// The items of a list, or of a text with commas and perhaps brackets around it; empty where it is one value.
std::vector<std::string> ItemsOf(const v1::Value& value) {
  std::vector<std::string> items;
  if (value.kind_case() == v1::Value::kList) {
    for (const v1::Value& item : value.list().items()) items.push_back(ValueToText(item));
    return items;
  }
  if (value.kind_case() != v1::Value::kText || !absl::StrContains(value.text(), ',')) return items;
  absl::string_view text = absl::StripAsciiWhitespace(value.text());
  if (text.size() >= 2 && absl::StrContains("([", text.front()) && absl::StrContains(")]", text.back()))
    text = text.substr(1, text.size() - 2);
  for (absl::string_view item : absl::StrSplit(text, ',')) items.emplace_back(absl::StripAsciiWhitespace(item));
  return items;
}

// Texts without brackets are lists where they hold numbers alone: a blank in a prompt is no spelling.
bool SameItems(const v1::Value& a, const v1::Value& b) {
  const std::vector<std::string> x = ItemsOf(a);
  const std::vector<std::string> y = ItemsOf(b);
  if (x.empty() || x.size() != y.size()) return false;
  const bool list = IsListLike(a) || IsListLike(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto m = ParseDouble(x[i]);
    const auto n = ParseDouble(y[i]);
    if (m && n ? !SameNumber(*m, *n) : !list || x[i] != y[i]) return false;
  }
  return true;
}

std::string VersionWithoutBuild(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (auto plus = text.find('+'); plus != absl::string_view::npos) text = text.substr(0, plus);
  return absl::AsciiStrToLower(text);
}

}  // namespace

std::optional<bool> BooleanOf(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return value.boolean();
    case v1::Value::kInteger:
      if (value.integer() == 0 || value.integer() == 1) return value.integer() == 1;
      return std::nullopt;
    case v1::Value::kNumber:
      if (value.number() == 0 || value.number() == 1) return value.number() == 1;
      return std::nullopt;
    case v1::Value::kText: break;
    default: return std::nullopt;
  }
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(value.text()));
  for (absl::string_view yes : {"true", "1", "on", "yes", "y", "t", "enable", "enabled"}) {
    if (word == yes) return true;
  }
  for (absl::string_view no : {"false", "0", "off", "no", "n", "f", "disable", "disabled"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

std::optional<double> NumberOf(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger: return static_cast<double>(value.integer());
    case v1::Value::kNumber: return value.number();
    case v1::Value::kText:
      if (auto plain = ParseDoubleWithCommas(InsideOfNumberType(value.text()))) return plain;
      return PowerText(value.text());
    default: return std::nullopt;
  }
}

v1::Value NumberValue(double number) {
  v1::Value value;
  const bool whole = std::floor(number) == number && std::fabs(number) < 9e15;
  if (whole) {
    value.set_integer(static_cast<std::int64_t>(number));
  } else {
    value.set_number(number);
  }
  return value;
}

std::string CanonicalWord(absl::string_view text, const std::map<std::string, std::string>& words) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  if (auto it = words.find(word); it != words.end()) return it->second;
  const std::string last = LastOfDottedName(text);
  if (last.empty()) return word;
  const std::string lower = absl::AsciiStrToLower(last);
  if (auto it = words.find(lower); it != words.end()) return it->second;
  // A member in capitals, whatever it is called; of other dotted names nobody knows whether the front matters.
  const bool capitals = std::none_of(last.begin(), last.end(), [](char c) { return absl::ascii_islower(c); });
  return capitals || absl::StartsWith(text, "<") ? lower : word;
}

v1::Value TypedValue(SettingType type, const v1::Value& value, const std::map<std::string, std::string>& words) {
  v1::Value out = value;
  if (value.kind_case() == v1::Value::kNull) return out;
  if (value.kind_case() == v1::Value::kText) {
    const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(value.text()));
    if (word == "none" || word == "null") {
      out.set_null(true);
      return out;
    }
  }
  switch (type) {
    case SettingType::kBoolean: {
      // "fp32_precision: tf32" says whether a shortcut is on by a word of its own.
      const std::string word = CanonicalWord(ValueToText(value), words);
      if (!words.empty() && (word == "true" || word == "false")) {
        out.set_boolean(word == "true");
      } else if (auto boolean = BooleanOf(value)) {
        out.set_boolean(*boolean);
      } else if (value.text() == "auto") {  // left to the library
        out.set_null(true);
      }
      break;
    }
    case SettingType::kNumber:
      if (auto number = NumberOf(value)) {
        out = NumberValue(*number);
      } else if (value.text() == "auto") {  // left to the library
        out.set_null(true);
      }
      break;
    case SettingType::kWord: out.set_text(CanonicalWord(ValueToText(value), words)); break;
    case SettingType::kVersion: out.set_text(VersionWithoutBuild(ValueToText(value))); break;
    case SettingType::kText:
    case SettingType::kPath: break;
  }
  return out;
}

bool SameMeaning(SettingType type, const v1::Value& a, const v1::Value& b) {
  const bool a_null = a.kind_case() == v1::Value::kNull;
  const bool b_null = b.kind_case() == v1::Value::kNull;
  if (a_null || b_null) return a_null && b_null;
  if (type == SettingType::kBoolean) {
    auto x = BooleanOf(a);
    auto y = BooleanOf(b);
    if (x && y) return *x == *y;
  }
  auto x = NumberOf(a);
  auto y = NumberOf(b);
  if (x && y && type != SettingType::kVersion) {
    return SameNumber(*x, *y);
  }
  return ValueToText(a) == ValueToText(b) || SameItems(a, b);
}

std::string LastOfDottedName(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "<") && absl::ConsumeSuffix(&text, ">")) {
    // <SchedulerType.LINEAR: 'linear'>, <class 'torch.float16'>, <dtype: 'float16'>
    const std::size_t open = text.find('\'');
    if (open != absl::string_view::npos && text.back() == '\'' && open + 1 < text.size()) {
      text = text.substr(open + 1, text.size() - open - 2);
    } else {
      text = text.substr(0, text.find(':'));
    }
    const std::size_t dot = text.rfind('.');
    return std::string(dot == absl::string_view::npos ? text : text.substr(dot + 1));
  }
  const std::size_t dot = text.rfind('.');
  if (dot == absl::string_view::npos || dot == 0 || dot + 1 == text.size()) return "";
  if (absl::ascii_isdigit(static_cast<unsigned char>(text[0])) ||
      absl::ascii_isdigit(static_cast<unsigned char>(text[dot + 1])))
    return "";
  const bool name = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
  return name ? std::string(text.substr(dot + 1)) : "";
}

std::string ValueToText(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return value.boolean() ? "true" : "false";
    case v1::Value::kInteger: return StrCat(value.integer());
    case v1::Value::kNumber: return FormatDouble(value.number());
    case v1::Value::kText: return value.text();
    case v1::Value::kNull: return "none";
    case v1::Value::kList: {
      std::vector<std::string> items;
      for (const v1::Value& item : value.list().items()) {
        items.push_back(item.kind_case() == v1::Value::kList ? "[...]" : ValueToText(item));
      }
      return StrCat("[", absl::StrJoin(items, ", "), "]");
    }
    case v1::Value::KIND_NOT_SET: return "";
  }
  return "";
}

}  // namespace paritect
