// From evidence to the report: runs every check, derives verdicts, applies waivers and attestations.
#ifndef PARITECT_CHECKS_RUNNER_H_
#define PARITECT_CHECKS_RUNNER_H_

#include <functional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/evidence_set.h"
#include "paritect/v1/report.pb.h"
#include "rules/rules.h"

namespace paritect {

struct AuditOptions {
  std::vector<std::string> items;  // only these items; empty: all
  std::string today;               // YYYY-MM-DD; waivers and attestations end by it
  int findings_max = 200;          // a check; the full count stands in findings_total
  // Asked before each check: the rest of them is not performed once it is true. Empty: all the time that it takes.
  std::function<bool()> time_is_over;
};

// Every item and check of the catalogue is in the report, in its order; a check that this version does
// not have is not_performed with that reason. Findings are sorted by severity, then subject bytes, then
// kind: the same evidence gives the same report, byte by byte.
v1::Report RunAudit(const EvidenceSet& evidence, const Profile& profile, const Rules& rules,
                    const AuditOptions& options);

// An item fails if any check fails; else it is not performed if a required check, or every check, was
// not; else it passes. Checklist, "verdicts".
v1::Verdict ItemVerdict(const v1::ItemResult& item);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNNER_H_
