// Whether the gradient of a tensor may be nothing but rounding errors, so that its update points anywhere: that of a
// bias in front of a softmax or a normalisation is 0 by calculation. Limits and what they were measured on:
// docs/thresholds.md.
#ifndef PARITECT_CHECKS_WEIGHTS_GRADIENT_NOISE_H_
#define PARITECT_CHECKS_WEIGHTS_GRADIENT_NOISE_H_

#include <map>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/weights/direction.h"

namespace paritect {

class GradientNoise {
 public:
  // Of the tensors of a migrated run beside the baseline's: their updates.
  GradientNoise(const CheckContext& context, const std::string& run, const std::vector<VectorPair>& updates);

  struct Optimizer {
    bool adaptive = true;  // may be Adam or its kin: steps of one size whatever the gradient
    bool narrow = true;    // may compute in 16 bits
  };
  bool MayBeNoise(const VectorPair& update, const Optimizer& optimizer) const;

 private:
  struct Norms {
    double a = 0, b = 0;  // L2
  };
  bool IsBias(const std::string& name) const;

  const CheckContext& context_;
  std::map<std::string, Norms> gradients_;         // as recorded on both sides, by common name
  double a_gradient_square_ = 0, b_gradient_square_ = 0;  // mean of an element
  double a_update_square_ = 0, b_update_square_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_GRADIENT_NOISE_H_
