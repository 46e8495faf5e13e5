// An audit without a server: plans (or bundles) of two sides in, report out.
#ifndef PARITECT_CLIENT_REPORT_OFFLINE_AUDIT_H_
#define PARITECT_CLIENT_REPORT_OFFLINE_AUDIT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checks/evidence_set.h"
#include "client/command.h"
#include "client/report/reading.h"

namespace paritect {

// Reads one plan (file or folder) or bundle. InvalidArgument or NotFound: the user's mistake, with place.
absl::StatusOr<v1::Bundle> LoadSidePlan(CommandEnv& env, const std::string& path, const ReadingOptions& reading = {});

// All plans of both sides, in the order given.
absl::StatusOr<std::unique_ptr<EvidenceSet>> LoadEvidence(CommandEnv& env, const std::vector<std::string>& baseline,
                                                          const std::vector<std::string>& migrated,
                                                          const ReadingOptions& reading = {});

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_OFFLINE_AUDIT_H_
