// baseline.mixed-precision.repeat: do at least three mixed-precision baseline runs agree?
// Source: pre-tuning checklist, 参考基准：正确使能混合精度训练.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/scaler.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kBaseline}};

// A run in fp32 is no repeat of a mixed-precision run; of which type nothing is known cannot be counted.
bool IsMixed(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  const ScalerFacts facts = ScalerOf(context, run);
  if (facts.dtype == "float16" || facts.dtype == "bfloat16") return true;
  if (facts.dtype.empty() && facts.kind == ScalerKind::kDynamic) return true;  // only fp16 has a scaler
  AddMissing(context, result, facts.dtype.empty() ? "compute_type_unknown" : "run_in_fp32", run.name,
             {{"run", run.name}});
  return false;
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kBaseline);
  if (runs.empty()) return;
  FinishedRuns mixed = Finished(context.profile, runs);
  std::vector<const RunSeries*> finished;
  for (const RunSeries* run : mixed.finished) {
    if (IsMixed(context, result, *run)) finished.push_back(run);
  }
  // Runs that are there and of which it is not known that they are mixed are not trained again for that.
  const bool some_left = finished.size() < mixed.finished.size();
  mixed.finished = finished;
  if (!RequireRepeats(context, result, mixed, some_left ? "too_few_runs/mixed" : "too_few_runs")) return;
  CompareFinals(context, result, mixed.finished);
  CompareRepeatCurves(context, result, mixed.finished, &GuardOf);
}

}  // namespace

extern const Check kMixedPrecisionRepeat;
const Check kMixedPrecisionRepeat = {"baseline.mixed-precision.repeat", kNeeds, &Evaluate};

}  // namespace paritect
