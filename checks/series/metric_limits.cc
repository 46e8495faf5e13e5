#include "checks/series/metric_limits.h"

namespace paritect {

bool IsComputed(absl::string_view metric) {
  return metric == "lr" || metric == "samples" || metric == "loss_scale";
}

CurveLimits LimitsOfMetric(const Profile& profile, absl::string_view metric) {
  CurveLimits limits = LimitsOf(profile);
  if (metric == "loss" || metric == "eval_loss") return limits;
  limits.mean_absolute = 0;
  if (metric == "grad_norm") {
    const double limit = profile.threshold("gradient_norm_relative_error");
    limits.mean_relative_pass = limits.mean_relative = limits.smoothed_relative = limits.tail_relative = limit;
  } else if (IsComputed(metric)) {
    limits.mean_relative_pass = limits.mean_relative = limits.smoothed_relative = limits.tail_relative =
        profile.threshold("printed_setting_difference");
  }
  return limits;
}

}  // namespace paritect
