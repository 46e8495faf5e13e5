// How many steps a run can have skipped at most, by the scale that it prints now and then.
//
// A dynamic scale falls by its back-off factor at every skipped step and rises by its growth factor after a window of
// steps of which none was skipped. So between two printed scales as many steps were skipped as the scale fell, and one
// more for each raise that the window leaves room for. A scaler that was made new when the log begins has its first
// raise a whole window later; of any other it may come at once. Source: PyTorch, torch/amp/grad_scaler.py (update,
// _amp_update_scale_).
#ifndef PARITECT_CHECKS_RUNS_SCALE_BOUND_H_
#define PARITECT_CHECKS_RUNS_SCALE_BOUND_H_

#include <cstdint>
#include <optional>

#include "checks/runs/scaler.h"
#include "checks/series/overflow.h"

namespace paritect {

// nullopt: the scale tells no bound (not dynamic, parameters not known, a floor where it stops, a scaler that does not
// fall at every overflow, a log with restarts). Steps without a printed scale around them count as skipped.
std::optional<std::int64_t> MostSkippedByScale(const OverflowCount& count, const ScalerFacts& facts);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_SCALE_BOUND_H_
