// The list of items and checks that every report holds, in order (rules/data/catalogue.yaml).
#ifndef PARITECT_RULES_CATALOGUE_H_
#define PARITECT_RULES_CATALOGUE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

struct CatalogueCheck {
  std::string id;  // ITEM.NAME
  bool required = false;
  v1::Text title;
  v1::Text asks;  // the question it answers
};

struct CatalogueItem {
  std::string id;
  v1::Text title;
  v1::Text about;
  std::vector<CatalogueCheck> checks;
};

struct Catalogue {
  std::vector<CatalogueItem> items;
  // nullptr where there is no such id.
  const CatalogueItem* FindItem(absl::string_view id) const;
  const CatalogueCheck* FindCheck(absl::string_view id) const;
};

absl::StatusOr<Catalogue> ReadCatalogue(const DocumentNode& root);

}  // namespace paritect

#endif  // PARITECT_RULES_CATALOGUE_H_
