#include "common/node_names.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paritect {
namespace {

// A name parted at its last number. Numbers of up to 18 digits fit.
struct Parted {
  std::string head;
  std::string digits;  // "" where there is none
  std::string tail;
};

Parted PartAtNumber(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && !absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  std::size_t begin = end;
  while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[begin - 1]))) --begin;
  if (end - begin > 18) return {name, "", ""};
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

// "01-02,04-64" of ascending numbers of one width.
std::string Ranges(const std::vector<std::string>& digits) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < digits.size();) {
    std::size_t last = i;
    std::int64_t number = 0;
    std::int64_t next = 0;
    (void)absl::SimpleAtoi(digits[i], &number);
    while (last + 1 < digits.size() && absl::SimpleAtoi(digits[last + 1], &next) &&
           next == number + static_cast<std::int64_t>(last + 1 - i)) {
      ++last;
    }
    parts.push_back(last == i ? digits[i] : absl::StrCat(digits[i], "-", digits[last]));
    i = last + 1;
  }
  return absl::StrJoin(parts, ",");
}

}  // namespace

std::string FoldNodeNames(std::vector<std::string> names, std::size_t single_max) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  struct Key {
    std::string head;
    std::size_t width;
    std::string tail;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::vector<std::string>> alike;
  for (const std::string& name : names) {
    const Parted parted = PartAtNumber(name);
    alike[{parted.head, parted.digits.size(), parted.tail}].push_back(parted.digits);
  }
  std::vector<std::string> parts;
  for (const auto& [key, digits] : alike) {
    if (key.width == 0 || digits.size() <= single_max) {
      for (const std::string& one : digits) parts.push_back(absl::StrCat(key.head, one, key.tail));
    } else {
      parts.push_back(absl::StrCat(key.head, "[", Ranges(digits), "]", key.tail, " (", digits.size(), ")"));
    }
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace paritect
