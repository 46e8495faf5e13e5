// migrated.loss-scale.skipped-step: is the update left out on a step that overflowed?
// Source: pre-tuning checklist, 模型迁移：在NPU上正确使能Loss Scale.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/runs/scale_bound.h"
#include "checks/runs/scaler.h"
#include "checks/series/overflow.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kMigrated}};

// What shows that the updates were left out: the run's own count or word, its scaler that backed off each time, or a
// schedule that stood still. Flags of overflow alone say nothing of the update.
void CheckCount(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const OverflowCount& count,
                const ScalerFacts& facts) {
  const bool dynamic = facts.kind == ScalerKind::kDynamic;
  // A dynamic scale that is printed at every step tells of each overflow by falling; one that leaves room for none
  // between its lines tells that there was none.
  const bool reported =
      count.reported || (dynamic && count.scale_at_every_step) || MostSkippedByScale(count, facts) == 0;
  const std::int64_t implied = dynamic ? ImpliedByScale(count) : count.skipped;
  MessageArgs args = {{"run", run.name},
                      {"count", absl::StrCat(count.applied)},
                      {"skipped", absl::StrCat(count.skipped)},
                      {"reductions", absl::StrCat(count.reductions)},
                      {"told", absl::StrCat(count.told_steps)},
                      {"held", absl::StrCat(count.rate_held)},
                      {"moved", absl::StrCat(count.rate_moved)},
                      {"steps", absl::StrCat(count.steps)}};
  AddHole(context, result, run);
  if (count.applied > 0) {
    v1::Finding& finding = AddError(context, result, "overflow_applied", run.name, args);
    SetFact(finding, "count", count.applied);
    for (const std::string& where : count.applied_evidence) finding.add_evidence(where);
  } else if (count.rate_moved > count.rate_held) {
    v1::Finding& finding = AddError(context, result, "overflow_applied/schedule", run.name, args);
    SetFact(finding, "count", count.rate_moved);
    for (const std::string& where : count.evidence) finding.add_evidence(where);
  } else if (count.steps == 0 && count.skipped == 0) {
    AddMissing(context, result, "no_steps_in_log", run.name, args);
  } else if (!reported || count.unreported > 0) {
    AddMissing(context, result, "overflow_not_reported", run.name, args);
  } else if (implied > count.skipped || count.lines_beside_counter > 0) {
    AddMissing(context, result, "updates_not_counted", run.name, args);
  } else if (count.sampled && (!dynamic || count.scale_moves_unseen)) {
    AddMissing(context, result, "overflow_sampled", run.name, args);
  } else if (!count.counted && count.skipped > 0 && count.rate_held == 0 && count.reductions < count.skipped) {
    AddMissing(context, result, "update_not_shown", run.name, args);
  } else {
    v1::Finding& note = AddNote(context, result,
                                count.counted         ? "measured/skipped"
                                : count.rate_held > 0 ? "measured/skipped_held"
                                                      : "measured/skipped_backed_off",
                                run.name, args);
    SetFact(note, "skipped", count.skipped);
    SetFact(note, "steps", count.steps);
    if (count.rate_held > 0) SetFact(note, "schedule_held", count.rate_held);
    for (const std::string& where : count.evidence) note.add_evidence(where);
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const RunSeries& run : SeriesOf(context, Side::kMigrated)) {
    if (run.logs.empty()) continue;
    const ScalerFacts facts = ScalerOf(context, run);
    if (NoScalerNeeded(context, result, run, facts)) continue;
    const std::vector<OverflowCount> counts = CountOverflows(run);
    if (counts.empty()) AddMissing(context, result, "no_steps_in_log", run.name, {{"run", run.name}});
    for (const OverflowCount& count : counts) CheckCount(context, result, run, count, facts);
  }
}

}  // namespace

extern const Check kLossScaleSkippedStep;
const Check kLossScaleSkippedStep = {"migrated.loss-scale.skipped-step", kNeeds, &Evaluate};

}  // namespace paritect
