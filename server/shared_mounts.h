// Data sets on a mount that several nodes of a side share are hashed once: each node a share, all of them a sample.
#ifndef PARITECT_SERVER_SHARED_MOUNTS_H_
#define PARITECT_SERVER_SHARED_MOUNTS_H_

#include <cstdint>
#include <vector>

#include "paritect/v1/fleet.pb.h"
#include "server/known_node.h"

namespace paritect {

// Notes in the run's tasks which data sets are shared. Shared is a data set with a root that all connected nodes of one
// side and plan (two at least) see on the same network mount at the same place. A node that is not connected takes no
// part: should it come, it hashes the whole.
void ShareMounts(const std::vector<KnownNode>& nodes, std::uint64_t seed, v1::AuditRun& run);

// What the task's plan says of it then: a part, and which.
void ApplyShares(const v1::NodeTask& task, v1::Plan& plan);

}  // namespace paritect

#endif  // PARITECT_SERVER_SHARED_MOUNTS_H_
