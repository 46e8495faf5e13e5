// baseline.mixed-precision.overflow-rate: are few enough baseline steps skipped?
// Source: pre-tuning checklist, 参考基准：正确使能混合精度训练; the rule stands in overflow_rate.cc.
#include "checks/check.h"
#include "checks/series/overflow.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kBaseline}};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  EvaluateOverflowRate(context, result, Side::kBaseline);
}

}  // namespace

extern const Check kMixedPrecisionOverflowRate;
const Check kMixedPrecisionOverflowRate = {"baseline.mixed-precision.overflow-rate", kNeeds, &Evaluate};

}  // namespace paritect
