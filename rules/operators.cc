#include "rules/operators.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

absl::Status AddNames(const DocumentNode& node, std::set<std::string>& names) {
  const DocumentNode* list = node.Find("names");
  if (list == nullptr || !list->is_list() || node.Find("source") == nullptr) {
    return ErrorAt(node, "`names` (a list) and `source` are needed");
  }
  for (const DocumentNode& one : list->items) names.insert(absl::AsciiStrToLower(one.text));
  return absl::OkStatus();
}

}  // namespace

absl::Status Operators::AddSame(const DocumentNode& list) {
  for (const DocumentNode& group : list.items) {
    if (!group.is_list() || group.items.size() < 2) return ErrorAt(group, "a list of two names or more is needed");
    for (const DocumentNode& one : group.items) {
      common_.insert_or_assign(absl::AsciiStrToLower(one.text), absl::AsciiStrToLower(group.items[0].text));
    }
  }
  return absl::OkStatus();
}

absl::Status Operators::AddReplacements(const DocumentNode& list) {
  std::vector<Replacement> added;
  for (const DocumentNode& entry : list.items) {
    Replacement one;
    for (const auto& [key, value] : entry.fields) {
      std::string* field = key.text == "operator"    ? &one.operator_
                           : key.text == "framework" ? &one.framework
                           : key.text == "instead"   ? &one.instead
                           : key.text == "source"    ? &one.source
                                                     : nullptr;
      if (field == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
      *field = value.text;
    }
    if (one.operator_.empty() || one.framework.empty() || one.instead.empty() || one.source.empty()) {
      return ErrorAt(entry, "a replacement needs `operator`, `framework`, `instead` and `source`");
    }
    added.push_back(std::move(one));
  }
  replacements_.insert(replacements_.begin(), added.begin(), added.end());
  return absl::OkStatus();
}

absl::Status Operators::Add(const DocumentNode& root) {
  for (const auto& [key, value] : root.fields) {
    if (key.text == "same" && value.is_list()) {
      PARITECT_RETURN_IF_ERROR(AddSame(value));
    } else if (key.text == "replace" && value.is_list()) {
      PARITECT_RETURN_IF_ERROR(AddReplacements(value));
    } else if (key.text == "skipped") {
      PARITECT_RETURN_IF_ERROR(AddNames(value, skipped_));
    } else if (key.text == "random") {
      PARITECT_RETURN_IF_ERROR(AddNames(value, random_));
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text,
                                       "', or not its value; there are same, skipped, random, replace"));
    }
  }
  return absl::OkStatus();
}

std::string Operators::Common(absl::string_view name) const {
  std::string lower = absl::AsciiStrToLower(name);
  const auto found = common_.find(lower);
  return found == common_.end() ? lower : found->second;
}

const Operators::Replacement* Operators::ReplacementOf(absl::string_view name, absl::string_view framework) const {
  // A line of the operator's own name holds for it alone, and counts before those of what it is.
  const std::string own = absl::AsciiStrToLower(name);
  for (const Replacement& one : replacements_) {
    if (one.operator_ == own && own != Common(name) && (one.framework == framework || one.framework == "any"))
      return &one;
  }
  const std::string common = Common(name);
  for (const Replacement& one : replacements_) {
    if (one.operator_ == common && (one.framework == framework || one.framework == "any")) return &one;
  }
  return nullptr;
}

}  // namespace paritect
