#include "checks/series/curve_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

// Jitter of its own for each side; b is `bias` above a.
AlignedCurves Noisy(std::int64_t steps, double bias, double noise = 0.02) {
  AlignedCurves curves;
  for (std::int64_t i = 1; i <= steps; ++i) {
    const double course = 2 + 5 * std::exp(-static_cast<double>(i) / 100);
    curves.steps.push_back(i);
    curves.a.push_back(course * (1 + noise * Jitter(1, i)));
    curves.b.push_back(course * (1 + bias) * (1 + noise * Jitter(2, i)));
    curves.rounding.push_back(0);
  }
  return curves;
}

TEST(BiasInterval, HoldsTheBiasAndNarrowsWithTheSteps) {
  double width = 1;
  for (const std::int64_t steps : {50, 500, 5000}) {
    const std::optional<Interval> none = BiasInterval(Noisy(steps, 0));
    const std::optional<Interval> shifted = BiasInterval(Noisy(steps, 0.01));
    ASSERT_TRUE(none.has_value() && shifted.has_value());
    EXPECT_LT(none->low, 0.0005) << steps;
    EXPECT_GT(none->high, 0) << steps;
    EXPECT_LT(shifted->low, 0.01) << steps;
    EXPECT_GT(shifted->high, 0.01) << steps;
    EXPECT_LT(shifted->high - shifted->low, width) << steps;
    width = shifted->high - shifted->low;
  }
}

// Of 200 pairs without a bias about 5 % may miss 0.
TEST(BiasInterval, MissesZeroAsOftenAsItSays) {
  int missed = 0;
  for (int pair = 0; pair < 200; ++pair) {
    AlignedCurves curves;
    for (std::int64_t i = 1; i <= 300; ++i) {
      curves.steps.push_back(i);
      curves.a.push_back(1);
      curves.b.push_back(1 + 0.05 * Jitter(100 + static_cast<std::uint64_t>(pair), i));
      curves.rounding.push_back(0);
    }
    const std::optional<Interval> interval = BiasInterval(curves);
    ASSERT_TRUE(interval.has_value());
    missed += interval->low > 0 || interval->high < 0;
  }
  EXPECT_LE(missed, 22);
}

TEST(BiasInterval, NothingFromFewOrStillValues) {
  EXPECT_EQ(BiasInterval(Noisy(5, 0)), std::nullopt);
  EXPECT_EQ(BiasInterval(Noisy(100, 0, 0)), std::nullopt);
}

TEST(DivergesSince, APrefixNamesTheStepThatTheWholeNames) {
  AlignedCurves curves = Noisy(200, 0, 0.001);
  for (std::size_t i = 120; i < 200; ++i) curves.b[i] *= 1.05;
  const std::optional<std::int64_t> whole = DivergesSince(curves, 0.01, true);
  EXPECT_THAT(whole, ::testing::Optional(121));
  AlignedCurves prefix = curves;
  for (auto* const values : {&prefix.a, &prefix.b, &prefix.rounding}) values->resize(130);
  prefix.steps.resize(130);
  EXPECT_EQ(DivergesSince(prefix, 0.01, true), whole);
  for (auto* const values : {&prefix.a, &prefix.b, &prefix.rounding}) values->resize(110);
  prefix.steps.resize(110);
  EXPECT_EQ(DivergesSince(prefix, 0.01, true), std::nullopt);
}

}  // namespace
}  // namespace paritect
