// What the ratio of the two sides' gradient norms tells: gradients that are not cleared grow step by step, a
// constant ratio is an average that one side leaves out.
#ifndef PARITECT_CHECKS_GRADIENT_RATIO_H_
#define PARITECT_CHECKS_GRADIENT_RATIO_H_

#include <cstdint>
#include <optional>

#include "checks/curves.h"

namespace paritect {

enum class GradientPattern { kAlike, kConstantRatio, kGrowing };

struct GradientRatio {
  GradientPattern pattern = GradientPattern::kAlike;
  double ratio = 1;     // constant: the ratio; growing: at the last step looked at; alike: the median
  double exponent = 0;  // growing: ratio ~ step ^ exponent (1: all gradients point one way, 0.5: none do)
  std::int64_t last_step = 0;
  std::int64_t steps = 0;  // looked at
};

// nullopt: fewer than 5 common positive norms.
std::optional<GradientRatio> CompareGradients(const AlignedCurves& norms);

}  // namespace paritect

#endif  // PARITECT_CHECKS_GRADIENT_RATIO_H_
