// An audit without a server: plans (or bundles) of two sides in, report out.
#ifndef PARITECT_CLIENT_REPORT_OFFLINE_AUDIT_H_
#define PARITECT_CLIENT_REPORT_OFFLINE_AUDIT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "checks/evidence_set.h"
#include "client/command.h"
#include "client/report/audit_options.h"
#include "client/report/reading.h"
#include "report/language.h"

namespace paritect {

// Reads one plan (file or folder), bundle, or folder without a plan. InvalidArgument or NotFound: the user's mistake,
// with place.
absl::StatusOr<v1::Bundle> LoadSidePlan(CommandEnv& env, const std::string& path, const ReadingOptions& reading = {});

struct AuditInput {
  std::unique_ptr<EvidenceSet> evidence;
  std::string json;  // what folders without a plan were taken for (docs/report.md, `inputs`); "": all had plans
};

// Everything that the options name, in the order given. What folders without a plan were taken for is told on
// `env.err`.
absl::StatusOr<AuditInput> LoadAuditInput(CommandEnv& env, const AuditArguments& options);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_OFFLINE_AUDIT_H_
