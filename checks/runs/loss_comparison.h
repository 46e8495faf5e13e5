// The migrated loss curves against the baseline's: what training.flow.loss-curve reports and what the
// scenario of the convergence item is read from.
#ifndef PARITECT_CHECKS_RUNS_LOSS_COMPARISON_H_
#define PARITECT_CHECKS_RUNS_LOSS_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/runs/run_pairs.h"
#include "checks/runs/step_axis.h"
#include "checks/series/curve_figures.h"
#include "checks/series/curves.h"

namespace paritect {

struct LossComparison {
  const RunSeries* baseline = nullptr;
  const RunSeries* migrated = nullptr;
  std::string baseline_name;  // "gpu-1", or "mean of gpu-1, gpu-2, gpu-3"
  std::string subject;        // migrated run, with its engine
  CurveLimits limits;         // those that counted
  bool widened = false;
  StepAxis axis;           // steps of the figures are the baseline's
  bool too_short = false;  // below common_steps_min or coverage_min
  CurveComparison figures;
  std::optional<Interval> bias;  // that holds the signed mean relative difference with 95 %
  // Of curves that are not told different: steps at which they lie apart all the same.
  std::optional<Stretch> stretch;
  // Steps at which a loss jumps up and comes back (checks/numbers/statistics.h, Spikes), over the common steps.
  std::vector<std::int64_t> spikes_of_baseline;
  std::vector<std::int64_t> spikes_of_migrated;
  // The first divergent step's (else the first common step's) values and where they stand.
  std::int64_t shown_step = 0;
  double baseline_value = 0;
  double migrated_value = 0;
  std::string baseline_where;
  std::string migrated_where;
  // What was compared, on the axis (TellBaselineStep gives steps). `aligned` points into `curve`: move, do not copy.
  Curve against;
  Curve curve;
  AlignedCurves aligned;
  std::optional<bool> same_order;
  // Where one side prints a running mean: the window that fits, and whose side it is.
  std::optional<int> running_mean;
  bool running_mean_of_migrated = false;
};

// Every comparable migrated run against the reference run, or against the mean of the baseline's runs
// where several of equal length agree; their own spread widens the limits. What cannot be compared is
// reported under `missing` of `result`.
std::vector<LossComparison> CompareLosses(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs);

// The same for these migrated runs, finished or not.
std::vector<LossComparison> CompareLosses(const CheckContext& context, v1::CheckResult& result, const RunPairs& pairs,
                                          const std::vector<const RunSeries*>& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_LOSS_COMPARISON_H_
