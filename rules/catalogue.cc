#include "rules/catalogue.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

absl::StatusOr<std::string> ReadScalar(const DocumentNode& map, absl::string_view key) {
  const DocumentNode* node = map.Find(key);
  if (node == nullptr || !node->is_scalar()) return ErrorAt(map, absl::StrCat("`", key, "` is needed"));
  return node->text;
}

absl::StatusOr<v1::Text> ReadText(const DocumentNode& map, absl::string_view key) {
  const DocumentNode* node = map.Find(key);
  if (node == nullptr || !node->is_map()) return ErrorAt(map, absl::StrCat("`", key, "` with en and zh is needed"));
  v1::Text text;
  PARITECT_ASSIGN_OR_RETURN(*text.mutable_en(), ReadScalar(*node, "en"));
  PARITECT_ASSIGN_OR_RETURN(*text.mutable_zh(), ReadScalar(*node, "zh"));
  return text;
}

// A list of words; none where the key is not there.
absl::StatusOr<std::vector<std::string>> ReadWords(const DocumentNode& map, absl::string_view key) {
  std::vector<std::string> words;
  const DocumentNode* node = map.Find(key);
  if (node == nullptr) return words;
  if (!node->is_list()) return ErrorAt(*node, absl::StrCat("`", key, "` must be a list"));
  for (const DocumentNode& item : node->items) {
    if (!item.is_scalar()) return ErrorAt(item, absl::StrCat("`", key, "` must be a list of words"));
    words.push_back(item.text);
  }
  return words;
}

absl::StatusOr<CatalogueCheck> ReadCheck(const DocumentNode& node, absl::string_view item) {
  CatalogueCheck check;
  PARITECT_ASSIGN_OR_RETURN(std::string name, ReadScalar(node, "id"));
  check.id = absl::StrCat(item, ".", name);
  PARITECT_ASSIGN_OR_RETURN(std::string required, ReadScalar(node, "required"));
  check.required = required == "true";
  PARITECT_ASSIGN_OR_RETURN(check.title, ReadText(node, "title"));
  PARITECT_ASSIGN_OR_RETURN(check.asks, ReadText(node, "asks"));
  PARITECT_ASSIGN_OR_RETURN(check.evidence, ReadWords(node, "evidence"));
  PARITECT_ASSIGN_OR_RETURN(check.rule, ReadText(node, "rule"));
  PARITECT_ASSIGN_OR_RETURN(check.limits, ReadWords(node, "limits"));
  PARITECT_ASSIGN_OR_RETURN(check.fix, ReadText(node, "fix"));
  return check;
}

}  // namespace

const CatalogueItem* Catalogue::FindItem(absl::string_view id) const {
  for (const CatalogueItem& item : items) {
    if (item.id == id) return &item;
  }
  return nullptr;
}

const CatalogueCheck* Catalogue::FindCheck(absl::string_view id) const {
  for (const CatalogueItem& item : items) {
    for (const CatalogueCheck& check : item.checks) {
      if (check.id == id) return &check;
    }
  }
  return nullptr;
}

absl::StatusOr<Catalogue> ReadCatalogue(const DocumentNode& root) {
  Catalogue catalogue;
  const DocumentNode* items = root.Find("items");
  if (items == nullptr || !items->is_list()) return ErrorAt(root, "`items` is needed");
  for (const DocumentNode& node : items->items) {
    CatalogueItem item;
    PARITECT_ASSIGN_OR_RETURN(item.id, ReadScalar(node, "id"));
    PARITECT_ASSIGN_OR_RETURN(item.title, ReadText(node, "title"));
    PARITECT_ASSIGN_OR_RETURN(item.about, ReadText(node, "about"));
    PARITECT_ASSIGN_OR_RETURN(item.source, ReadText(node, "source"));
    const DocumentNode* checks = node.Find("checks");
    if (checks == nullptr || !checks->is_list()) return ErrorAt(node, "`checks` is needed");
    for (const DocumentNode& check_node : checks->items) {
      PARITECT_ASSIGN_OR_RETURN(CatalogueCheck check, ReadCheck(check_node, item.id));
      item.checks.push_back(std::move(check));
    }
    catalogue.items.push_back(std::move(item));
  }
  return catalogue;
}

}  // namespace paritect
