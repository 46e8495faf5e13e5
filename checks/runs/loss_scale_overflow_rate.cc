// migrated.loss-scale.overflow-rate: are few enough migrated steps skipped?
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale; the rule stands in overflow_rate.cc.
#include "checks/check.h"
#include "checks/series/overflow.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kMigrated}};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  EvaluateOverflowRate(context, result, Side::kMigrated);
}

}  // namespace

extern const Check kLossScaleOverflowRate;
const Check kLossScaleOverflowRate = {"migrated.loss-scale.overflow-rate", kNeeds, &Evaluate};

}  // namespace paritect
