// baseline.repeatability.runs: are there at least three finished baseline runs?
// Source: pre-tuning checklist, 多次训练验证精度一致. Finished is what the log itself says.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kBaseline}};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kBaseline);
  if (runs.empty()) return;
  const FinishedRuns finished = Finished(context.profile, runs);
  RequireRepeats(context, result, finished);
  v1::Finding& note = AddNote(context, result, "measured/runs", "",
                              {{"runs", absl::StrCat(runs.size())},
                               {"finished", absl::StrCat(finished.finished.size())},
                               {"names", JoinNames(finished.finished)}});
  SetFact(note, "runs", static_cast<std::int64_t>(runs.size()));
  SetFact(note, "finished", static_cast<std::int64_t>(finished.finished.size()));
  for (const RunSeries* run : finished.finished) note.add_evidence(run->ending.where);
  if (finished.by_length) AddNote(context, result, "finished_by_length", "");
}

}  // namespace

extern const Check kRepeatabilityRuns;
const Check kRepeatabilityRuns = {"baseline.repeatability.runs", kNeeds, &Evaluate};

}  // namespace paritect
