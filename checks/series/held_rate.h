// Whether a schedule that is tied to updates stood still at a step: what tells that its update was left out.
#ifndef PARITECT_CHECKS_SERIES_HELD_RATE_H_
#define PARITECT_CHECKS_SERIES_HELD_RATE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "paritect/v1/run_stats.pb.h"

namespace paritect {

enum class HeldRate {
  kUnknown,  // no learning rate of every step around it, or one that does not move there anyway
  kHeld,
  kMoved,
};

// `records`: one rank's, in file order. Frameworks print the rate before or after the scheduler's step: it was held
// where it did not move from the step before or to the next one; it moved where it did both.
HeldRate HeldRateAt(const std::vector<const v1::StepRecord*>& records, std::size_t at);

// Formats whose schedule counts updates, so that it must stand still where one is left out: Megatron, DeepSpeed, the
// Hugging Face trainer and MindSpore. A training script of one's own may step its schedule at every step.
bool ScheduleCountsUpdates(const std::string& format);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_HELD_RATE_H_
