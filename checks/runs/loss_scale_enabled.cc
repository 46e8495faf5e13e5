// migrated.loss-scale.enabled: with fp16, is a loss scaler on in the migrated run?
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale.
#include "checks/check.h"
#include "checks/runs/scaler_checks.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  EvaluateScalerIsOn(context, result, Side::kMigrated, /*warn_static=*/false);
}

}  // namespace

extern const Check kLossScaleEnabled;
const Check kLossScaleEnabled = {"migrated.loss-scale.enabled", {}, &Evaluate};

}  // namespace paritect
