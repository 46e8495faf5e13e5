// Whether two tensors of random values are drawn from one law.
// Sources: two-sample Kolmogorov-Smirnov test (Smirnov, 1948); its limits and what they were measured on:
// docs/thresholds.md.
#ifndef PARITECT_CHECKS_WEIGHTS_LAW_H_
#define PARITECT_CHECKS_WEIGHTS_LAW_H_

#include <optional>
#include <string>

#include "checks/weights/matching.h"
#include "rules/profile.h"

namespace paritect {

struct LawComparison {
  bool same = true;
  bool constants = false;  // one value each: compared as such
  bool outlier = false;    // one law but for values far outside it
  std::string moment;      // which is off though the distance is not: "mean", ...; empty: none
  double distance = 0;     // largest difference of the distribution functions
  double limit = 0;
};

// Of the pair's parts together. nullopt: a histogram is missing.
std::optional<LawComparison> CompareLaws(const Profile& profile, const TensorPair& pair);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_LAW_H_
