// What weights tell of gradients that ranks exchange: replicas that are alike before a step and all different after it
// train alone. Source: pre-tuning checklist, 训练流程 (各节点独立训练).
#ifndef PARITECT_CHECKS_WEIGHTS_SYNCHRONISATION_H_
#define PARITECT_CHECKS_WEIGHTS_SYNCHRONISATION_H_

#include "checks/check.h"

namespace paritect {

// Adds what is found of the run's ranks to `result`. True: after a step all replicas are alike, so gradients are
// synchronised (or every rank had the same batches, which the shards tell).
bool JudgeSynchronisation(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_SYNCHRONISATION_H_
