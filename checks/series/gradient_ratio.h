// What the ratio of the two sides' gradient norms tells: gradients that are not cleared grow step by step, a
// constant ratio is an average that one side leaves out.
#ifndef PARITECT_CHECKS_SERIES_GRADIENT_RATIO_H_
#define PARITECT_CHECKS_SERIES_GRADIENT_RATIO_H_

#include <cstdint>
#include <optional>

#include "checks/series/curves.h"

namespace paritect {

// kPeriodic: growing anew every few steps. kExploding: the migrated norms leave the baseline's for good, or for many
// steps in a row.
enum class GradientPattern { kAlike, kConstantRatio, kGrowing, kPeriodic, kExploding };

struct GradientRatio {
  GradientPattern pattern = GradientPattern::kAlike;
  double ratio = 1;     // constant: the ratio; growing: at the last step looked at; alike: the median
  double exponent = 0;  // growing: ratio ~ step ^ exponent (1: all gradients point one way, 0.5: none do)
  std::int64_t last_step = 0;
  std::int64_t steps = 0;  // looked at
  double tail_ratio = 1;   // median over the last tenth
  double largest = 0;      // of all ratios, and where
  std::int64_t largest_step = 0;
  // Steps at which a norm is far more than the other side's.
  std::int64_t jumps = 0;           // of the migrated side
  std::int64_t baseline_jumps = 0;  // of the baseline
  std::int64_t explodes_at = 0;     // exploding: the first step beyond
  std::int64_t period = 0;          // periodic: steps
  double spread = 0;                // median absolute deviation of the ratio
  bool of_baseline = false;         // growing, periodic: it is the baseline's norms that do; the ratios are theirs
  // A ratio that would be constant, over steps of which it is not known that both sides read the same data.
  bool unpaired_ratio = false;
};

// The profile's thresholds.
struct GradientLimits {
  double ratio = 0;        // of the median from 1
  double spread = 0;       // of the median absolute deviation, of that distance
  double jump = 0;         // a ratio that noise between two data orders does not reach
  double far_tail = 0;     // of the last tenth's median
  double whole = 0;        // a ratio is taken for the whole number within this,
  double whole_max = 0;    // or within its noise up to this
  double errors = 0;       // standard errors of that noise
  double jumps_share = 0;  // of the steps, in a row, that jump: the norms have left
  // Gradients that add up: the slope of log(ratio) over log(step) lies between these, is as straight as this
  // correlation, starts within this factor of 1 and comes to that many times.
  double growth_slope_min = 0;
  double growth_slope_max = 0;
  double growth_fit = 0;
  double growth_start = 0;
  double growth_least = 0;
  double period_growth_least = 0;  // of growth that begins anew every few steps,
  double period_spread = 0;        // whose phases vary by less than this share of it
};
GradientLimits GradientLimitsOf(const Profile& profile);

// Common steps at which the migrated norm is exactly 0 and the baseline's is not small: nothing is learned there.
struct ZeroNorms {
  std::int64_t steps = 0;
  std::int64_t first = 0;
  std::int64_t common = 0;
};
ZeroNorms FindZeroNorms(const AlignedCurves& norms);

// nullopt: fewer than 5 common positive norms. `paired`: both sides read the same data step by step.
std::optional<GradientRatio> CompareGradients(const AlignedCurves& norms, const GradientLimits& limits, bool paired);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_GRADIENT_RATIO_H_
