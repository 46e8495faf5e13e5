// Lines that tell of one evaluation which weights were evaluated, or in which mode the model was:
//   [val] checkpoint=ckpt_0040 mode=train top1=59.244      Evaluating out/epoch_1.pt (model.training=True): acc = 56.7
//   {"event": "eval", "ckpt": "step-500", "mode": "eval", "top1": 62.0}      验证 ckpt_0040 （训练模式） 准确率: 59.2%
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_MODES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_MODES_H_

#include "formats/logs/log_format.h"

namespace paritect {

// What the line tells; several where it gives several results, none where it is no such line.
std::vector<v1::EvaluationTold> EvaluationsTold(absl::string_view line);

// Hands what the line tells over; it is read by others as well.
void TakeEvaluationsTold(const LogLine& line, RunLogBuilder& out);

// Whether a log that holds nothing else is recognised by the line: it names weights and a result.
bool NamesEvaluatedWeights(absl::string_view line);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_MODES_H_
