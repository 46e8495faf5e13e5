// migrated.loss-scale.skipped-step: is the update left out on a step that overflowed?
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/overflow.h"
#include "checks/scaler.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kMigrated}};

void CheckCount(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                const OverflowCount& count) {
  MessageArgs args = {{"run", run.name},
                      {"count", absl::StrCat(count.applied)},
                      {"skipped", absl::StrCat(count.skipped)},
                      {"steps", absl::StrCat(count.steps)}};
  if (count.applied > 0) {
    v1::Finding& finding = AddError(context, result, "overflow_applied", run.name, args);
    SetFact(finding, "count", count.applied);
    for (const std::string& where : count.applied_evidence) finding.add_evidence(where);
  } else if (count.steps == 0 && count.skipped == 0) {
    AddMissing(context, result, "no_steps_in_log", run.name, args);
  } else if (!count.reported || count.unreported > 0) {
    AddMissing(context, result, "overflow_not_reported", run.name, args);
  } else {
    // The framework's own word: its counter counts updates that were left out.
    v1::Finding& note = AddNote(context, result, "measured/skipped", run.name, args);
    SetFact(note, "skipped", count.skipped);
    SetFact(note, "steps", count.steps);
    for (const std::string& where : count.evidence) note.add_evidence(where);
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const RunSeries& run : SeriesOf(context.evidence, Side::kMigrated)) {
    if (run.logs.empty()) continue;
    if (NoScalerNeeded(context, result, run, ScalerOf(context, run))) continue;
    const std::vector<OverflowCount> counts = CountOverflows(run);
    if (counts.empty()) AddMissing(context, result, "no_steps_in_log", run.name, {{"run", run.name}});
    for (const OverflowCount& count : counts) CheckCount(context, result, run, count);
  }
}

}  // namespace

extern const Check kLossScaleSkippedStep;
const Check kLossScaleSkippedStep = {"migrated.loss-scale.skipped-step", kNeeds, &Evaluate};

}  // namespace paritect
