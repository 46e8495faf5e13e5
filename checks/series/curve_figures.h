// Figures of two aligned curves that hold over any prefix of them: a bias with its interval, and since when they part.
// For `paritect diff curve` and for a comparison while a run trains, which has no verdict yet.
#ifndef PARITECT_CHECKS_SERIES_CURVE_FIGURES_H_
#define PARITECT_CHECKS_SERIES_CURVE_FIGURES_H_

#include <cstdint>
#include <optional>

#include "checks/series/curves.h"

namespace paritect {

struct Interval {
  double low = 0;
  double high = 0;
};

// The mean of (b - a) / |a| and the interval that holds it with 95 %: Student's t over the long-run variance of the
// differences, so that neighbours that move together do not count as so many observations. nullopt: fewer than 6 steps,
// or differences that do not vary.
std::optional<Interval> BiasInterval(const AlignedCurves& curves);

// The step since which the curves are apart: dead-zone cumulative sum over the relative differences (`paired`) or over
// those of the smoothed curves. nullopt: they are not. What a prefix of curves of one sign names, a longer one does not
// take back.
std::optional<std::int64_t> DivergesSince(const AlignedCurves& curves, double dead_zone, bool paired);

// A stretch of steps at which b lies beyond the limit on one side, as neither a single step nor the noise of the
// differences does. `at_end`: nothing came back.
struct Stretch {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double mean_relative = 0;  // signed
  bool at_end = false;
};

// The worst stretch of `steps_min` steps or more behind the first twentieth; nullopt: none.
std::optional<Stretch> FindStretch(const AlignedCurves& curves, const CurveLimits& limits, bool paired,
                                   double steps_min);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_CURVE_FIGURES_H_
