// What a checkpoint says of how far its training was: counters beside its tensors or in them.
#ifndef PARITECT_CHECKS_WEIGHTS_COUNTERS_H_
#define PARITECT_CHECKS_WEIGHTS_COUNTERS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "checks/weights/checkpoints.h"

namespace paritect {

// By name (common/training_counters.h).
std::map<std::string, double> CountersOf(const Checkpoint& checkpoint);

// A counter of updates that is beyond the step that the plan or the record states: another checkpoint than stated. One
// more is none: some count the step that comes next.
std::optional<std::pair<std::string, double>> BeyondItsStep(const Checkpoint& checkpoint);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_COUNTERS_H_
