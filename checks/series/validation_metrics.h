// Validation metrics that logs print under names of their own (eval_f1, val/mAP50, coco/bbox_mAP, val_wer), beside the
// accuracy and the validation loss that every log has.
#ifndef PARITECT_CHECKS_SERIES_VALIDATION_METRICS_H_
#define PARITECT_CHECKS_SERIES_VALIDATION_METRICS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

struct MetricSense {
  bool higher_is_better = true;
  bool points = true;  // a share (of 1 or of 100): the margin is in points; else relative
  bool is_loss = false;
};

// What the name says of a validation metric: by the words that name an evaluation (eval, val, valid, test, metrics,
// coco, bbox, segm) and the metric (acc, f1, map, bleu, wer, ppl, loss ...). nullopt: no validation metric, or of
// unknown sense.
std::optional<MetricSense> SenseOf(absl::string_view name);

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
