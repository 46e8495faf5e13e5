// baseline.mixed-precision.loss-scale: with fp16, is a loss scaler on?
// Source: pre-tuning checklist, 参考基准：正确使能混合精度训练.
#include "checks/check.h"
#include "checks/runs/scaler_checks.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  EvaluateScalerIsOn(context, result, Side::kBaseline, /*warn_static=*/true);
}

}  // namespace

extern const Check kMixedPrecisionLossScale;
const Check kMixedPrecisionLossScale = {"baseline.mixed-precision.loss-scale", {}, &Evaluate};

}  // namespace paritect
