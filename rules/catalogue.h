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
  // What of a plan it looks at: "logs" (of both sides), "migrated logs", ...; message evidence_WORD names it.
  std::vector<std::string> evidence;
  v1::Text rule;                    // when it passes
  std::vector<std::string> limits;  // names of the profile's thresholds in the rule
  v1::Text fix;                     // what to do when it fails
};

struct CatalogueItem {
  std::string id;
  v1::Text title;
  v1::Text about;
  v1::Text source;  // the clause it comes from
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
