// Which pieces of evidence a check looked at: for `paritect why`.
#ifndef PARITECT_CLIENT_REPORT_EVIDENCE_CHAIN_H_
#define PARITECT_CLIENT_REPORT_EVIDENCE_CHAIN_H_

#include <string>
#include <vector>

#include "checks/evidence_set.h"
#include "client/report/json.h"
#include "rules/rules.h"

namespace paritect {

// One piece, in words.
struct EvidencePiece {
  std::string side;  // "baseline" | "migrated"
  std::string run;
  std::string node;
  int rank = -1;             // -1: of no rank
  std::string kind;          // "run_log", ...: message kind_KIND
  std::string source;        // as the plan names it, made safe to show
  std::string outcome;       // "collected" | "absent" | "failed"
  v1::Text content;          // what is in it, or why it is not there
  std::string collected_at;  // RFC 3339, UTC; "" when it was read for this audit
  std::string collected_by;
};

// In the order of sides, plans and evidence. `node`: only that node's; "" all.
std::vector<EvidencePiece> EvidenceOf(const EvidenceSet& evidence, const Rules& rules, const CatalogueCheck& check,
                                      const std::string& node);

// Every node that sent evidence, sorted.
std::vector<std::string> NodesOf(const EvidenceSet& evidence);

OrderedJson PieceToJson(const EvidencePiece& piece);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_EVIDENCE_CHAIN_H_
