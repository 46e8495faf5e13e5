// How a training behaved, as it was observed: modes of its forwards, gradients that were cleared, weights that were
// loaded, ranks that exchanged gradients, schedules. Faults of one side, whatever the other does, but where two are
// named.
#ifndef PARITECT_CHECKS_OBSERVED_CONDUCT_H_
#define PARITECT_CHECKS_OBSERVED_CONDUCT_H_

#include "checks/check.h"
#include "checks/observed/observed_run.h"

namespace paritect {

// Dropout and batch statistics that are frozen from the start are meant so where both sides have them so; where one
// side trains with them and the other never does, that is a difference.
void CompareObservedTrainingModes(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                                  const RunView& migrated);

// Averages and teachers of the trained model, which run without gradients: with dropout and batch statistics at work on
// one side and without on the other.
void CompareObservedCopies(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                           const RunView& migrated);

// Validation in training mode, dropout that stays on in it, a training that goes on in evaluation mode. True: forwards
// of evaluation were seen in every process that has any, and nothing is missing from the records.
bool JudgeObservedModes(const CheckContext& context, v1::CheckResult& result, Side side, const RunView& run);
// Whether both runs evaluate as many rows. False: not known.
bool CompareObservedEvaluations(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                                const RunView& migrated);

// Gradients of the last step that the next backward still found.
void JudgeObservedGradients(const CheckContext& context, v1::CheckResult& result, const RunView& run);

// A state dict that did not get into the model.
void JudgeObservedLoads(const CheckContext& context, v1::CheckResult& result, const RunView& run);

// Whether ranks exchange anything between their steps. True: this run's question is settled by it (one process).
bool JudgeObservedExchange(const CheckContext& context, v1::CheckResult& result, const RunView& run);

// Whether the run is one process by the observer's record.
bool IsOneProcess(const CheckContext& context, const RunView& run);

// A schedule that goes on more than once an update: an error where the other side's does not.
void CompareObservedSchedules(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                              const RunView& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_OBSERVED_CONDUCT_H_
