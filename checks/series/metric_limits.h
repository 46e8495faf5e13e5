// Limits of two curves of one metric against each other.
#ifndef PARITECT_CHECKS_SERIES_METRIC_LIMITS_H_
#define PARITECT_CHECKS_SERIES_METRIC_LIMITS_H_

#include "absl/strings/string_view.h"
#include "checks/series/curves.h"

namespace paritect {

// Those of the loss, wider for gradient norms, and next to none for what a schedule computes.
CurveLimits LimitsOfMetric(const Profile& profile, absl::string_view metric);

// Whether a schedule or a counter gives the metric: equal step by step, or not equal.
bool IsComputed(absl::string_view metric);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_METRIC_LIMITS_H_
