// What the beginning of a comparison tells of the whole: for a run that still trains.
//
// The offline check judges the mean over all steps and the last tenth. A beginning can exceed both and come back, so a
// parting is told only when it is certain, or nearly so, that the whole cannot pass any more:
// - certain: the differences so far, spread over all steps that the baseline has, exceed the limit of the mean already;
// - going on: the newest tenth (of the whole length) is apart as the offline check asks of an end, and at least half of
//   what a pass allows in all is used up; or the newest quarter exceeds the limit of the mean and all of it is.
// Both use the differences, the floor of sizes and the limits of the offline check (checks/series/curves.h).
#ifndef PARITECT_CHECKS_SERIES_CURVE_PROGRESS_H_
#define PARITECT_CHECKS_SERIES_CURVE_PROGRESS_H_

#include <cstddef>
#include <optional>

#include "checks/series/curves.h"

namespace paritect {

struct Parting {
  std::size_t shown = 0;  // index of the value that is told
  std::size_t since = 0;  // where the curves part
  double limit = 0;
  bool paired = false;
};

// `prefix`: the common steps so far. `expected`: how many the whole will have. `same_order`: as for Compare.
std::optional<Parting> FindParting(const AlignedCurves& prefix, const CurveLimits& limits, std::size_t expected,
                                   std::optional<bool> same_order);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_CURVE_PROGRESS_H_
