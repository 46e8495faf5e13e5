// Gradients of single parameters in the first step, from dumps and from what was recorded inside the processes.
// Source: MindSpore precision checklist, check 2; limits: docs/thresholds.md.
#ifndef PARITECT_CHECKS_WEIGHTS_GRADIENTS_H_
#define PARITECT_CHECKS_WEIGHTS_GRADIENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/weights/direction.h"

namespace paritect {

struct GradientPair {
  std::string name;  // of the baseline
  std::string other_name;
  double a_l2 = 0, b_l2 = 0;
  std::optional<VectorPair> vectors;  // where sketches or signs were recorded

  double relative() const;  // of the norms
};

struct ParameterGradients {
  std::string run;  // of the migrated side
  std::vector<GradientPair> pairs;
  std::vector<std::string> only_baseline, only_migrated;  // names without a partner
  std::vector<std::string> evidence;
  double a_squares = 0, b_squares = 0;  // of all pairs
};

// One entry a migrated run that has them; empty where a side has none.
std::vector<ParameterGradients> PairGradients(const CheckContext& context);

// What first-step.gradients.gradients says of them. True: they were compared, and every one agrees.
bool JudgeParameterGradients(const CheckContext& context, v1::CheckResult& result);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_GRADIENTS_H_
