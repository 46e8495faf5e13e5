// Quantities beside accuracy and loss that tell what a model is worth, by the names under which programs print them.
// Logs are read and runs are compared by the same table.
#ifndef PARITECT_COMMON_EVALUATION_METRIC_H_
#define PARITECT_COMMON_EVALUATION_METRIC_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

struct EvaluationMetric {
  absl::string_view name;  // "map": as below, without the words of a data set or of an evaluation
  bool higher_is_better = true;
  // A share: of 1, or in points of per cent. Else a quantity of its own, compared relatively.
  bool is_share = true;
  int rank = 0;  // of several that are printed the lowest is compared
};

// "coco/bbox_mAP", "val_mIoU", "eval/bleu-4", "test_perplexity"; nullptr: not known. Lives for ever.
const EvaluationMetric* FindEvaluationMetric(absl::string_view key);

// The key in small letters, '-', ' ', '/' and '.' as '_': "Train Loss", "train/loss" and "train_loss" are one.
std::string NormalMetricKey(absl::string_view key);

// Takes the words of an evaluation off a normal key ("val_", "_test"); whether there were any.
bool StripEvaluationWords(absl::string_view& normal_key);

}  // namespace paritect

#endif  // PARITECT_COMMON_EVALUATION_METRIC_H_
