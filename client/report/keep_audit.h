// `check --db FILE` and `report --db FILE`: audits with their evidence and reports, kept in one file. The store is the
// server's (storage/fleet_store.h), so that there is one form of database and one set of promises about it.
#ifndef PARITECT_CLIENT_REPORT_KEEP_AUDIT_H_
#define PARITECT_CLIENT_REPORT_KEEP_AUDIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checks/evidence_set.h"
#include "client/command.h"
#include "paritect/v1/fleet.pb.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

// Adds one audit to the file, which is made where it is not there; gives its number. Equal evidence is kept once,
// however many audits hold it. Errors name the file.
absl::StatusOr<std::int64_t> KeepAudit(const CommandEnv& env, const std::string& file, const EvidenceSet& evidence,
                                       const v1::Report& report);

// What the file holds, by number; never makes a file. NotFound: no such file, or no audit in it.
absl::StatusOr<std::vector<v1::KeptAudit>> KeptAudits(const CommandEnv& env, const std::string& file);

struct KeptContents {
  v1::KeptAudit audit;
  std::vector<v1::Bundle> baseline;
  std::vector<v1::Bundle> migrated;
  v1::Report report;
};

// One of them whole; number 0: the newest. NotFound; DataLoss: a part is gone or damaged.
absl::StatusOr<KeptContents> LoadKeptAudit(const CommandEnv& env, const std::string& file, std::int64_t number);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_KEEP_AUDIT_H_
