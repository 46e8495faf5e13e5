// What checks look at, by the words of the catalogue's `evidence`: of what no check of the asked items looks at,
// nothing needs to be read. tests/golden/golden_test.cc proves the words: an item judged without the rest is the same.
#ifndef PARITECT_CHECKS_EXPLAINING_LOOKED_AT_H_
#define PARITECT_CHECKS_EXPLAINING_LOOKED_AT_H_

#include <string>

#include "absl/types/span.h"
#include "checks/evidence_set.h"
#include "rules/rules.h"

namespace paritect {

bool IsLookedAt(const CatalogueCheck& check, Side side, v1::EvidenceKind kind);

// Whether some check of these items (none named: of any) looks at evidence of that kind on either side.
bool AnyLooksAt(const Rules& rules, absl::Span<const std::string> items, v1::EvidenceKind kind);

}  // namespace paritect

#endif  // PARITECT_CHECKS_EXPLAINING_LOOKED_AT_H_
