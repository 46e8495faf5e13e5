// What baseline.mixed-precision.loss-scale and migrated.loss-scale.enabled share.
#ifndef PARITECT_CHECKS_RUNS_SCALER_CHECKS_H_
#define PARITECT_CHECKS_RUNS_SCALER_CHECKS_H_

#include "checks/check.h"
#include "checks/runs/scaler.h"
#include "checks/series/run_series.h"

namespace paritect {

// fp16 without a scaler is an error; bf16 and fp32 need none; what is not known is missing. `warn_static`: a
// static scale is a warning here.
void EvaluateScalerIsOn(const CheckContext& context, v1::CheckResult& result, Side side, bool warn_static);

// Under `missing`: that the kind of the scaler is not known, and how to tell it.
void MissScaler(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts);

// The warning `static_loss_scale`, where the run's scale is static.
void WarnStatic(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const ScalerFacts& facts);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_SCALER_CHECKS_H_
