// Rules over variables that are no comparison of nodes (training.flow.environment).
#ifndef PARITECT_CHECKS_CLUSTER_ENVIRONMENT_RULES_H_
#define PARITECT_CHECKS_CLUSTER_ENVIRONMENT_RULES_H_

#include "checks/check.h"

namespace paritect {

// HCCL_INTRA_PCIE_ENABLE and HCCL_INTRA_ROCE_ENABLE as a pair: an error for one that HCCL does not take.
void JudgeLinks(const CheckContext& context, v1::CheckResult& result);

// Whether operators and collectives are deterministic, by what is in effect: a warning where the sides differ.
void CompareDeterminism(const CheckContext& context, v1::CheckResult& result);

}  // namespace paritect

#endif  // PARITECT_CHECKS_CLUSTER_ENVIRONMENT_RULES_H_
