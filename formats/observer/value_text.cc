#include "formats/observer/value_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paritect {

std::string ValueText(const DocumentNode& value) {
  if (value.is_null()) return "none";
  if (value.is_scalar()) return value.text;
  std::vector<std::string> parts;
  if (value.is_list()) {
    for (const DocumentNode& item : value.items) parts.push_back(ValueText(item));
    return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
  }
  if (value.Find("function") != nullptr || value.Find("class") != nullptr) return ObjectName(value);
  for (const auto& [name, one] : value.fields) parts.push_back(absl::StrCat(name.text, ": ", ValueText(one)));
  return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
}

std::string ObjectName(const DocumentNode& object) {
  if (object.is_scalar()) return object.text;
  for (const char* field : {"class", "function"}) {
    const DocumentNode* found = object.Find(field);
    if (found != nullptr && found->is_scalar()) return found->text;
  }
  return "?";
}

std::string ShortClass(absl::string_view dotted) {
  const std::size_t dot = dotted.rfind('.');
  return std::string(dot == absl::string_view::npos ? dotted : dotted.substr(dot + 1));
}

}  // namespace paritect
