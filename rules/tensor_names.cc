#include "rules/tensor_names.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "re2/re2.h"

namespace paritect {
namespace {

constexpr absl::string_view kNumber = "#";  // in parts of what is stacked

absl::StatusOr<v1::TensorRole> ReadRole(const DocumentNode& node) {
  if (node.text == "optimizer") return v1::TENSOR_ROLE_OPTIMIZER_STATE;
  if (node.text == "buffer") return v1::TENSOR_ROLE_BUFFER;
  if (node.text == "other" || node.text == "derived") return v1::TENSOR_ROLE_OTHER;
  return ErrorAt(node, "`as` is optimizer, buffer, derived or other");
}

absl::StatusOr<std::shared_ptr<re2::RE2>> ReadPattern(const DocumentNode& node) {
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  auto pattern = std::make_shared<re2::RE2>(node.text, quiet);
  if (node.text.empty() || !pattern->ok()) {
    return ErrorAt(node, absl::StrCat("no pattern that RE2 takes: ", pattern->error()));
  }
  return pattern;
}

// The fields of an entry by name; which are allowed is the list's affair.
using Fields = std::map<absl::string_view, const DocumentNode*>;

absl::StatusOr<Fields> FieldsOf(const DocumentNode& node, std::initializer_list<absl::string_view> needed) {
  Fields fields;
  for (const auto& [key, value] : node.fields) fields[key.text] = &value;
  for (const absl::string_view name : needed) {
    if (!fields.contains(name)) return ErrorAt(node, absl::StrCat("`", name, "` is missing"));
  }
  if (fields.size() != needed.size()) return ErrorAt(node, "an entry has a key that its list does not know");
  return fields;
}

template <typename T>
void PutBefore(std::vector<T> added, std::vector<T>& list) {
  list.insert(list.begin(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
}

}  // namespace

absl::Status TensorNames::AddOne(absl::string_view list, const DocumentNode& node, TensorNames& added) const {
  if (list == "wrappers") {
    PARITECT_ASSIGN_OR_RETURN(const Fields fields, FieldsOf(node, {"name", "source"}));
    added.wrappers_.push_back(absl::StrCat(fields.at("name")->text, "."));
  } else if (list == "roles") {
    PARITECT_ASSIGN_OR_RETURN(const Fields fields, FieldsOf(node, {"pattern", "as", "source"}));
    PARITECT_ASSIGN_OR_RETURN(auto pattern, ReadPattern(*fields.at("pattern")));
    PARITECT_ASSIGN_OR_RETURN(const v1::TensorRole role, ReadRole(*fields.at("as")));
    if (fields.at("as")->text == "derived") added.derived_.push_back({pattern, "", role});
    added.roles_.push_back({std::move(pattern), "", role});
  } else if (list == "layouts") {
    PARITECT_ASSIGN_OR_RETURN(const Fields fields, FieldsOf(node, {"pattern", "as", "source"}));
    PARITECT_ASSIGN_OR_RETURN(auto pattern, ReadPattern(*fields.at("pattern")));
    const std::string& as = fields.at("as")->text;
    if (as != "turned" && as != "interleaved") return ErrorAt(*fields.at("as"), "`as` is turned or interleaved");
    (as == "turned" ? added.turned_ : added.interleaved_)
        .push_back({std::move(pattern), "", v1::TENSOR_ROLE_UNSPECIFIED});
  } else if (list == "rename") {
    PARITECT_ASSIGN_OR_RETURN(const Fields fields, FieldsOf(node, {"pattern", "with", "source"}));
    PARITECT_ASSIGN_OR_RETURN(auto pattern, ReadPattern(*fields.at("pattern")));
    std::string error;
    if (!pattern->CheckRewriteString(fields.at("with")->text, &error)) return ErrorAt(*fields.at("with"), error);
    added.renames_.push_back({std::move(pattern), fields.at("with")->text, v1::TENSOR_ROLE_UNSPECIFIED});
  } else {
    PARITECT_ASSIGN_OR_RETURN(const Fields fields, FieldsOf(node, {"whole", "parts", "source"}));
    Fused fused = {fields.at("whole")->text, {}};
    for (const DocumentNode& part : fields.at("parts")->items) fused.parts.push_back(part.text);
    const bool stacked = !fused.parts.empty() && absl::StrContains(fused.parts.front(), kNumber);
    if (fused.whole.empty() || (fused.parts.size() < 2 && !stacked)) {
      return ErrorAt(node, "`parts` needs two names or more, or one with #");
    }
    added.fused_.push_back(std::move(fused));
  }
  return absl::OkStatus();
}

absl::Status TensorNames::Add(const DocumentNode& root) {
  TensorNames added;
  for (const auto& [key, value] : root.fields) {
    constexpr absl::string_view kLists[] = {"wrappers", "roles", "layouts", "rename", "fused"};
    if (std::find(std::begin(kLists), std::end(kLists), key.text) == std::end(kLists)) {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'; there are ", absl::StrJoin(kLists, ", ")));
    }
    if (!value.is_list()) return ErrorAt(value, "a list is needed");
    for (const DocumentNode& item : value.items) PARITECT_RETURN_IF_ERROR(AddOne(key.text, item, added));
  }
  PutBefore(std::move(added.wrappers_), wrappers_);
  PutBefore(std::move(added.roles_), roles_);
  PutBefore(std::move(added.derived_), derived_);
  PutBefore(std::move(added.turned_), turned_);
  PutBefore(std::move(added.interleaved_), interleaved_);
  PutBefore(std::move(added.renames_), renames_);
  PutBefore(std::move(added.fused_), fused_);
  return absl::OkStatus();
}

absl::string_view TensorNames::Unwrapped(absl::string_view name) const {
  for (bool again = true; again;) {
    again = false;
    for (const std::string& wrapper : wrappers_) {
      if (name.size() > wrapper.size() && absl::ConsumePrefix(&name, wrapper)) again = true;
    }
  }
  return name;
}

std::string TensorNames::Canonical(absl::string_view name) const {
  std::string canonical(Unwrapped(name));
  for (const Pattern& rename : renames_) re2::RE2::GlobalReplace(&canonical, *rename.pattern, rename.with);
  return std::string(Unwrapped(canonical));
}

v1::TensorRole TensorNames::RoleOf(absl::string_view name) const {
  const absl::string_view inner = Unwrapped(name);
  for (const Pattern& role : roles_) {
    if (re2::RE2::PartialMatch(re2::StringPiece(inner.data(), inner.size()), *role.pattern)) return role.role;
  }
  return v1::TENSOR_ROLE_PARAMETER;
}

bool TensorNames::AnyMatches(const std::vector<Pattern>& patterns, absl::string_view name) {
  const re2::StringPiece text(name.data(), name.size());
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const Pattern& one) { return re2::RE2::PartialMatch(text, *one.pattern); });
}

bool TensorNames::IsDerived(absl::string_view name) const {
  return AnyMatches(derived_, Unwrapped(name));
}

bool TensorNames::IsTurned(absl::string_view name) const {
  return AnyMatches(turned_, Unwrapped(name));
}

bool TensorNames::IsInterleaved(absl::string_view name) const {
  return AnyMatches(interleaved_, Unwrapped(name));
}

std::vector<std::vector<std::string>> TensorNames::PartsOf(absl::string_view canonical) const {
  std::vector<std::vector<std::string>> ways;
  for (const Fused& fused : fused_) {
    const std::size_t at = canonical.find(fused.whole);
    if (at == absl::string_view::npos) continue;
    std::vector<std::string> names;
    for (const std::string& part : fused.parts) {
      names.push_back(absl::StrCat(canonical.substr(0, at), part, canonical.substr(at + fused.whole.size())));
    }
    ways.push_back(std::move(names));
  }
  return ways;
}

}  // namespace paritect
