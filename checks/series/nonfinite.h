// Losses that are no losses: NaN, infinity, exact zeros after real ones, a loss missing from lines that
// carry the other values. Each is a finding without the other side.
//
// Frameworks hide NaN: Megatron leaves the loss out of the line when its mean is NaN, Hugging Face prints
// 0.0 beside a NaN gradient norm. A value on a step that was skipped because of an overflow is what the
// loss scaler is for and does not count here (it counts in the overflow rate).
//
// A gradient norm that is no number is innocent only where the update of its step was left out
// (left_out.h). Where the records do not tell, it depends on whether anything could leave it out.
#ifndef PARITECT_CHECKS_SERIES_NONFINITE_H_
#define PARITECT_CHECKS_SERIES_NONFINITE_H_

#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

// What can leave out the update of a step whose gradients are no number.
enum class UpdateGuard {
  kUnknown,  // neither the compute type nor a scaler is known
  kNothing,  // bf16 or fp32 compute, or a scaler that is off
  kScaler,
};

// Asked only where a run prints such norms: to find out takes its settings and its whole log.
using GuardOfRun = UpdateGuard (*)(const CheckContext&, const RunSeries&);

struct NonFinite {
  bool training = false;    // losses or gradient norms
  bool validation = false;  // validation losses or accuracies
  bool any() const { return training || validation; }
};

// Adds nan_loss, nan_suspected, loss_missing, nan_grad_norm for one run; says what of it was an error. Where some ranks
// print such values and others do not, these ranks are named. A norm of which neither the records nor the guard tells
// whether it reached the weights is a warning and stands under `missing`; more of them, three at least, than steps may
// be skipped are an error.
NonFinite FindNonFinite(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                        GuardOfRun guard_of);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_NONFINITE_H_
