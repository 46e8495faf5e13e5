// Validation metrics that logs print under names of their own (eval_f1, val/mAP50, coco/bbox_mAP, val_wer), beside the
// accuracy and the validation loss that every log has.
#ifndef PARITECT_CHECKS_SERIES_VALIDATION_METRICS_H_
#define PARITECT_CHECKS_SERIES_VALIDATION_METRICS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checks/check.h"
#include "checks/series/run_series.h"
#include "rules/metrics.h"

namespace paritect {

// Compares the last values of all such metrics that both runs print; worse than the margin is an error of `message_id`
// (losses: a warning, their parts vary).
struct MetricsCompared {
  int compared = 0;
  int within = 0;  // the margin, or better
};
MetricsCompared CompareValidationMetrics(const CheckContext& context, v1::CheckResult& result,
                                         const std::vector<const RunSeries*>& baseline,
                                         const std::vector<const RunSeries*>& migrated, absl::string_view message_id);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_VALIDATION_METRICS_H_
