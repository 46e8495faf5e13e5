// baseline.repeatability.bitwise (a note): are the finished runs identical to the last printed digit?
// Identical runs show that the baseline is deterministic; they also mean that its spread cannot be known.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_RUN_LOG, EvidenceNeed::Of::kBaseline}};
constexpr Metric kCompared[] = {Metric::kLoss, Metric::kAccuracy, Metric::kEvalLoss, Metric::kGradNorm};

// The first point that one curve has and the other has not, or has with another value; nullptr: none.
const CurvePoint* FirstDifference(const Curve& a, const Curve& b) {
  const auto [x, y] = std::mismatch(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                                    [](const CurvePoint& left, const CurvePoint& right) {
                                      return left.step == right.step && left.value == right.value;
                                    });
  if (y != b.points.end()) return &*y;
  return x != a.points.end() ? &*x : nullptr;
}

// Not a fault: few trainings are deterministic. But "pass" alone would read as "identical".
void NoteDifference(const CheckContext& context, v1::CheckResult& result, const RunSeries& first,
                    const RunSeries& other, Metric metric, const CurvePoint& point) {
  v1::Finding& note = AddNote(context, result, "not_identical", other.name,
                              {{"run", other.name},
                               {"first", first.name},
                               {"metric", std::string(MetricName(metric))},
                               {"step", absl::StrCat(point.step)}});
  SetFact(note, "first_different_step", point.step);
  note.add_evidence(point.where);
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunSeries>& runs = SeriesOf(context, Side::kBaseline);
  const FinishedRuns finished = Finished(context.profile, runs);
  if (runs.empty()) return;
  if (finished.finished.size() < 2) {
    AddMissing(context, result, "too_few_runs", SideName(Side::kBaseline),
               {{"needed", "2"}, {"finished", absl::StrCat(finished.finished.size())}});
    return;
  }
  std::int64_t values = 0;
  for (const Metric metric : kCompared) {
    const CurveSet& first = finished.finished[0]->Curves(metric);
    for (std::size_t i = 1; i < finished.finished.size(); ++i) {
      const CurveSet& other = finished.finished[i]->Curves(metric);
      AddProblems(context, result, first.problems);
      AddProblems(context, result, other.problems);
      if (result.missing_size() > 0) return;
      if (first.curves.size() != other.curves.size()) {
        AddMissing(context, result, "metric_not_printed", finished.finished[i]->name,
                   {{"run", finished.finished[i]->name}, {"metric", std::string(MetricName(metric))}});
        return;
      }
      for (std::size_t c = 0; c < first.curves.size(); ++c) {
        const CurvePoint* difference = FirstDifference(first.curves[c], other.curves[c]);
        if (difference != nullptr) {
          NoteDifference(context, result, *finished.finished[0], *finished.finished[i], metric, *difference);
          return;
        }
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
