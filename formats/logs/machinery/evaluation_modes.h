// Lines that tell of one evaluation which weights were evaluated, or in which mode the model was:
//   [val] checkpoint=ckpt_0040 mode=train top1=59.244      Evaluating out/epoch_1.pt (model.training=True): acc = 56.7
//   {"event": "eval", "ckpt": "step-500", "mode": "eval", "top1": 62.0}      验证 ckpt_0040 （训练模式） 准确率: 59.2%
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_MODES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_MODES_H_

#include <map>
#include <string>
#include <vector>

#include "formats/logs/log_format.h"

namespace paritect {

struct EvaluationTold {
  enum class Mode { kUnknown, kEvaluation, kTraining };
  Mode mode = Mode::kUnknown;
  std::string checkpoint;  // as printed; empty where the line names none
  std::string about;       // the result's name and what stands beside it: equal where two results are of one thing
  double value = 0;
};

// What the line tells; several where it gives several results, none where it is no such line.
std::vector<EvaluationTold> EvaluationsTold(absl::string_view line);

// Notes what such lines tell, for the checks (checks/runs/evaluation.cc); the lines are read by others as well.
//   evaluated_in_training_mode, evaluated_in_evaluation_mode   the mode that a line names
//   evaluation_not_repeated                                    one checkpoint, two results
class EvaluationNotes {
 public:
  void Take(const LogLine& line, RunLogBuilder& out);

 private:
  struct Seen {
    double value = 0;
    std::int64_t line = 0;
    std::size_t losses = 0;  // told before it
  };
  void CountLosses(RunLogBuilder& out);

  std::size_t looked_at_ = 0;         // records
  std::size_t losses_ = 0;            // of a training, among them
  std::map<std::string, Seen> seen_;  // by checkpoint, what it is of, and rank
};

// Whether a log that holds nothing else is recognised by the line: it names weights and a result.
bool NamesEvaluatedWeights(absl::string_view line);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_EVALUATION_MODES_H_
