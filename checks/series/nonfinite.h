// Losses that are no losses: NaN, infinity, exact zeros after real ones, a loss missing from lines that
// carry the other values. Each is a finding without the other side.
//
// Frameworks hide NaN: Megatron leaves the loss out of the line when its mean is NaN, Hugging Face prints
// 0.0 beside a NaN gradient norm. A value on a step that was skipped because of an overflow is what the
// loss scaler is for and does not count here (it counts in the overflow rate).
#ifndef PARITECT_CHECKS_SERIES_NONFINITE_H_
#define PARITECT_CHECKS_SERIES_NONFINITE_H_

#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

struct NonFinite {
  bool training = false;    // losses or gradient norms
  bool validation = false;  // validation losses or accuracies
  bool any() const { return training || validation; }
};

// Adds nan_loss, nan_suspected, loss_missing, nan_grad_norm for one run; says what of it was an error. Where some ranks
// print such values and others do not, these ranks are named.
NonFinite FindNonFinite(const CheckContext& context, v1::CheckResult& result, const RunSeries& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_NONFINITE_H_
