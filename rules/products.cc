#include "rules/products.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/glob.h"
#include "common/numbers.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using absl::StrCat;

std::string TextOf(const DocumentNode& node, absl::string_view name) {
  const DocumentNode* field = node.Find(name);
  return field != nullptr && field->is_scalar() ? field->text : "";
}

bool BoolOf(const DocumentNode& node, absl::string_view name, bool fallback) {
  const DocumentNode* field = node.Find(name);
  return field == nullptr ? fallback : field->text == "true";
}

// "Ascend 910B3" -> "910B3", "Ascend910_9392" -> "910_9392".
std::string ChipName(absl::string_view name) {
  std::string upper = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(name));
  return absl::StrReplaceAll(upper, {{"ASCEND", ""}, {" ", ""}});
}

// Parts of a version: numbers, and words ("RC1" -> "rc", 1), which count before a number.
std::vector<std::pair<int, std::string>> VersionParts(absl::string_view version) {
  if (auto plus = version.find('+'); plus != absl::string_view::npos) version = version.substr(0, plus);
  std::vector<std::pair<int, std::string>> parts;
  std::size_t at = 0;
  while (at < version.size()) {
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(version[at]));
    if (!digit && !absl::ascii_isalpha(static_cast<unsigned char>(version[at]))) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < version.size() && (digit ? absl::ascii_isdigit(static_cast<unsigned char>(version[end]))
                                          : absl::ascii_isalpha(static_cast<unsigned char>(version[end])))) {
      ++end;
    }
    parts.emplace_back(digit ? 1 : 0, absl::AsciiStrToLower(version.substr(at, end - at)));
    at = end;
  }
  while (!parts.empty() && parts.back().first == 1 && ParseInt(parts.back().second).value_or(1) == 0) parts.pop_back();
  return parts;
}

int ComparePart(const std::pair<int, std::string>& a, const std::pair<int, std::string>& b) {
  if (a.first != b.first) return a.first < b.first ? -1 : 1;
  if (a.first == 0) return a.second.compare(b.second) < 0 ? -1 : a.second == b.second ? 0 : 1;
  const auto x = ParseInt(a.second).value_or(0);
  const auto y = ParseInt(b.second).value_or(0);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool Fits(absl::string_view stated, absl::string_view wanted) {
  return stated.empty() || stated == wanted;
}

absl::Status ReadFamily(const DocumentNode& node, ProductFamily& family) {
  static const std::map<std::string, OverflowMode, std::less<>> kModes = {
      {"", OverflowMode::kUnknown},
      {"saturation-only", OverflowMode::kSaturationOnly},
      {"inf-nan-default", OverflowMode::kInfNanDefault},
      {"inf-nan-only", OverflowMode::kInfNanOnly}};
  family.name = TextOf(node, "name");
  family.npu = BoolOf(node, "npu", false);
  family.trains = BoolOf(node, "trains", true);
  family.bfloat16 = BoolOf(node, "bfloat16", true);
  family.precision_option = TextOf(node, "precision_option");
  family.precision_value = TextOf(node, "precision_value");
  family.source = TextOf(node, "source");
  auto mode = kModes.find(TextOf(node, "overflow"));
  if (mode == kModes.end()) return ErrorAt(node, "`overflow` is saturation-only, inf-nan-default or inf-nan-only");
  family.overflow = mode->second;
  return absl::OkStatus();
}

}  // namespace

absl::Status Products::Add(const DocumentNode& root, bool overriding) {
  if (!root.is_map()) return ErrorAt(root, "products must be a map");
  std::vector<Chip> chips;
  for (const auto& [name, value] : root.fields) {
    if (name.text == "families" && value.is_map()) {
      for (const auto& [id, family] : value.fields) {
        families_[id.text].id = id.text;
        PARITECT_RETURN_IF_ERROR(ReadFamily(family, families_[id.text]));
      }
    } else if (name.text == "chips" && value.is_list()) {
      for (const DocumentNode& one : value.items) {
        if (TextOf(one, "name").empty()) return ErrorAt(one, "a chip needs `name` and `family`");
        chips.push_back({ChipName(TextOf(one, "name")), TextOf(one, "family")});
      }
    } else if (name.text == "pci_ids" && value.is_map()) {
      for (const auto& [id, family] : value.fields) pci_ids_[absl::AsciiStrToLower(id.text)] = family.text;
    } else if (name.text == "precision_values" && value.is_list()) {
      for (const DocumentNode& one : value.items) {
        precision_values_.push_back(
            {TextOf(one, "option"), TextOf(one, "value"), TextOf(one, "same_as"), BoolOf(one, "mixed", false)});
      }
    } else {
      return ErrorAt(
          name, StrCat("unknown key '", name.text, "' in products; known: families, chips, pci_ids, precision_values"));
    }
  }
  for (const Chip& chip : chips) {
    if (!chip.family.empty() && !families_.contains(chip.family)) {
      return ErrorAt(root, StrCat("chip '", chip.pattern, "' names the unknown family '", chip.family, "'"));
    }
  }
  chips_.insert(overriding ? chips_.begin() : chips_.end(), chips.begin(), chips.end());
  return absl::OkStatus();
}

const ProductFamily* Products::FindFamily(absl::string_view id) const {
  auto it = families_.find(std::string(id));
  return it == families_.end() ? nullptr : &it->second;
}

const ProductFamily* Products::FamilyOfChip(absl::string_view name) const {
  const std::string chip = ChipName(name);
  for (const Chip& known : chips_) {
    if (GlobMatch(known.pattern, chip)) return known.family.empty() ? nullptr : FindFamily(known.family);
  }
  return nullptr;
}

const ProductFamily* Products::FamilyOfPciId(absl::string_view id) const {
  const std::string lower = absl::AsciiStrToLower(id);
  auto it = pci_ids_.find(lower);
  if (it == pci_ids_.end()) it = pci_ids_.find(absl::StrCat(lower.substr(0, lower.find(':')), ":*"));
  return it == pci_ids_.end() ? nullptr : FindFamily(it->second);
}

const PrecisionValue* Products::FindPrecisionValue(absl::string_view option, absl::string_view value) const {
  for (const PrecisionValue& known : precision_values_) {
    if (known.option == option && known.value == value) return &known;
  }
  return nullptr;
}

absl::Status Defaults::Add(const DocumentNode& root, bool overriding) {
  const DocumentNode* list = root.Find("defaults");
  if (list == nullptr || !list->is_list() || root.fields.size() != 1) return ErrorAt(root, "`defaults` must be a list");
  std::vector<DefaultValue> entries;
  for (const DocumentNode& one : list->items) {
    DefaultValue entry;
    entry.key = TextOf(one, "key");
    entry.text = TextOf(one, "value");
    entry.framework = TextOf(one, "framework");
    entry.library = TextOf(one, "library");
    entry.versions = TextOf(one, "versions");
    entry.source = TextOf(one, "source");
    if (entry.key.empty() || entry.source.empty() || one.Find("value") == nullptr) {
      return ErrorAt(one, "a default needs `key`, `value` and `source`");
    }
    const DocumentNode* product = one.Find("product");
    if (product != nullptr && product->is_list()) {
      for (const DocumentNode& name : product->items) {
        entry.product = name.text;
        entries.push_back(entry);
      }
    } else {
      entry.product = TextOf(one, "product");
      entries.push_back(entry);
    }
  }
  entries_.insert(overriding ? entries_.begin() : entries_.end(), entries.begin(), entries.end());
  return absl::OkStatus();
}

const DefaultValue* Defaults::Find(absl::string_view key, absl::string_view product, absl::string_view framework,
                                   absl::string_view library, absl::string_view version) const {
  for (const DefaultValue& entry : entries_) {
    if (entry.key != key || !Fits(entry.product, product) || !Fits(entry.framework, framework)) continue;
    if (!Fits(entry.library, library) || !VersionFits(version, entry.versions)) continue;
    return &entry;
  }
  return nullptr;
}

int CompareVersions(absl::string_view a, absl::string_view b) {
  const auto x = VersionParts(a);
  const auto y = VersionParts(b);
  for (std::size_t i = 0; i < std::max(x.size(), y.size()); ++i) {
    // What is missing counts as 0, and a word ("rc") counts before it.
    static const std::pair<int, std::string> kZero = {1, "0"};
    const int order = ComparePart(i < x.size() ? x[i] : kZero, i < y.size() ? y[i] : kZero);
    if (order != 0) return order;
  }
  return 0;
}

bool VersionFits(absl::string_view version, absl::string_view conditions) {
  for (absl::string_view condition : absl::StrSplit(conditions, ' ', absl::SkipEmpty())) {
    if (version.empty()) return false;
    const std::size_t sign = condition.find_first_not_of("<>=");
    const absl::string_view op = condition.substr(0, sign);
    const int order = CompareVersions(version, sign == absl::string_view::npos ? "" : condition.substr(sign));
    const bool fits = op == ">="   ? order >= 0
                      : op == ">"  ? order > 0
                      : op == "<=" ? order <= 0
                      : op == "<"  ? order < 0
                                   : order == 0;
    if (!fits) return false;
  }
  return true;
}

}  // namespace paritect
