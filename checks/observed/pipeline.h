// The input pipeline of a training as it was observed: loader, sampler, transforms, workers and first batches of two
// sides; and faults that endanger precision whatever the other side does.
#ifndef PARITECT_CHECKS_OBSERVED_PIPELINE_H_
#define PARITECT_CHECKS_OBSERVED_PIPELINE_H_

#include "checks/check.h"
#include "checks/observed/observed_run.h"

namespace paritect {

enum class ObservedAnswer {
  kUnseen,  // a side was not observed, or no data loader was seen in it
  kOpen,    // something is not known, said under `missing`
  kJudged,
};

// Compares one part of data.preprocessing ("shuffle") of what feeds the training. `message`, `severity`: of a
// difference.
ObservedAnswer CompareObservedPipelines(const CheckContext& context, v1::CheckResult& result, absl::string_view part,
                                        absl::string_view message, v1::Severity severity, const RunView& baseline,
                                        const RunView& migrated);

// Workers that begin with one random state: what one of them draws, all draw.
void JudgeWorkerStates(const CheckContext& context, v1::CheckResult& result, const RunView& run);

// A sampler that shuffles and deals the same order in each pass: nobody told it the epoch.
void JudgeRepeatedOrder(const CheckContext& context, v1::CheckResult& result, const RunView& run);
// A sampler of the user's own may mean one order for all passes: not where the other side's mixes anew.
void CompareRepeatedOrders(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                           const RunView& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_OBSERVED_PIPELINE_H_
