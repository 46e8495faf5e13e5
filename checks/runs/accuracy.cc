// training.flow.accuracy: is the migrated runs' final validation metric within the margin of the baseline's, or better?
// Source: pre-tuning checklist, 训练流程：与基准一致; margins: docs/thresholds.md.
#include "checks/check.h"
#include "checks/runs/run_pairs.h"
#include "checks/series/finals.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG}};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const RunPairs pairs(context);
  for (const Side side : kBothSides) pairs.RequireFinished(context, result, side);
  const std::vector<const RunSeries*> baseline = pairs.Comparable(Side::kBaseline);
  const std::vector<const RunSeries*> migrated = pairs.Comparable(Side::kMigrated);
  if (baseline.empty() || migrated.empty()) return;
  CompareEvaluations(context, result, baseline, migrated, "accuracy_differs");
}

}  // namespace

extern const Check kFlowAccuracy;
const Check kFlowAccuracy = {"training.flow.accuracy", kNeeds, &Evaluate};

}  // namespace paritect
