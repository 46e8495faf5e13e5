#include "rules/differences.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/products.h"

namespace paritect {
namespace {

using absl::StrCat;

absl::Status ReadTexts(const DocumentNode& node, std::vector<std::string>& out) {
  if (!node.is_list()) return ErrorAt(node, "must be a list of class names");
  for (const DocumentNode& item : node.items) out.push_back(absl::AsciiStrToLower(item.text));
  return absl::OkStatus();
}

absl::Status ReadMap(const DocumentNode& node, std::map<std::string, std::string>& out) {
  if (!node.is_map()) return ErrorAt(node, "must be a map of texts");
  for (const auto& [key, value] : node.fields) out[absl::AsciiStrToLower(key.text)] = value.text;
  return absl::OkStatus();
}

absl::Status ReadDefaults(const DocumentNode& node, FrameworkDifference& row) {
  if (!node.is_list()) return ErrorAt(node, "`by` must be a list");
  for (const DocumentNode& one : node.items) {
    FrameworkDifference::Default entry;
    for (const auto& [key, value] : one.fields) {
      if (key.text == "framework") {
        entry.framework = value.text;
      } else if (key.text == "versions") {
        entry.versions = value.text;
      } else if (key.text == "value") {
        entry.value = value.text;
      } else {
        return ErrorAt(key, StrCat("unknown key '", key.text, "' in `by`"));
      }
    }
    if (entry.framework.empty() || one.Find("value") == nullptr) return ErrorAt(one, "needs `framework` and `value`");
    row.by.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

absl::Status ReadField(const DocumentNode& key, const DocumentNode& value, FrameworkDifference& row) {
  if (key.text == "id") {
    row.id = value.text;
  } else if (key.text == "layer") {
    row.layer = value.text;
  } else if (key.text == "only_with") {
    row.only_with = value.text;
  } else if (key.text == "source") {
    row.source = value.text;
  } else if (key.text == "severity") {
    if (value.text != "error" && value.text != "note") return ErrorAt(value, "`severity` is error or note");
    row.is_error = value.text == "error";
  } else if (key.text == "classes") {
    return ReadTexts(value, row.classes);
  } else if (key.text == "other") {
    return ReadTexts(value, row.other);
  } else if (key.text == "argument") {
    return ReadMap(value, row.argument);
  } else if (key.text == "class_values") {
    return ReadMap(value, row.class_values);
  } else if (key.text == "words") {
    return ReadMap(value, row.words);
  } else if (key.text == "by") {
    return ReadDefaults(value, row);
  } else {
    return ErrorAt(key, StrCat("unknown key '", key.text, "' in an entry of `differences`"));
  }
  return absl::OkStatus();
}

bool Contains(const std::vector<std::string>& list, absl::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool FrameworkDifference::Has(absl::string_view class_name) const {
  return classes.empty() || Contains(classes, class_name);
}

bool FrameworkDifference::IsCounterpart(absl::string_view class_name) const {
  return other.empty() ? Has(class_name) : Contains(other, class_name);
}

std::optional<std::string> FrameworkDifference::DefaultOf(absl::string_view framework,
                                                          absl::string_view version) const {
  for (const Default& entry : by) {
    if (entry.framework == framework && VersionFits(version, entry.versions)) return entry.value;
  }
  return std::nullopt;
}

absl::Status Differences::Add(const DocumentNode& root, bool overriding) {
  const DocumentNode* list = root.Find("differences");
  if (list == nullptr || !list->is_list() || root.fields.size() != 1) {
    return ErrorAt(root, "`differences` must be a list");
  }
  for (const DocumentNode& one : list->items) {
    if (!one.is_map()) return ErrorAt(one, "an entry of `differences` must be a map");
    FrameworkDifference row;
    for (const auto& [key, value] : one.fields) PARITECT_RETURN_IF_ERROR(ReadField(key, value, row));
    if (row.id.empty() || row.source.empty() || one.Find("severity") == nullptr) {
      return ErrorAt(one, "a difference needs `id`, `severity` and `source`");
    }
    auto known =
        std::find_if(rows_.begin(), rows_.end(), [&](const FrameworkDifference& other) { return other.id == row.id; });
    if (known == rows_.end()) {
      rows_.push_back(std::move(row));
    } else if (overriding) {
      *known = std::move(row);
    } else {
      return ErrorAt(one, StrCat("difference '", row.id, "' stands twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace paritect
