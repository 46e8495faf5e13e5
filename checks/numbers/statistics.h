// The statistics of the run checks, in one place. Pure functions over plain numbers.
//
// None of them takes NaN or infinities: callers set such values apart first, since a non-finite loss is a
// finding of its own and never a sample. Every result that small samples cannot give is std::nullopt.
// Formulas and reference values: docs/thresholds.md; checked against an independent computation by
// statistics_test.cc (values) and tests/statistics_reference.py (how they were made).
#ifndef PARITECT_CHECKS_NUMBERS_STATISTICS_H_
#define PARITECT_CHECKS_NUMBERS_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace paritect {

double Mean(absl::Span<const double> values);               // 0 for none
double StandardDeviation(absl::Span<const double> values);  // of the sample (n - 1); 0 for fewer than 2
double Median(std::vector<double> values);                  // 0 for none
// Largest minus smallest; 0 for none.
double Range(absl::Span<const double> values);

// --- distributions --------------------------------------------------------------------------------

double StudentTCdf(double t, double degrees);
// The t with P(T <= t) = p, 0 < p < 1.
double StudentTQuantile(double p, double degrees);
double ChiSquareCdf(double x, double degrees);
double ChiSquareQuantile(double p, double degrees);

// --- comparing two samples ------------------------------------------------------------------------

struct WelchResult {
  double difference = 0;  // mean(b) - mean(a)
  double t = 0;
  double degrees = 0;
  double p = 1;  // two-sided
};

// Welch's test of equal means. nullopt: fewer than 2 values a side, or neither side varies.
std::optional<WelchResult> WelchTest(absl::Span<const double> a, absl::Span<const double> b);

// Two one-sided tests: the p value of "the means differ by `margin` or more" (equivalent when < 0.05).
// nullopt as above.
std::optional<double> EquivalencePValue(absl::Span<const double> a, absl::Span<const double> b, double margin);

// Runs a side that an equivalence test of power 0.8 at 5 % needs to settle `margin` with this spread:
// 2 (sd (t_a + t_b) / margin)^2, at least 3.
std::int64_t RunsNeeded(double sd, double margin);

// Half width of the interval in which the mean of `k` new runs falls with `confidence` when `n` runs
// gave the standard deviation `sd`: t sd sqrt(1/k + 1/n). nullopt for n < 2.
std::optional<double> PredictionHalfWidth(double sd, int n, int k, double confidence = 0.95);

// Upper 95 % bound of the true standard deviation behind `sd` of n runs (n = 3: 4.4 times).
std::optional<double> StandardDeviationUpperBound(double sd, int n);

// The interval that holds the true rate behind `hits` of `total` with 95 % (Clopper and Pearson 1934). {0, 1} for a
// total of 0; hits are cut to the total.
struct RateBounds {
  double low = 0;
  double high = 1;
};
RateBounds RateInterval(std::int64_t hits, std::int64_t total);

// Fisher's exact test of two rates, two-sided: `hits` of `total` on either side.
double FisherExact(std::int64_t hits_a, std::int64_t total_a, std::int64_t hits_b, std::int64_t total_b);

// Dixon's Q at 90 % for 3 to 7 values: the index of the value that stands apart, if one does.
std::optional<std::size_t> DixonOutlier(absl::Span<const double> values);

// --- curves ---------------------------------------------------------------------------------------

// Exponential moving average with weight 2 / (window + 1), started at the first value.
std::vector<double> Smooth(absl::Span<const double> values, int window);

// Pearson correlation of the first differences of two series of one length. Two runs over the same data
// in the same order move together step by step; two shuffles do not, whatever their trends.
// nullopt: fewer than 3 values or a series without movement.
std::optional<double> DifferenceCorrelation(absl::Span<const double> a, absl::Span<const double> b);

std::optional<double> Correlation(absl::Span<const double> a, absl::Span<const double> b);

// Where a series of relative differences leaves zero for good: cumulative sum S = max(0, S + |d| - dead_zone),
// alarm at S > 5 dead_zone; the answer is the index at which S last left 0 before the alarm. A single spike
// below 6 dead_zones is no alarm.
std::optional<std::size_t> DeadZoneOnset(absl::Span<const double> differences, double dead_zone);

// The long-run variance of a noisy series around its own slow course: what the variance of a mean over m values is
// m times of, neighbours that move together included. Estimated within `blocks` equal parts, each freed of its straight
// line, so that a real drift does not count as noise. 0 for fewer than 3 values a block.
double LongRunVariance(absl::Span<const double> values, std::size_t blocks);

// Spikes: values above the median of the 50 before + 8 * 1.4826 * MAD that come back within 20 steps.
std::vector<std::size_t> Spikes(absl::Span<const double> values);

}  // namespace paritect

#endif  // PARITECT_CHECKS_NUMBERS_STATISTICS_H_
