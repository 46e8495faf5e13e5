// What a key of a log line means. One table for every reader, so that `train/loss` is the same in a CSV, in
// JSON Lines and in TensorBoard.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_LOG_KEYS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_LOG_KEYS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "formats/logs/machinery/step_values.h"

namespace paritect {

enum class LogField {
  kOther,
  kStep,
  kBatch,  // counts steps where nothing else does
  kTotalSteps,
  kEpoch,
  kSamples,
  kRank,
  kTotalLoss,  // training losses, the surest first: of several on a line the first of this order counts
  kLmLoss,
  kTrainLoss,
  kLoss,
  kMeanLoss,
  kOtherLoss,  // ends in "loss", meaning not known: a part of a sum, perhaps
  kLossTerm,   // holds the word ("loss_bbox"): a part of a sum, kept by its name
  kEvalLoss,
  kLr,
  kGradNorm,
  kGradNormPart,  // of a dictionary of norms, one a group of parameters
  kSkippedTotal,  // skipped steps since the run began
  kLossScale,
  kAccuracy,
  kMetric,  // another result of an evaluation (rules/metrics.h), kept by its name
  kOverflow,
};

// What is known of a key, by the key as written.
struct LogKey {
  LogField field = LogField::kOther;
  bool evaluation = false;              // named after an evaluation: "val_acc"
  int eval_order = 1;                   // of several results of an evaluation the lowest counts: 0 a total, 1 a
                                        // validation's, 2 a test's, 3 a loss of unknown meaning, a part perhaps
  bool derived = false;                 // "lr-AdamW", "lr/pg0", "optim/total_grad_norm": where nothing plainer stands
  bool global_step = false;             // a step of the whole run: beats a plain "step" on the same line
  bool summed = false;                  // a term of a loss that is the sum of such ("train/box_loss")
  bool loss_of_something_else = false;  // "packet loss 3 %"
  MetricName name;
};

// A log has few keys and names them on every line: they are remembered. The reference stands until the next call on
// this thread.
const LogKey& LookUpLogKey(absl::string_view key);

// By the key as written: case, '-', ' ', '/' and '.' do not matter ("train/loss" = "Train Loss" = "train_loss").
LogField ClassifyLogKey(absl::string_view key);

// Whether a row's field says that the row is of an evaluation: "split": "val", "phase": "eval".
bool NamesEvaluation(absl::string_view key, absl::string_view value);

inline bool IsTrainingLoss(LogField field) {
  return field >= LogField::kTotalLoss && field <= LogField::kMeanLoss;
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_LOG_KEYS_H_
