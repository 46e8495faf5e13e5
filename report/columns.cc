#include "report/columns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kRowsPackedMin = 16;  // fewer are easier to read as they are
constexpr int kDepthMax = 64;

using Values = std::vector<const OrderedJson*>;  // nullptr: the row has no such name

OrderedJson Pack(const Values& values);

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Scripts count in units of UTF-16: what a browser's strings are made of.
std::size_t UnitsOf(absl::string_view text) {
  std::size_t units = 0;
  for (const char byte : text) units += IsContinuation(byte) ? 0 : static_cast<unsigned char>(byte) >= 0xf0 ? 2 : 1;
  return units;
}

std::size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same < most && a[same] == b[same]) ++same;
  while (same > 0 && ((same < a.size() && IsContinuation(a[same])) || (same < b.size() && IsContinuation(b[same])))) {
    --same;
  }
  return same;
}

std::size_t CommonSuffix(absl::string_view a, absl::string_view b, std::size_t most) {
  std::size_t same = 0;
  while (same < most && a[a.size() - 1 - same] == b[b.size() - 1 - same]) ++same;
  while (same > 0 && IsContinuation(a[a.size() - same])) --same;
  return same;
}

// What texts may not hold to be lines.
bool IsLine(const OrderedJson& json) {
  return json.is_string() && json.get_ref<const std::string&>().find_first_of("\n\t") == std::string::npos &&
         IsValidUtf8(json.get_ref<const std::string&>());
}

// A line a text: what stands between the beginning and the end that it shares with the one before; how long these are
// stands in a line of its own, "\tBEGINNING,END", where it is another than before. One text to a browser, until it is
// read.
OrderedJson PackTexts(const Values& values) {
  constexpr std::size_t kNumbersCost = 5;  // bytes of two numbers
  std::string lines;
  absl::string_view last;
  std::size_t prefix = 0;
  std::size_t suffix = 0;
  for (const OrderedJson* value : values) {
    const absl::string_view text = value->get_ref<const std::string&>();
    const std::size_t begins = CommonPrefix(last, text);
    const std::size_t ends = CommonSuffix(last, text, std::min(last.size(), text.size()) - begins);
    // The numbers of the last text hold as long as what they leave out is shared, and little more could be.
    const bool holds = prefix <= begins && suffix <= ends && (begins - prefix) + (ends - suffix) <= kNumbersCost;
    if (!holds && (prefix != begins || suffix != ends)) {
      prefix = begins;
      suffix = ends;
      absl::StrAppend(&lines, "\t", UnitsOf(text.substr(0, prefix)), ",", UnitsOf(text.substr(text.size() - suffix)),
                      "\n");
    }
    absl::StrAppend(&lines, text.substr(prefix, text.size() - prefix - suffix), "\n");
    last = text;
  }
  lines.pop_back();
  return {{"texts", std::move(lines)}};
}

// Lists and scalars by their different values, where they repeat.
std::optional<OrderedJson> PackRepeated(const Values& values) {
  absl::flat_hash_map<std::string, std::size_t> known;
  Values distinct;
  OrderedJson which = OrderedJson::array();
  for (const OrderedJson* value : values) {
    std::string key = value->is_string() ? value->get_ref<const std::string&>()
                                         : value->dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    key.push_back(value->is_string() ? 's' : 'o');
    const auto [at, is_new] = known.try_emplace(std::move(key), distinct.size());
    if (is_new) distinct.push_back(value);
    if (distinct.size() * 3 > values.size() + 2) return std::nullopt;
    which.push_back(at->second);
  }
  return OrderedJson{{"of", std::move(which)}, {"values", Pack(distinct)}};
}

OrderedJson PackObjects(const Values& values) {
  std::vector<std::string> names;  // as the rows have them: one that only some have stands behind the one before it
  absl::flat_hash_map<std::string, Values> columns;
  for (std::size_t row = 0; row < values.size(); ++row) {
    auto place = names.begin();
    for (const auto& [name, value] : values[row]->items()) {
      const auto [at, is_new] = columns.try_emplace(name, values.size(), nullptr);
      place = is_new ? names.insert(place, name) : std::find(names.begin(), names.end(), name);
      ++place;
      at->second[row] = &value;
    }
  }
  OrderedJson packed = OrderedJson::object();
  for (const std::string& name : names) packed[name] = Pack(columns[name]);
  return {{"columns", std::move(packed)}};
}

OrderedJson PackLists(const Values& values) {
  std::vector<OrderedJson> counts;
  Values items;
  for (const OrderedJson* value : values) {
    counts.emplace_back(value->size());
    for (const OrderedJson& item : *value) items.push_back(&item);
  }
  Values sizes;
  for (const OrderedJson& one : counts) sizes.push_back(&one);
  return {{"counts", Pack(sizes)}, {"items", Pack(items)}};
}

// Rows without the name: how many have none, how many have one, and so on.
OrderedJson PackSome(const Values& values) {
  OrderedJson runs = OrderedJson::array();
  Values present;
  bool is_present = false;
  std::size_t length = 0;
  for (const OrderedJson* value : values) {
    if ((value != nullptr) != is_present) {
      runs.push_back(length);
      length = 0;
      is_present = !is_present;
    }
    ++length;
    if (value != nullptr) present.push_back(value);
  }
  runs.push_back(length);
  return {{"runs", std::move(runs)}, {"present", Pack(present)}};
}

template <typename Is>
bool All(const Values& values, Is is) {
  return std::all_of(values.begin(), values.end(), is);
}

OrderedJson Pack(const Values& values) {
  if (!All(values, [](const OrderedJson* value) { return value != nullptr; })) return PackSome(values);
  if (!values.empty() && All(values, [&](const OrderedJson* value) { return *value == *values[0]; })) {
    return {{"all", *values[0]}};
  }
  if (values.empty()) return {{"plain", OrderedJson::array()}};
  if (All(values, [](const OrderedJson* value) { return value->is_object(); })) return PackObjects(values);
  if (auto repeated = PackRepeated(values)) return *std::move(repeated);
  if (All(values, [](const OrderedJson* value) { return IsLine(*value); })) return PackTexts(values);
  if (All(values, [](const OrderedJson* value) { return value->is_array(); })) return PackLists(values);
  OrderedJson plain = OrderedJson::array();
  for (const OrderedJson* value : values) plain.push_back(*value);
  return {{"plain", std::move(plain)}};
}

// What a value takes, roughly.
std::size_t WeightOf(const OrderedJson& json) {
  std::size_t weight = sizeof(OrderedJson);
  if (json.is_string()) weight += json.get_ref<const std::string&>().size();
  if (json.is_structured()) {
    for (const OrderedJson& one : json) weight += WeightOf(one);
  }
  return weight;
}

// The bytes that the first (or last) `units` units of UTF-16 of `text` take; nullopt: it has fewer.
std::optional<std::size_t> BytesOfUnits(absl::string_view text, std::size_t units, bool from_end) {
  std::size_t bytes = 0;
  while (units > 0 && bytes < text.size()) {
    std::size_t length = 1;
    const auto at = [&](std::size_t i) { return from_end ? text[text.size() - 1 - bytes - i] : text[bytes + i]; };
    if (from_end) {
      while (length < text.size() - bytes && IsContinuation(at(length - 1))) ++length;
    } else {
      while (length < text.size() - bytes && IsContinuation(at(length))) ++length;
    }
    const std::size_t of_rune = length == 4 ? 2 : 1;
    if (of_rune > units) return std::nullopt;
    units -= of_rune;
    bytes += length;
  }
  if (units > 0) return std::nullopt;
  return bytes;
}

// Packed columns, read again. Nothing in them is trusted.
class Unpacker {
 public:
  explicit Unpacker(const UnpackLimits& limits) : left_(limits) {}

  absl::StatusOr<OrderedJson> All(const OrderedJson& json, int depth) {
    if (depth > kDepthMax) return TooMuch();
    if (json.is_object() && json.size() == 2 && json.contains("packed_rows")) return Rows(json, depth);
    if (!json.is_structured()) return json;
    OrderedJson made = json.is_object() ? OrderedJson::object() : OrderedJson::array();
    for (const auto& [name, value] : json.items()) {
      PARITECT_ASSIGN_OR_RETURN(OrderedJson one, All(value, depth + 1));
      if (json.is_object()) {
        made[name] = std::move(one);
      } else {
        made.push_back(std::move(one));
      }
    }
    return made;
  }

 private:
  using Column = std::vector<std::optional<OrderedJson>>;  // nullopt: the row has no such name
  using Reader = absl::StatusOr<Column> (Unpacker::*)(const OrderedJson& column, std::size_t count, int depth);

  static absl::Status Wrong() { return absl::InvalidArgumentError("the report's columns do not fit each other"); }
  static absl::Status TooMuch() {
    return absl::InvalidArgumentError("the report's columns come to more than is read of a report");
  }

  absl::Status Take(std::size_t values, std::size_t bytes_each) {
    if (values > left_.values || (values > 0 && bytes_each > left_.bytes / values)) return TooMuch();
    left_.values -= values;
    left_.bytes -= values * bytes_each;
    return absl::OkStatus();
  }

  static absl::StatusOr<std::size_t> NumberOf(const OrderedJson& json) {
    if (!json.is_number_unsigned()) return Wrong();
    return json.get<std::size_t>();
  }

  absl::StatusOr<OrderedJson> Rows(const OrderedJson& json, int depth) {
    PARITECT_ASSIGN_OR_RETURN(const std::size_t count, NumberOf(json["packed_rows"]));
    OrderedJson columns = json;
    columns.erase("packed_rows");
    PARITECT_ASSIGN_OR_RETURN(Column column, Read(columns, count, depth));
    OrderedJson rows = OrderedJson::array();
    for (std::optional<OrderedJson>& row : column) {
      if (!row || !row->is_object()) return Wrong();
      rows.push_back(*std::move(row));
    }
    return rows;
  }

  // `count` values.
  absl::StatusOr<Column> Read(const OrderedJson& column, std::size_t count, int depth) {
    static constexpr std::pair<const char*, Reader> kForms[] = {
        {"all", &Unpacker::Equal},       {"of", &Unpacker::Repeated},  {"texts", &Unpacker::Texts},
        {"columns", &Unpacker::Objects}, {"counts", &Unpacker::Lists}, {"runs", &Unpacker::Some},
        {"plain", &Unpacker::Plain}};
    if (depth > kDepthMax) return TooMuch();
    if (!column.is_object()) return Wrong();
    for (const auto& [name, read] : kForms) {
      if (!column.contains(name)) continue;
      PARITECT_RETURN_IF_ERROR(Take(count, sizeof(OrderedJson)));
      PARITECT_ASSIGN_OR_RETURN(Column made, (this->*read)(column, count, depth + 1));
      if (made.size() != count) return Wrong();
      return made;
    }
    return Wrong();
  }

  absl::StatusOr<Column> Equal(const OrderedJson& column, std::size_t count, int /*depth*/) {
    const OrderedJson& value = column["all"];
    PARITECT_RETURN_IF_ERROR(Take(count, WeightOf(value)));
    return Column(count, value);
  }

  absl::StatusOr<Column> Plain(const OrderedJson& column, std::size_t /*count*/, int /*depth*/) {
    const OrderedJson& list = column["plain"];
    if (!list.is_array()) return Wrong();
    return Column(list.begin(), list.end());
  }

  absl::StatusOr<Column> Repeated(const OrderedJson& column, std::size_t count, int depth) {
    const OrderedJson& which = column["of"];
    if (!which.is_array() || which.size() != count) return Wrong();
    std::size_t different = 0;
    for (const OrderedJson& one : which) {
      PARITECT_ASSIGN_OR_RETURN(const std::size_t number, NumberOf(one));
      if (number >= count) return Wrong();
      different = std::max(different, number + 1);
    }
    PARITECT_ASSIGN_OR_RETURN(const Column values, Read(column.value("values", OrderedJson()), different, depth));
    Column made;
    made.reserve(count);
    for (const OrderedJson& one : which) {
      const auto& value = values[one.get<std::size_t>()];
      PARITECT_RETURN_IF_ERROR(Take(1, value ? WeightOf(*value) : 0));
      made.push_back(value);
    }
    return made;
  }

  absl::StatusOr<Column> Texts(const OrderedJson& column, std::size_t count, int /*depth*/) {
    if (!column["texts"].is_string()) return Wrong();
    Column made;
    made.reserve(count);
    std::string last;
    std::size_t prefix = 0;
    std::size_t suffix = 0;
    for (absl::string_view line : absl::StrSplit(column["texts"].get_ref<const std::string&>(), '\n')) {
      if (absl::ConsumePrefix(&line, "\t")) {
        const std::pair<absl::string_view, absl::string_view> numbers = absl::StrSplit(line, ',');
        if (!absl::SimpleAtoi(numbers.first, &prefix) || !absl::SimpleAtoi(numbers.second, &suffix)) return Wrong();
        continue;
      }
      const auto begins = BytesOfUnits(last, prefix, false);
      const auto ends = BytesOfUnits(last, suffix, true);
      if (!begins || !ends || *begins + *ends > last.size()) return Wrong();
      PARITECT_RETURN_IF_ERROR(Take(1, *begins + *ends));
      last = absl::StrCat(last.substr(0, *begins), line, last.substr(last.size() - *ends));
      made.emplace_back(last);
    }
    return made;
  }

  absl::StatusOr<Column> Objects(const OrderedJson& column, std::size_t count, int depth) {
    const OrderedJson& columns = column["columns"];
    if (!columns.is_object()) return Wrong();
    std::vector<std::pair<std::string, Column>> read;
    for (const auto& [name, one] : columns.items()) {
      PARITECT_ASSIGN_OR_RETURN(Column values, Read(one, count, depth));
      read.emplace_back(name, std::move(values));
    }
    Column made(count, OrderedJson::object());
    for (auto& [name, values] : read) {
      for (std::size_t row = 0; row < count; ++row) {
        if (values[row]) (*made[row])[name] = *std::move(values[row]);
      }
    }
    return made;
  }

  absl::StatusOr<Column> Lists(const OrderedJson& column, std::size_t count, int depth) {
    PARITECT_ASSIGN_OR_RETURN(const Column counts, Read(column["counts"], count, depth));
    std::size_t all = 0;
    for (const auto& one : counts) {
      if (!one) return Wrong();
      PARITECT_ASSIGN_OR_RETURN(const std::size_t size, NumberOf(*one));
      if (size > left_.values - std::min(left_.values, all)) return TooMuch();
      all += size;
    }
    PARITECT_ASSIGN_OR_RETURN(Column items, Read(column.value("items", OrderedJson()), all, depth));
    Column made;
    made.reserve(count);
    std::size_t at = 0;
    for (const auto& one : counts) {
      OrderedJson list = OrderedJson::array();
      for (const std::size_t end = at + one->get<std::size_t>(); at < end; ++at) {
        if (!items[at]) return Wrong();
        list.push_back(*std::move(items[at]));
      }
      made.emplace_back(std::move(list));
    }
    return made;
  }

  absl::StatusOr<Column> Some(const OrderedJson& column, std::size_t count, int depth) {
    const OrderedJson& runs = column["runs"];
    if (!runs.is_array()) return Wrong();
    std::vector<std::size_t> lengths;
    std::size_t present = 0;
    std::size_t rows = 0;
    for (const OrderedJson& one : runs) {
      PARITECT_ASSIGN_OR_RETURN(const std::size_t length, NumberOf(one));
      if (length > count - rows) return Wrong();
      rows += length;
      if (lengths.size() % 2 == 1) present += length;
      lengths.push_back(length);
    }
    PARITECT_ASSIGN_OR_RETURN(Column values, Read(column.value("present", OrderedJson()), present, depth));
    Column made;
    made.reserve(count);
    auto next = values.begin();
    for (std::size_t run = 0; run < lengths.size(); ++run) {
      for (std::size_t row = 0; row < lengths[run]; ++row) {
        if (run % 2 == 1) {
          made.push_back(*std::move(next++));
        } else {
          made.push_back(std::nullopt);
        }
      }
    }
    return made;
  }

  UnpackLimits left_;
};

}  // namespace

OrderedJson PackRows(OrderedJson rows) {
  if (!rows.is_array() || rows.size() < kRowsPackedMin) return rows;
  Values values;
  for (const OrderedJson& row : rows) {
    if (!row.is_object()) return rows;
    values.push_back(&row);
  }
  OrderedJson packed = {{"packed_rows", rows.size()}};
  packed.update(PackObjects(values));
  return packed;
}

absl::StatusOr<OrderedJson> UnpackAll(const OrderedJson& json, const UnpackLimits& limits) {
  return Unpacker(limits).All(json, 0);
}

}  // namespace paritect
