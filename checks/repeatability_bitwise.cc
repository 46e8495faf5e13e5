// baseline.repeatability.bitwise (a note): are the finished runs identical to the last printed digit?
// Identical runs show that the baseline is deterministic; they also mean that its spread cannot be known.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kBaseline}};
constexpr Metric kCompared[] = {Metric::kLoss, Metric::kAccuracy, Metric::kEvalLoss, Metric::kGradNorm};

bool Identical(const Curve& a, const Curve& b) {
  return std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const CurvePoint& x, const CurvePoint& y) { return x.step == y.step && x.value == y.value; });
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries> runs = SeriesOf(context.evidence, Side::kBaseline);
  const FinishedRuns finished = Finished(context.profile, runs);
  if (runs.empty()) return;
  if (finished.finished.size() < 2) {
    AddMissing(context, result, "too_few_runs", SideName(Side::kBaseline),
               {{"needed", "2"}, {"finished", absl::StrCat(finished.finished.size())}});
    return;
  }
  std::int64_t values = 0;
  for (const Metric metric : kCompared) {
    const CurveSet first = finished.finished[0]->Curves(metric);
    for (std::size_t i = 1; i < finished.finished.size(); ++i) {
      const CurveSet other = finished.finished[i]->Curves(metric);
      if (!first.problems.empty() || !other.problems.empty() || first.curves.size() != other.curves.size()) return;
      for (std::size_t c = 0; c < first.curves.size(); ++c) {
        if (!Identical(first.curves[c], other.curves[c])) return;
        values += static_cast<std::int64_t>(first.curves[c].points.size());
      }
    }
  }
  if (values == 0) {
    AddMissing(context, result, "metric_not_printed", finished.finished[0]->name,
               {{"run", finished.finished[0]->name}, {"metric", "loss, accuracy"}});
    return;
  }
  v1::Finding& note = AddNote(context, result, "identical_runs", "",
                              {{"runs", JoinNames(finished.finished)}, {"values", absl::StrCat(values)}});
  SetFact(note, "runs", static_cast<std::int64_t>(finished.finished.size()));
  SetFact(note, "values_compared", values);
}

}  // namespace

extern const Check kRepeatabilityBitwise;
const Check kRepeatabilityBitwise = {"baseline.repeatability.bitwise", kNeeds, &Evaluate};

}  // namespace paritect
