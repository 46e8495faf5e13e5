// Which key of a plan brings evidence of which kind: one table. A key is also the word by which the catalogue's
// `evidence` and a collector name these kinds.
#ifndef PARITECT_RULES_EVIDENCE_KINDS_H_
#define PARITECT_RULES_EVIDENCE_KINDS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

// "datasets", "logs", ...; "" for a kind that is not in the table (of a newer version).
absl::string_view PlanKeyOf(v1::EvidenceKind kind);

// Of a key; none for one that brings no kind of its own ("observed").
std::vector<v1::EvidenceKind> KindsOf(absl::string_view plan_key);

}  // namespace paritect

#endif  // PARITECT_RULES_EVIDENCE_KINDS_H_
