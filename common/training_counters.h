// Counters that only grow while a training goes on, as checkpoints name them: what one file of a checkpoint says of its
// step, and another must not contradict.
#ifndef PARITECT_COMMON_TRAINING_COUNTERS_H_
#define PARITECT_COMMON_TRAINING_COUNTERS_H_

#include "absl/strings/string_view.h"

namespace paritect {

// By the last component of the name: "iteration", "opt_param_scheduler.num_steps", "optimizer.state.3.step".
bool IsTrainingCounter(absl::string_view name);
// Those of them that count updates of the weights, and not samples, epochs or calls of a scheduler.
bool IsUpdateCounter(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_COMMON_TRAINING_COUNTERS_H_
