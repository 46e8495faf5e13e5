// Do several runs of one configuration agree: final metrics and loss curves. Shared by
// baseline.repeatability, baseline.mixed-precision.repeat and .fp32-parity.
#ifndef PARITECT_CHECKS_SERIES_REPEATS_H_
#define PARITECT_CHECKS_SERIES_REPEATS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/series/nonfinite.h"
#include "checks/series/run_series.h"

namespace paritect {

// Final metrics of several runs in one unit.
struct FinalMetrics {
  std::string metric;     // FinalMetric::name
  bool is_share = false;  // compared in points
  bool higher_is_better = false;
  bool of_quality = false;
  bool fractions = false;  // all values are printed as fractions of 1
  std::vector<const RunSeries*> runs;
  std::vector<double> values;  // as printed; in points where the logs mix units
  std::vector<std::string> where;
  std::vector<std::optional<std::int64_t>> steps;  // of each value's evaluation, where the log tells it
  std::vector<const RunSeries*> without;           // runs that do not print the metric
  struct Unusable {
    const RunSeries* run;
    FinalMetric metric;  // not finite, or not of the last evaluation
  };
  std::vector<Unusable> unusable;

  // The margin of the profile in the unit of `values`: accuracy_points of a share, else metric_relative_error of
  // `mean`.
  double Margin(const Profile& profile, double mean) const;
};

// The metric that the runs are compared by: the best that all of them print. Where they have no measure of quality in
// common and some run prints one, that one: a validation loss does not stand for an accuracy that is missing. "": none.
std::string CommonMetric(const std::vector<const RunSeries*>& runs);

FinalMetrics FinalsOf(const std::vector<const RunSeries*>& runs, absl::string_view metric);

// Reports runs that do not count and, under `missing`, that fewer than repeat_runs are finished.
// True when there are at least two finished runs to compare.
// `too_few`: the message that says so.
bool RequireRepeats(const CheckContext& context, v1::CheckResult& result, const FinishedRuns& runs,
                    absl::string_view too_few = "too_few_runs");

// Tells of the runs that give no final metric: under `missing`, and as an error of `severity` where the last evaluation
// gave no number.
void ReportWithoutFinal(const CheckContext& context, v1::CheckResult& result, const FinalMetrics& finals);

// Coefficient of variation and range of the final metrics; the odd one out is named.
void CompareFinals(const CheckContext& context, v1::CheckResult& result, const std::vector<const RunSeries*>& runs);

// Every run's loss curve against the pointwise median of all.
void CompareRepeatCurves(const CheckContext& context, v1::CheckResult& result,
                         const std::vector<const RunSeries*>& runs, GuardOfRun guard_of);

// Values as text for messages: "76.1, 76.0, 76.2".
std::string JoinNumbers(const std::vector<double>& values);
std::string JoinNames(const std::vector<const RunSeries*>& runs);

// Up to six significant digits: for texts; facts carry the full value.
std::string Short(double value);
// "0.52 %".
std::string Percent(double fraction);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_REPEATS_H_
