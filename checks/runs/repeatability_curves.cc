// baseline.repeatability.curves: do the loss curves of the finished baseline runs agree?
// Source: pre-tuning checklist, 多次训练验证精度一致; limits: docs/thresholds.md.
#include "checks/check.h"
#include "checks/runs/scaler.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kBaseline}};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kBaseline);
  if (runs.empty()) return;
  const FinishedRuns finished = Finished(context.profile, runs);
  if (RequireRepeats(context, result, finished)) CompareRepeatCurves(context, result, finished.finished, &GuardOf);
}

}  // namespace

extern const Check kRepeatabilityCurves;
const Check kRepeatabilityCurves = {"baseline.repeatability.curves", kNeeds, &Evaluate};

}  // namespace paritect
