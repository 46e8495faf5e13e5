// `check --db FILE`: the audit's evidence and report, kept.
#ifndef PARITECT_CLIENT_REPORT_KEEP_AUDIT_H_
#define PARITECT_CLIENT_REPORT_KEEP_AUDIT_H_

#include <string>

#include "absl/status/status.h"
#include "checks/evidence_set.h"
#include "client/command.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

// Adds one audit, named "BASELINE RUN / MIGRATED RUN", to the SQLite file (made where it is not there).
// Errors name the file.
absl::Status KeepAudit(const CommandEnv& env, const std::string& file, const EvidenceSet& evidence,
                       const v1::Report& report);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_KEEP_AUDIT_H_
