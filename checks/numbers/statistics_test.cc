#include "checks/numbers/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "checks/series/curve_figures.h"

namespace paritect {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;

const std::vector<double> kA = {76.1, 76.0, 76.2, 75.9, 76.3};
const std::vector<double> kB = {75.8, 76.1, 75.9, 76.0};

// Made by tests/statistics_reference.py (numerical integration, exact integers); its --check compares this table.
double Reference(const std::string& name) {
  static const auto& table = *new std::map<std::string, double>{
      // REFERENCE
      {"t_cdf(1.5,3)", 0.884708067378},
      {"t_cdf(-2.25,7.5)", 0.0283610549605},
      {"t_quantile(0.975,2)", 4.30265272975},
      {"t_quantile(0.95,4)", 2.13184678633},
      {"chi2_cdf(3.2,1)", 0.926361729879},
      {"chi2_cdf(11,9)", 0.724291063228},
      {"chi2_quantile(0.05,2)", 0.102586588775},
      {"chi2_quantile(0.05,9)", 3.32511284307},
      {"welch_t", -1.5666989036},
      {"welch_df", 6.98076923077},
      {"welch_p", 0.161285856289},
      {"tost_p(0.5)", 0.0040780854142},
      {"fisher(1,100,61,1000)", 0.0369581292308},
      {"fisher(3,10,9,12)", 0.0835573095635},
      {"correlation", 0.93267331798},
      {"runs_needed(1,0.5)", 51},
      {"runs_needed(1,1)", 14},
      {"sd_upper(0.31,5)", 0.735430264337},
      {"prediction(0.31,3,1)", 1.54016538129},
      {"prediction(0.31,5,3)", 0.628564933701},
      {"rate_low(9,1000)", 0.00412339566034},
      {"rate_high(9,1000)", 0.0170157830699},
      {"rate_high(0,60)", 0.0596294922862},
      {"rate_low(60,60)", 0.940370507714},
      {"bias_low", 0.0969455320353},
      {"bias_high", 0.109482117673},
      {"noise_last", 0.870462978961},
      {"smooth_last(10)", 0.567155082151},
      {"long_run_variance(10)", 0.0874440673921},
      {"median", 0.499507582095},
      {"sd", 0.292983006262},
      {"difference_correlation", 0.958502961725},
      {"onset", 251},
      {"spikes", 3},
      {"spikes_last", 350},  // REFERENCE
  };
  return table.at(name);
}

TEST(Statistics, DistributionsAgreeWithNumericalIntegration) {
  EXPECT_NEAR(StudentTCdf(1.5, 3), Reference("t_cdf(1.5,3)"), 1e-9);
  EXPECT_NEAR(StudentTCdf(-2.25, 7.5), Reference("t_cdf(-2.25,7.5)"), 1e-9);
  EXPECT_NEAR(StudentTQuantile(0.975, 2), Reference("t_quantile(0.975,2)"), 1e-8);
  EXPECT_NEAR(StudentTQuantile(0.95, 4), Reference("t_quantile(0.95,4)"), 1e-8);
  EXPECT_NEAR(StudentTQuantile(0.05, 4), -Reference("t_quantile(0.95,4)"), 1e-8);
  EXPECT_NEAR(ChiSquareCdf(3.2, 1), Reference("chi2_cdf(3.2,1)"), 1e-8);
  EXPECT_NEAR(ChiSquareCdf(11, 9), Reference("chi2_cdf(11,9)"), 1e-9);
  EXPECT_NEAR(ChiSquareQuantile(0.05, 2), Reference("chi2_quantile(0.05,2)"), 1e-9);
  EXPECT_NEAR(ChiSquareQuantile(0.05, 9), Reference("chi2_quantile(0.05,9)"), 1e-8);
}

// Tables of Student's t as printed in textbooks, three decimals.
TEST(Statistics, StudentTQuantilesAsInTables) {
  EXPECT_NEAR(StudentTQuantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(StudentTQuantile(0.975, 3), 3.182, 5e-4);
  EXPECT_NEAR(StudentTQuantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(StudentTQuantile(0.975, 9), 2.262, 5e-4);
  EXPECT_NEAR(StudentTQuantile(0.95, 2), 2.920, 5e-4);
  EXPECT_NEAR(StudentTQuantile(0.95, 9), 1.833, 5e-4);
}

// Two optimizers of a public speed-run, 16 against 20 and 16 against 5 runs: t and degrees give p.
TEST(Statistics, WorkedExamplesOfPublicRunSets) {
  EXPECT_NEAR(2 * StudentTCdf(-0.352, 33.0), 0.727, 1e-3);
  EXPECT_NEAR(2 * StudentTCdf(-5.856, 5.00), 0.00206, 1e-5);
}

// `count` values with that mean and standard deviation.
std::vector<double> Sample(std::size_t count, double mean, double sd) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  const double middle = Mean(values);
  const double spread = StandardDeviation(values);
  for (double& value : values) value = mean + (value - middle) / spread * sd;
  return values;
}

// The same run sets from their means and spreads: 16 runs against 20 are equivalent within 0.003, 16 against 5 differ,
// are not shown to be within 0.005 and are within 0.01 (t, degrees and p as published with the sets).
TEST(Statistics, WorkedExamplesFromMeansAndSpreads) {
  const std::vector<double> sixteen = Sample(16, 3.28, 9.743e-4);
  const std::vector<double> twenty = Sample(20, 3.28 + 1.44e-4, 1.4693e-3);
  const std::optional<WelchResult> alike = WelchTest(sixteen, twenty);
  ASSERT_TRUE(alike.has_value());
  EXPECT_NEAR(alike->t, 0.352, 2e-3);
  EXPECT_NEAR(alike->degrees, 33.0, 0.2);
  EXPECT_NEAR(alike->p, 0.727, 2e-3);
  EXPECT_NEAR(EquivalencePValue(sixteen, twenty, 0.003).value_or(1), 3.5e-8, 1e-8);
  const std::vector<double> five = Sample(5, 3.28 + 4.404e-3, 1.5889e-3);
  const std::vector<double> other = Sample(16, 3.28, 9.853e-4);
  const std::optional<WelchResult> apart = WelchTest(other, five);
  ASSERT_TRUE(apart.has_value());
  EXPECT_NEAR(apart->t, 5.856, 5e-3);
  EXPECT_NEAR(apart->degrees, 5.00, 0.02);
  EXPECT_NEAR(apart->p, 0.00206, 3e-5);
  EXPECT_NEAR(EquivalencePValue(other, five, 0.005).value_or(1), 0.231, 2e-3);
  EXPECT_NEAR(EquivalencePValue(other, five, 0.01).value_or(1), 3.4e-4, 1e-5);
}

TEST(Statistics, WelchAndEquivalence) {
  const std::optional<WelchResult> welch = WelchTest(kA, kB);
  ASSERT_TRUE(welch.has_value());
  EXPECT_NEAR(welch->t, Reference("welch_t"), 1e-9);
  EXPECT_NEAR(welch->degrees, Reference("welch_df"), 1e-9);
  EXPECT_NEAR(welch->p, Reference("welch_p"), 1e-8);
  EXPECT_THAT(EquivalencePValue(kA, kB, 0.5), Optional(DoubleNear(Reference("tost_p(0.5)"), 1e-8)));
}

TEST(Statistics, NothingFromTooFewOrStillValues) {
  EXPECT_EQ(WelchTest({1.0}, kB), std::nullopt);
  EXPECT_EQ(WelchTest({1.0, 1.0}, {1.0, 1.0}), std::nullopt);
  EXPECT_EQ(EquivalencePValue({1.0}, {1.0}, 1), std::nullopt);
  EXPECT_EQ(PredictionHalfWidth(1, 1, 1), std::nullopt);
  EXPECT_EQ(StandardDeviationUpperBound(1, 1), std::nullopt);
  EXPECT_EQ(DifferenceCorrelation({1.0, 2.0}, {1.0, 2.0}), std::nullopt);
  EXPECT_EQ(DifferenceCorrelation({1, 2, 3, 4}, {1, 5, 3, 9}), std::nullopt) << "a straight line does not move";
  EXPECT_EQ(Mean({}), 0);
  EXPECT_EQ(Median({}), 0);
}

TEST(Statistics, SmallSamplesAreTreatedHonestly) {
  // Three runs: the true spread may be 4.4 times the measured one, the next run lies within 4.97 of it.
  EXPECT_THAT(StandardDeviationUpperBound(1, 3), Optional(DoubleNear(4.415, 1e-2)));
  EXPECT_THAT(PredictionHalfWidth(1, 3, 1), Optional(DoubleNear(4.303 * std::sqrt(4.0 / 3), 2e-3)));
  EXPECT_EQ(RunsNeeded(0.1, 0.5), 3);
  EXPECT_EQ(RunsNeeded(1, 0.5), static_cast<std::int64_t>(Reference("runs_needed(1,0.5)")));
  EXPECT_EQ(RunsNeeded(1, 1), static_cast<std::int64_t>(Reference("runs_needed(1,1)")));
  EXPECT_THAT(StandardDeviationUpperBound(0.31, 5), Optional(DoubleNear(Reference("sd_upper(0.31,5)"), 1e-8)));
  EXPECT_THAT(PredictionHalfWidth(0.31, 3, 1), Optional(DoubleNear(Reference("prediction(0.31,3,1)"), 1e-8)));
  EXPECT_THAT(PredictionHalfWidth(0.31, 5, 3), Optional(DoubleNear(Reference("prediction(0.31,5,3)"), 1e-8)));
}

TEST(Statistics, FisherExact) {
  EXPECT_NEAR(FisherExact(1, 100, 61, 1000), Reference("fisher(1,100,61,1000)"), 1e-8);
  EXPECT_NEAR(FisherExact(3, 10, 9, 12), Reference("fisher(3,10,9,12)"), 1e-8);
  EXPECT_NEAR(FisherExact(0, 10, 0, 10), 1, 1e-9);
}

TEST(Statistics, RateIntervalAgreesWithBinomialSums) {
  EXPECT_NEAR(RateInterval(9, 1000).low, Reference("rate_low(9,1000)"), 1e-10);
  EXPECT_NEAR(RateInterval(9, 1000).high, Reference("rate_high(9,1000)"), 1e-10);
  EXPECT_EQ(RateInterval(0, 60).low, 0);
  EXPECT_NEAR(RateInterval(0, 60).high, Reference("rate_high(0,60)"), 1e-10);
  EXPECT_NEAR(RateInterval(60, 60).low, Reference("rate_low(60,60)"), 1e-10);
  EXPECT_EQ(RateInterval(60, 60).high, 1);
  EXPECT_EQ(RateInterval(0, 0).high, 1);
  EXPECT_EQ(RateInterval(70, 60).high, 1);
  // Long runs stay exact: the rule of three, and no overflow of factorials.
  EXPECT_NEAR(RateInterval(0, 5'000'000).high, 3.689 / 5e6, 1e-9);
}

TEST(Statistics, DixonNamesTheOddOne) {
  EXPECT_EQ(DixonOutlier({76.1, 76.0, 70.4}), 2u);
  EXPECT_EQ(DixonOutlier({76.1, 76.0, 75.95, 76.05}), std::nullopt);
  EXPECT_EQ(DixonOutlier({1.0, 1.0}), std::nullopt);
  EXPECT_EQ(DixonOutlier({1.0, 1.0, 1.0}), std::nullopt);
}

TEST(Statistics, Correlation) {
  EXPECT_THAT(Correlation({1, 2, 4, 3}, {2.0, 2.5, 5, 3}), Optional(DoubleNear(Reference("correlation"), 1e-9)));
  EXPECT_THAT(DifferenceCorrelation({1, 3, 2, 5}, {11, 13, 12, 15}), Optional(DoubleNear(1, 1e-12)));
}

TEST(Statistics, SmoothingStartsAtTheFirstValue) {
  EXPECT_THAT(Smooth({4, 0, 0}, 3), ElementsAre(4, 2, 1));
  EXPECT_THAT(Smooth({}, 3), ElementsAre());
}

TEST(Statistics, OnsetIsWhereTheCurveLeavesForGood) {
  std::vector<double> differences(60, 0.002);
  differences[10] = 0.03;  // a spike
  EXPECT_EQ(DeadZoneOnset(differences, 0.01), std::nullopt);
  for (std::size_t i = 40; i < 60; ++i) differences[i] = -0.02;
  EXPECT_EQ(DeadZoneOnset(differences, 0.01), 40u);
}

TEST(Statistics, SpikesComeBack) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) values.push_back(2 + 0.01 * (i % 3));
  values[100] = 5;
  EXPECT_THAT(Spikes(values), ElementsAre(100u));
  for (std::size_t i = 150; i < 200; ++i) values[i] = 6;  // a new level is no spike
  EXPECT_THAT(Spikes(values), ElementsAre(100u));
}

// A fixed pseudo-random series; the variance of its noise is 1/12 (uniform), neighbours independent.
std::vector<double> Noise(std::size_t n) {
  std::vector<double> values;
  std::uint64_t state = 12345;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(state >> 11) / 9007199254740992.0);
  }
  return values;
}

TEST(Statistics, SeriesAgreeWithAnotherComputation) {
  const std::vector<double> noise = Noise(400);
  EXPECT_NEAR(noise.back(), Reference("noise_last"), 1e-11);
  EXPECT_NEAR(Smooth(noise, 10).back(), Reference("smooth_last(10)"), 1e-10);
  EXPECT_NEAR(LongRunVariance(noise, 10), Reference("long_run_variance(10)"), 1e-10);
  EXPECT_NEAR(Median(noise), Reference("median"), 1e-10);
  EXPECT_NEAR(StandardDeviation(noise), Reference("sd"), 1e-10);
  std::vector<double> moved;
  for (std::size_t i = 0; i < noise.size(); ++i) moved.push_back(noise[i] + 0.3 * noise[(i * 7) % noise.size()]);
  EXPECT_THAT(DifferenceCorrelation(noise, moved), Optional(DoubleNear(Reference("difference_correlation"), 1e-10)));
  std::vector<double> differences;
  for (std::size_t i = 0; i < noise.size(); ++i) differences.push_back((i < 250 ? 0.01 : 0.03) * noise[i]);
  EXPECT_EQ(DeadZoneOnset(differences, 0.01), static_cast<std::size_t>(Reference("onset")));
  std::vector<double> spiky = noise;
  for (const std::size_t at : {100u, 220u, 221u, 350u}) spiky[at] += 6;
  EXPECT_EQ(Spikes(spiky).size(), static_cast<std::size_t>(Reference("spikes")));
  EXPECT_EQ(static_cast<double>(Spikes(spiky).back()), Reference("spikes_last"));
  AlignedCurves curves;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    curves.steps.push_back(static_cast<std::int64_t>(i));
    curves.a.push_back(1 + noise[i]);
    curves.b.push_back(1 + noise[i] + 0.3 * noise[(i * 7) % 400]);
  }
  const std::optional<Interval> bias = BiasInterval(curves);
  ASSERT_TRUE(bias.has_value());
  EXPECT_NEAR(bias->low, Reference("bias_low"), 1e-9);
  EXPECT_NEAR(bias->high, Reference("bias_high"), 1e-9);
}

TEST(Statistics, LongRunVarianceLeavesDriftAway) {
  std::vector<double> values = Noise(2000);
  EXPECT_NEAR(LongRunVariance(values, 10), 1.0 / 12, 0.02);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.01 * static_cast<double>(i);
  EXPECT_NEAR(LongRunVariance(values, 10), 1.0 / 12, 0.02);
  EXPECT_EQ(LongRunVariance({1, 2}, 5), 0);
  EXPECT_EQ(LongRunVariance(std::vector<double>(100, 3.0), 5), 0);
}

TEST(Statistics, LongRunVarianceCountsNeighboursThatMoveTogether) {
  const std::vector<double> noise = Noise(4001);
  std::vector<double> pairs;  // a moving average over two has the same long-run variance and half the plain one
  for (std::size_t i = 1; i < noise.size(); ++i) pairs.push_back((noise[i] + noise[i - 1]) / 2);
  EXPECT_NEAR(LongRunVariance(pairs, 10), 1.0 / 12, 0.02);
}

TEST(Statistics, SampleMoments) {
  EXPECT_DOUBLE_EQ(Mean(kB), 75.95);
  EXPECT_NEAR(StandardDeviation(kA), std::sqrt(0.025), 1e-9);
  EXPECT_EQ(StandardDeviation({5.0}), 0);
  EXPECT_DOUBLE_EQ(Median({3, 1, 2, 10}), 2.5);
  EXPECT_NEAR(Range(kA), 0.4, 1e-12);
}

}  // namespace
}  // namespace paritect
