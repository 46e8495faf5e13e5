// What settings decide of one world or many (training.flow.distributed, migrated.mixed-precision.distributed).
#ifndef PARITECT_CHECKS_CLUSTER_DISTRIBUTED_H_
#define PARITECT_CHECKS_CLUSTER_DISTRIBUTED_H_

#include "checks/check.h"

namespace paritect {

// Errors of a run of several nodes: a local master address, nodes that count one node, a world that does not hold all
// devices, master addresses that differ (warning).
void JudgeWorld(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_CLUSTER_DISTRIBUTED_H_
