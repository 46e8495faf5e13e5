// Node against node within one side: do they hold the same data? (data.dataset.nodes, cluster.consistency.data)
#ifndef PARITECT_CHECKS_DATASETS_NODES_H_
#define PARITECT_CHECKS_DATASETS_NODES_H_

#include "checks/check.h"

namespace paritect {

// Adds findings and what is missing; true where several holders of a data set were compared.
bool CompareDatasetNodes(const CheckContext& context, v1::CheckResult& result, Side side);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_NODES_H_
