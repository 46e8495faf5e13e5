// Lines that tell what an evaluation gave and name no training step, as scripts of all frameworks print them:
//   Epoch 4 val_accuracy: 0.76                             * Acc@1 76.130 Acc@5 92.862
//   Test set: Average loss: 0.0264, Accuracy: 9912/10000 (99%)      {'Accuracy': 0.98}      验证准确率: 97.5%
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_LINES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_LINES_H_

#include "formats/logs/log_format.h"

namespace paritect {

// Whether the line holds a word of a metric at all: a cheap look before the others.
bool MayEvaluate(absl::string_view line);

// "Eval step 100: loss 2.1", "[validation] epoch 3 loss 2.1", "Test set: ...": the word stands by itself before the
// values.
bool IsEvaluationLine(absl::string_view line);

// Reads one such line; false where it is none.
bool ReadEvaluationLine(const LogLine& line, RunLogBuilder& out);

// A line an epoch: "Epoch 4/10 - loss: 0.5 - val_loss: 0.6". Whether it is one, and reading it.
bool IsEpochLine(absl::string_view line);
bool ReadEpochLine(const LogLine& line, RunLogBuilder& out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_LINES_H_
