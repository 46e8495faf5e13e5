// Runs all collectors over one plan: plan in, bundle out. No gRPC; client and agent share it.
#ifndef PARITECT_AGENT_COLLECT_H_
#define PARITECT_AGENT_COLLECT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/collector.h"
#include "common/file_system.h"
#include "paritect/v1/evidence.pb.h"
#include "paritect/v1/plan.pb.h"

namespace paritect {

// Reads and parses the plan at `path` (a file, or a folder that holds plan.yaml). Fills what the plan
// leaves open: base folder, run (the folder's name), node (`default_node`). Errors carry "FILE:LINE:COLUMN: ".
absl::StatusOr<v1::Plan> LoadPlan(FileSystem& fs, absl::string_view path, absl::string_view default_node);

// InvalidArgument naming every path without a pattern that is not there ("FILE:LINE:COLUMN: PATH: not
// there"): a typing error is likelier than a lost file. Agents that collect for a server do not ask.
absl::Status CheckPlanPaths(FileSystem& fs, const v1::Plan& plan);

// Everything the plan names, as evidence, piece by piece. Never fails: what cannot be read is evidence of that.
void CollectPlanInto(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink);
// The same as one message.
v1::Bundle CollectPlan(const CollectorEnv& env, const v1::Plan& plan);

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECT_H_
