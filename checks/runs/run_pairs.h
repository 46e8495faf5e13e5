// Which runs of the two sides are compared: every finished migrated run with the reference run, the first
// finished baseline run in the order given.
#ifndef PARITECT_CHECKS_RUNS_RUN_PAIRS_H_
#define PARITECT_CHECKS_RUNS_RUN_PAIRS_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

// Owns the series of both sides; the pointers below point into it. Neither copied nor moved.
class RunPairs {
 public:
  explicit RunPairs(const CheckContext& context);
  RunPairs(const RunPairs&) = delete;
  RunPairs& operator=(const RunPairs&) = delete;

  const std::vector<RunSeries>& runs(Side side) const { return side == Side::kBaseline ? baseline_ : migrated_; }
  const FinishedRuns& finished(Side side) const { return side == Side::kBaseline ? finished_[0] : finished_[1]; }

  // Runs that a check compares: the finished ones; where a side has none, those that have a log at all.
  std::vector<const RunSeries*> Comparable(Side side) const;
  // nullptr where the baseline has no log.
  const RunSeries* reference() const;

  // Where a side has no finished run, says so under `missing` for each run, so that what was compared
  // cannot pass; notes the runs that were left out otherwise.
  void RequireFinished(const CheckContext& context, v1::CheckResult& result, Side side) const;

 private:
  // A migrated run that broke off after the reference run's last step has all that is compared.
  bool GoesAsFar(const CheckContext& context, const RunSeries& run) const;

  void RequireOther(const CheckContext& context, v1::CheckResult& result) const;
  void RequireAsFar(const CheckContext& context, v1::CheckResult& result) const;

  const std::vector<RunSeries>& baseline_;
  const std::vector<RunSeries>& migrated_;
  FinishedRuns finished_[2];
};

// The two curves of one metric and engine. `problem`: said under `missing` already.
struct CurvePair {
  Curve baseline;  // finite values
  Curve migrated;
};

// How much of a curve a check rests on: how far each rank's log goes is nothing to the first step. Ranks of a training
// that runs are read one after the other, so that one is always a step behind.
enum class CurveSpan { kWhole, kFirstStep };

// Curves of `metric` that both runs print, engine by engine, brought to the same ranks; what lacks is reported under
// `missing`.
std::vector<CurvePair> PairCurves(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                                  const RunSeries& migrated, Metric metric, CurveSpan span = CurveSpan::kWhole);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_RUN_PAIRS_H_
