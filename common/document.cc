#include "common/document.h"

#include <algorithm>

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paritect {

const DocumentNode* DocumentNode::Find(absl::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

absl::StatusOr<DocumentNode> ParseDocument(absl::string_view text, const DocumentLimits& limits) {
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
  const absl::string_view trimmed = absl::StripLeadingAsciiWhitespace(text);
  if (trimmed.empty() || (trimmed.front() != '{' && trimmed.front() != '[')) return ParseYaml(text, limits);
  auto json = ParseJson(text, limits);
  if (json.ok() || !absl::IsInvalidArgument(json.status())) return json;
  auto yaml = ParseYaml(text, limits);
  return yaml.ok() ? std::move(yaml) : std::move(json);
}

absl::Status ErrorAt(const DocumentNode& node, absl::string_view message) {
  // An empty document has no node with a place: its beginning.
  return absl::InvalidArgumentError(absl::StrCat(std::max(node.line, 1), ":", std::max(node.column, 1), ": ", message));
}

}  // namespace paritect
