#include "common/document_fields.h"

#include <limits>

#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "common/status_macros.h"

namespace paritect {

using absl::Status;
using absl::StrCat;

Status ReadMap(const DocumentNode& node, absl::string_view where, absl::Span<const Field> fields) {
  if (!node.is_map()) return ErrorAt(node, StrCat(where, " must be a map"));
  for (const auto& [key, value] : node.fields) {
    const Field* field = nullptr;
    for (const Field& known : fields) {
      if (known.name == key.text) field = &known;
    }
    if (field == nullptr) {
      std::vector<absl::string_view> names;
      for (const Field& known : fields) names.push_back(known.name);
      return ErrorAt(key, StrCat("unknown key '", key.text, "' in ", where, "; known: ", absl::StrJoin(names, ", ")));
    }
    PARITECT_RETURN_IF_ERROR(field->read(value));
  }
  return absl::OkStatus();
}

Status ReadText(const DocumentNode& node, absl::string_view name, std::string& slot) {
  if (!node.is_scalar() || node.text.empty()) return ErrorAt(node, StrCat("`", name, "` must be a text"));
  slot = node.text;
  return absl::OkStatus();
}

Status ReadBool(const DocumentNode& node, absl::string_view name, bool& slot) {
  const bool yes = node.text == "true" || node.text == "True" || node.text == "yes";
  const bool no = node.text == "false" || node.text == "False" || node.text == "no";
  if (!node.is_scalar() || node.quoted || (!yes && !no)) {
    return ErrorAt(node, StrCat("`", name, "` must be true or false"));
  }
  slot = yes;
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> ReadCount(const DocumentNode& node, absl::string_view name, std::int64_t min) {
  auto value = node.is_scalar() && !node.quoted ? ParseInt(node.text) : std::nullopt;
  if (!value || *value < min || *value > std::numeric_limits<std::int32_t>::max()) {
    return ErrorAt(node, StrCat("`", name, "` must be a whole number from ", min, " on"));
  }
  return *value;
}

Status ReadWord(const DocumentNode& node, absl::string_view name, absl::Span<const absl::string_view> words,
                std::string& slot) {
  if (node.is_scalar()) {
    for (absl::string_view word : words) {
      if (word == node.text) {
        slot = node.text;
        return absl::OkStatus();
      }
    }
  }
  return ErrorAt(node, StrCat("`", name, "` must be one of ", absl::StrJoin(words, " | "),
                              node.is_scalar() ? StrCat(", not '", node.text, "'") : ""));
}

Status ReadTexts(const DocumentNode& node, absl::string_view name,
                 google::protobuf::RepeatedPtrField<std::string>& slot) {
  if (!node.is_list()) return ErrorAt(node, StrCat("`", name, "` must be a list of texts"));
  for (const DocumentNode& item : node.items) {
    if (!item.is_scalar()) return ErrorAt(item, StrCat("`", name, "` must be a list of texts"));
    *slot.Add() = item.text;
  }
  return absl::OkStatus();
}

Status ReadList(const DocumentNode& node, absl::string_view name,
                absl::FunctionRef<Status(const DocumentNode&)> item) {
  if (node.is_null()) return absl::OkStatus();
  if (!node.is_list()) return ErrorAt(node, StrCat("`", name, "` must be a list"));
  for (const DocumentNode& one : node.items) PARITECT_RETURN_IF_ERROR(item(one));
  return absl::OkStatus();
}

}  // namespace paritect
