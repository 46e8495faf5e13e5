// Which node owes what when a run of an audit begins.
#ifndef PARITECT_SERVER_AUDITS_NEW_RUN_H_
#define PARITECT_SERVER_AUDITS_NEW_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paritect/v1/fleet.pb.h"
#include "server/known_node.h"

namespace paritect {

// Whether each side that names nodes has one. InvalidArgument: none that is enrolled; FailedPrecondition: revoked ones
// alone.
absl::Status RequireNodes(const v1::AuditDefinition& definition, const std::vector<KnownNode>& known);

struct NewRunOptions {
  std::int64_t number = 1;
  std::string by;
  std::int64_t now_unix_ms = 0;
  std::int64_t timeout_ms = 0;
  std::uint64_t seed = 0;  // which of several nodes hashes which part of a shared mount
};

// The run with a task for each plan of each node. Nodes that a side names outright are rows too when they are not
// enrolled, never dropped. InvalidArgument: a plan that no node runs, or a node without a plan, which would vanish from
// the report and leave a pass behind.
absl::StatusOr<v1::AuditRun> NewRun(const v1::AuditDefinition& definition, const std::vector<KnownNode>& known,
                                    const NewRunOptions& options);

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_NEW_RUN_H_
