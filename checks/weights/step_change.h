// What one optimizer step did to a run's weights, and whether it was a step that had to change them.
#ifndef PARITECT_CHECKS_WEIGHTS_STEP_CHANGE_H_
#define PARITECT_CHECKS_WEIGHTS_STEP_CHANGE_H_

#include <optional>
#include <string>

#include "checks/weights/model_state.h"

namespace paritect {

// Innocent reasons for weights that stand still.
enum class StepGate { kOpen, kZeroRate, kSkipped };

struct StepChange {
  const RunCheckpoints* run = nullptr;
  std::int64_t from = 0;
  std::int64_t to = 0;
  ModelState before;
  ModelState after;
  StepGate gate = StepGate::kOpen;
  std::string gate_where;      // "train.log:12"
  std::optional<double> rate;  // of the optimizer in these steps, where a log, a file or a setting tells it
  std::string rate_where;

  bool one_step() const { return to == from + 1; }
};

// Between the first two states that the run recorded; nullopt with the reason under `missing`.
std::optional<StepChange> FirstChange(const CheckContext& context, v1::CheckResult& result, const RunCheckpoints& run);

enum class Movement {
  kMoved,
  kStill,
  kUnknown,  // no digests, or the tensor is not there before or after
};
Movement MovementOf(const StepChange& change, const ModelTensor& after);

// The sketch of the update; empty: none.
std::vector<double> UpdateSketch(const StepChange& change, const ModelTensor& after);
// |update| per element, estimated as the root of the mean square; nullopt: no sketch, or a small one.
std::optional<double> UpdateSize(const StepChange& change, const ModelTensor& after);

// Half the step between neighbouring values of the type, below the tensor's smallest value: a smaller update is lost
// when it is rounded. 0: a wide type, or values around 0.
double RoundingLimit(const v1::TensorFingerprint& tensor);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_STEP_CHANGE_H_
