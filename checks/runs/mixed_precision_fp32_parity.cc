// baseline.mixed-precision.fp32-parity: do an fp32 run and the mixed-precision run reach the same accuracy?
// Source: pre-tuning checklist, 参考基准：正确使能混合精度训练 (以 fp32 训练确认混合精度收敛).
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/series/finals.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& reference = SeriesOf(context, Side::kBaseline, v1::ROLE_FP32_REFERENCE);
  const std::vector<RunSeries>& mixed = SeriesOf(context, Side::kBaseline);
  if (reference.empty()) {
    AddMissing(context, result, "no_fp32_reference", SideName(Side::kBaseline));
    return;
  }
  const FinishedRuns a = Finished(context.profile, reference);
  const FinishedRuns b = Finished(context.profile, mixed);
  for (const FinishedRuns* runs : {&a, &b}) {
    if (!runs->finished.empty()) continue;
    for (const FinishedRuns::Left& left : runs->others) {
      AddMissing(context, result, left.message_id, left.run->name, left.args);
    }
    if (runs->others.empty()) RequireEvidence(context, result, Side::kBaseline, v1::EVIDENCE_KIND_RUN_LOG);
  }
  if (a.finished.empty() || b.finished.empty()) return;
  CompareFinalsOfTwo(context, result, a.finished, b.finished, "fp32_parity_missed");
}

}  // namespace

extern const Check kMixedPrecisionFp32Parity;
const Check kMixedPrecisionFp32Parity = {"baseline.mixed-precision.fp32-parity", {}, &Evaluate};

}  // namespace paritect
