// One side prints a smoothed loss (a progress bar's running mean), the other the loss itself.
#ifndef PARITECT_CHECKS_SERIES_RUNNING_MEAN_H_
#define PARITECT_CHECKS_SERIES_RUNNING_MEAN_H_

#include <optional>

#include "checks/series/curves.h"

namespace paritect {

struct RunningMean {
  bool of_b = false;     // b is the smoothed one
  int window = 0;        // of the exponential mean that fits best
  AlignedCurves curves;  // the other side smoothed alike, without the first windows
};

// Where one curve follows the other's running mean step by step (first differences, by running_mean_correlation)
// and not the other itself (less by running_mean_gain at least), and is as still as that mean. A training that merely
// lags behind does not move with the noise of single steps, so this hides no difference.
std::optional<RunningMean> FindRunningMean(const AlignedCurves& curves, const CurveLimits& limits);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_RUNNING_MEAN_H_
