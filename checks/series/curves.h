// Two loss curves against each other: alignment, the choice between step by step and smoothed, limits.
//
// Step by step ("paired") is only fair where both runs read the same data in the same order; two shuffles
// of one data set differ by 10 % and more at every step while they train equally well. Without recorded
// evidence of the order the curves themselves tell: the first differences of two runs over the same order
// move together (r 0.6 ... 1 on public pairs), those of two shuffles do not (r < 0.1).
// Rules, calibration, sources: docs/thresholds.md.
#ifndef PARITECT_CHECKS_SERIES_CURVES_H_
#define PARITECT_CHECKS_SERIES_CURVES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/series/run_series.h"
#include "rules/profile.h"

namespace paritect {

// Values of two curves at the same steps, all finite. a: baseline, b: migrated.
struct AlignedCurves {
  std::vector<std::int64_t> steps;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> rounding;         // half units of the last digits of both, added
  std::vector<const CurvePoint*> at_b;  // where b's value stands; borrowed from b
  double coverage = 0;                  // common steps / points of the shorter curve
  bool estimated = false;               // one side's values stand between its printed means
};

// Shared steps; where the log intervals differ and both print interval means, the finer curve is averaged
// over the coarser one's intervals (never for the first, whose start is not known). Borrows from `b`.
AlignedCurves Align(const Curve& a, const Curve& b);

// What a difference is measured by, at least: 0 for values of one sign, else their usual size (see curves.cc).
double SizeFloor(absl::Span<const double> values);
// (b - a) / max(|a|, floor); 1 or -1 where that is 0.
double RelativeDifference(double a, double b, double floor);
std::vector<double> RelativeDifferences(absl::Span<const double> a, absl::Span<const double> b, double floor);

// The pointwise mean of curves that have the same steps (those of the first that all have).
Curve PointwiseMean(const std::vector<const Curve*>& curves);
Curve PointwiseMedian(const std::vector<const Curve*>& curves);

enum class CurveMode { kUndecided, kPaired, kUnpaired };

enum class CurveVerdict {
  kAgree,
  kNearLimit,     // paired: between the pass limit and the fail limit
  kDiffer,        // a limit is broken
  kInconclusive,  // above a limit, but not beyond the noise of so few steps
};

// When a factor between two curves counts as one number.
struct RatioLimits {
  double distance = 0;  // of the ratio from 1, at least
  double spread = 0;    // share of the ratio that it may vary by
  double spreads = 0;   // so many times its spread it must lie from 1
  double whole = 0;     // within this it is taken for the whole number, or one over it
};
RatioLimits RatioLimitsOf(const Profile& profile);

// The message of steps that are too few: of the curves' lengths where they share little, else of the log's interval.
absl::string_view TooFewSteps(const Profile& profile, double coverage);

// The profile's thresholds (LimitsOf); the relative ones are widened by the baseline's own repeat noise before they
// come here. What each means: docs/thresholds.md.
struct CurveLimits {
  double mean_relative_pass = 0;
  double mean_relative = 0;
  double mean_absolute = 0;
  double smoothed_relative = 0;
  double tail_relative = 0;
  double pairing_correlation = 0;
  double paired_difference = 0;  // median
  double onset_dead_zone = 0;
  double noise_errors = 0;  // standard errors
  double noise_errors_of_parts = 0;
  double single_step_far = 0;  // times the usual difference
  double running_mean_correlation = 0;
  double running_mean_gain = 0;
  double stretch_share = 0;
  double stretch_chance = 0;
  double live_gross = 0;
  double live_errors = 0;
  double live_share_of_pass = 0;
  RatioLimits ratio;
};

CurveLimits LimitsOf(const Profile& profile);

struct CurveComparison {
  CurveMode mode = CurveMode::kUndecided;
  CurveVerdict verdict = CurveVerdict::kAgree;
  std::int64_t common_steps = 0;
  double coverage = 0;
  std::int64_t first_step = 0;  // the first common one
  double first_relative_error = 0;
  double first_absolute_error = 0;
  double mean_relative_error = 0;
  double mean_absolute_error = 0;
  double max_relative_error = 0;
  std::int64_t max_step = 0;
  double signed_mean_relative_error = 0;  // below 0: b is lower
  double smoothed_relative_error = 0;
  double tail_relative_difference = 0;  // means of the last tenth, signed
  std::optional<double> correlation;    // of first differences; nullopt: too short or without movement
  std::optional<std::int64_t> first_divergent_step;
  std::optional<std::int64_t> left_out;  // one step far off, without which the other figures are
  bool left_out_is_last = false;         // it may be a beginning
  std::optional<double> constant_ratio;  // b / a, where the curves differ by a constant factor
  bool lower = false;                    // a broken limit is broken downwards
  bool tail_alone = false;    // paired, the whole within its limit, the end beyond the limit of the last tenth
  bool small_values = false;  // agrees by the absolute limit alone
};

// Compares aligned curves. `same_order`: recorded evidence that both read the same data in the same order.
CurveComparison Compare(const AlignedCurves& curves, const CurveLimits& limits, std::optional<bool> same_order = {});

// b / a where it is one number throughout and surely not 1; also for gradient norms.
std::optional<double> ConstantRatio(absl::Span<const double> a, absl::Span<const double> b, const RatioLimits& limits);
// The whole number, or one over it, that `ratio` equals within `tolerance`, else `ratio` itself: such numbers are what
// averaging over steps or ranks gives.
double WholeWithin(double ratio, double tolerance);

// The baseline's own noise: each run against the mean of the others, the largest such error.
struct RepeatNoise {
  double mean_relative = 0;
  double mean_absolute = 0;
  double smoothed_relative = 0;
  double tail_relative = 0;
};
RepeatNoise NoiseOf(const std::vector<const Curve*>& curves, const CurveLimits& limits);
// Limits widened to that noise.
CurveLimits Widened(CurveLimits limits, const RepeatNoise& noise);

// Baseline curves that agree with each other, the odd ones out left out; at least one stays.
std::vector<const Curve*> WithoutOddOnes(const std::vector<const Curve*>& curves, const CurveLimits& limits);

// Puts the figures into a finding under the names of docs/report.md.
void SetFacts(v1::Finding& finding, const CurveComparison& comparison);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_CURVES_H_
