#include "checks/series/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "checks/series/fixture.h"
#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::SizeIs;

CurveLimits BuiltInLimits() {
  return LimitsOf(BuiltInRules().profile);
}

Curve Make(std::int64_t first, std::int64_t count, std::int64_t interval,
           const std::function<double(std::int64_t)>& value) {
  Curve curve;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step = first + i * interval;
    curve.points.push_back({step, value(step), 0, {nullptr, i + 1}});
  }
  return curve;
}

double Trend(std::int64_t step) {
  return 2 + 5 * std::exp(-static_cast<double>(step) / 100);
}
// One data order and another one.
double Order1(std::int64_t step) {
  return Trend(step) * (1 + 0.1 * Jitter(1, step));
}
double Order2(std::int64_t step) {
  return Trend(step) * (1 + 0.1 * Jitter(2, step));
}

CurveComparison CompareOf(const Curve& a, const Curve& b) {
  return Compare(Align(a, b), BuiltInLimits());
}

TEST(Curves, AlignTakesSharedSteps) {
  const AlignedCurves aligned = Align(Make(1, 10, 1, Trend), Make(5, 10, 1, Trend));
  EXPECT_THAT(aligned.steps, ElementsAre(5, 6, 7, 8, 9, 10));
  EXPECT_DOUBLE_EQ(aligned.coverage, 0.6);
  EXPECT_THAT(Align(Curve(), Make(1, 3, 1, Trend)).steps, SizeIs(0));
}

TEST(Curves, IntervalMeansAreAveragedOverTheCoarserInterval) {
  Curve fine = Make(10, 10, 10, [](std::int64_t step) { return static_cast<double>(step); });
  Curve coarse = Make(50, 2, 50, [](std::int64_t) { return 80; });
  fine.interval_means = coarse.interval_means = true;
  const AlignedCurves aligned = Align(fine, coarse);
  EXPECT_THAT(aligned.steps, ElementsAre(50, 100));
  EXPECT_THAT(aligned.a, ElementsAre(30, 80));  // (60 + 70 + 80 + 90 + 100) / 5
}

TEST(Curves, AFirstIntervalIsComparedWhereItsStartIsKnown) {
  const auto steps = [](const Curve& fine, const Curve& coarse) {
    Curve a = fine;
    Curve b = coarse;
    a.interval_means = b.interval_means = true;
    return Align(a, b).steps;
  };
  EXPECT_THAT(steps(Make(1, 100, 1, Trend), Make(20, 5, 20, Trend)), ElementsAre(20, 40, 60, 80, 100));
  // The finer log begins later, or both go on from a checkpoint: an interval before the first record is not whole.
  EXPECT_THAT(steps(Make(5, 96, 1, Trend), Make(20, 5, 20, Trend)), ElementsAre(40, 60, 80, 100));
  EXPECT_THAT(steps(Make(501, 100, 1, Trend), Make(520, 5, 20, Trend)), ElementsAre(540, 560, 580, 600));
  // One that is printed for the first step alone is as long as that.
  Curve first = Make(10, 5, 10, Trend);
  first.points.insert(first.points.begin(), {1, Trend(1), 0, {}});
  EXPECT_THAT(steps(Make(1, 50, 1, Trend), first), ElementsAre(1, 10, 20, 30, 40, 50));
}

TEST(Curves, SameOrderIsComparedStepByStep) {
  const CurveComparison c =
      CompareOf(Make(1, 200, 1, Order1), Make(1, 200, 1, [](std::int64_t s) { return Order1(s) * 1.002; }));
  EXPECT_EQ(c.mode, CurveMode::kPaired);
  EXPECT_EQ(c.verdict, CurveVerdict::kAgree);
  EXPECT_NEAR(c.mean_relative_error, 0.002, 1e-9);
}

TEST(Curves, AnotherShuffleIsNoDifference) {
  const CurveComparison c = CompareOf(Make(1, 3000, 1, Order1), Make(1, 3000, 1, Order2));
  EXPECT_EQ(c.mode, CurveMode::kUnpaired);
  EXPECT_EQ(c.verdict, CurveVerdict::kAgree);
  EXPECT_GT(c.mean_relative_error, 0.05);
}

TEST(Curves, FewNoisyStepsDecideNothing) {
  const CurveComparison c =
      CompareOf(Make(1, 60, 1, [](std::int64_t s) { return Trend(s) * (1 + 0.3 * Jitter(1, s)); }),
                Make(1, 60, 1, [](std::int64_t s) { return Trend(s) * (1 + 0.3 * Jitter(2, s)); }));
  EXPECT_EQ(c.verdict, CurveVerdict::kInconclusive);
}

TEST(Curves, ACurveThatLeavesIsNamedWithItsStep) {
  const CurveComparison c = CompareOf(
      Make(1, 300, 1, Order1), Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * (s > 100 ? 1.08 : 1.0); }));
  EXPECT_EQ(c.verdict, CurveVerdict::kDiffer);
  EXPECT_FALSE(c.lower);
  EXPECT_THAT(c.first_divergent_step, Optional(101));
}

TEST(Curves, ASingleStepIsNeverADifference) {
  const CurveComparison c = CompareOf(
      Make(1, 300, 1, Order1), Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * (s == 100 ? 1.5 : 1.0); }));
  EXPECT_EQ(c.verdict, CurveVerdict::kAgree);
  EXPECT_EQ(c.max_step, 100);
  EXPECT_EQ(c.first_divergent_step, std::nullopt);
}

TEST(Curves, ACurveThatPartsAtItsEndDiffersHoweverLongItAgreed) {
  for (const auto& [steps, factor] : {std::pair<int, double>{30, 1.19}, {30, 1.05}, {10, 1.5}, {30, 0.85}}) {
    const CurveComparison c =
        CompareOf(Make(1, 300, 1, Order1), Make(1, 300, 1, [steps = steps, factor = factor](std::int64_t s) {
                    return Order1(s) * (s > 300 - steps ? factor : 1.0);
                  }));
    EXPECT_EQ(c.mode, CurveMode::kPaired);
    EXPECT_EQ(c.verdict, CurveVerdict::kDiffer) << steps << " x " << factor;
    EXPECT_EQ(c.lower, factor < 1);
  }
  // A spike near the end is no end.
  const CurveComparison spike = CompareOf(
      Make(1, 300, 1, Order1), Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * (s == 295 ? 3.0 : 1.0); }));
  EXPECT_EQ(spike.verdict, CurveVerdict::kAgree);
}

TEST(Curves, ALowerLossDiffersToo) {
  const CurveComparison c =
      CompareOf(Make(1, 300, 1, Order1), Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * 0.9; }));
  EXPECT_EQ(c.verdict, CurveVerdict::kDiffer);
  EXPECT_TRUE(c.lower);
}

TEST(Curves, BetweenTheLimitsIsNear) {
  const CurveComparison c =
      CompareOf(Make(1, 300, 1, Order1), Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * 1.015; }));
  EXPECT_EQ(c.verdict, CurveVerdict::kNearLimit);
}

TEST(Curves, ConstantRatioIsNamed) {
  const RatioLimits limits = BuiltInLimits().ratio;
  const CurveComparison c =
      CompareOf(Make(1, 100, 1, Order1), Make(1, 100, 1, [](std::int64_t s) { return Order1(s) * 2.004; }));
  EXPECT_THAT(c.constant_ratio, Optional(2.0));
  EXPECT_EQ(ConstantRatio({1, 2, 3, 4, 5}, {1.01, 2.02, 3.03, 4.04, 5.05}, limits), std::nullopt);
  EXPECT_THAT(ConstantRatio({1, 2, 3, 4, 5}, {1.04, 2.08, 3.12, 4.16, 5.2}, limits),
              Optional(testing::DoubleNear(1.04, 1e-6)));
  EXPECT_EQ(ConstantRatio({1, 2, 3, 4, 5}, {1.02, 2.08, 3.15, 4.12, 5.2}, limits),
            std::nullopt);  // as near as its noise
  EXPECT_THAT(ConstantRatio({8, 16, 24, 32, 40}, {1, 2, 3, 4, 5}, limits), Optional(0.125));
  // Begin as one and part: what parts them trains otherwise, it scales nothing.
  std::vector<double> apart;
  const std::vector<double> ones(100, 1.0);
  for (int step = 0; step < 100; ++step) apart.push_back(1 + 0.06 * std::min(1.0, step / 4.0));
  EXPECT_EQ(ConstantRatio(ones, apart, limits), std::nullopt);
  apart.front() = 1.06;
  EXPECT_NE(ConstantRatio(ones, apart, limits), std::nullopt);
  EXPECT_EQ(ConstantRatio({1, 2, 3, 4, 5}, {2, 4, 9, 8, 11}, limits), std::nullopt);
  RatioLimits wide = limits;
  wide.distance = 0.1;
  EXPECT_EQ(ConstantRatio({1, 2, 3, 4, 5}, {1.04, 2.08, 3.12, 4.16, 5.2}, wide), std::nullopt);
}

// What a profile says reaches the comparison: none of the limits stands in the code.
TEST(Curves, LimitsAreTheProfiles) {
  Profile profile = BuiltInRules().profile;
  double next = 100;
  for (auto& [name, value] : profile.thresholds) value = next++;
  const CurveLimits limits = LimitsOf(profile);
  std::set<double> different;
  static_assert(sizeof(CurveLimits) % sizeof(double) == 0);
  const double* const all = reinterpret_cast<const double*>(&limits);
  for (std::size_t i = 0; i < sizeof(CurveLimits) / sizeof(double); ++i) {
    EXPECT_GE(all[i], 100) << "limit " << i << " is not read from the profile";
    EXPECT_TRUE(different.insert(all[i]).second) << "limit " << i << " is read from another's name";
  }
}

TEST(Curves, LimitsWidenToTheBaselinesOwnNoise) {
  const Curve a = Make(1, 300, 1, Order1);
  const Curve b = Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * 1.03; });
  const Curve c = Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * 0.97; });
  const RepeatNoise noise = NoiseOf({&a, &b, &c}, BuiltInLimits());
  EXPECT_NEAR(noise.mean_relative, 0.045, 0.005);
  EXPECT_GT(Widened(BuiltInLimits(), noise).mean_relative, 0.04);
  EXPECT_DOUBLE_EQ(Widened(BuiltInLimits(), RepeatNoise()).mean_relative, BuiltInLimits().mean_relative);
}

TEST(Curves, TheOddOneWidensNothing) {
  const Curve a = Make(1, 300, 1, Order1);
  const Curve b = Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * 1.001; });
  const Curve odd = Make(1, 300, 1, [](std::int64_t s) { return Order1(s) * 1.4; });
  EXPECT_THAT(WithoutOddOnes({&a, &odd, &b}, BuiltInLimits()), ElementsAre(&a, &b));
}

TEST(Curves, PointwiseMeanKeepsCommonSteps) {
  const Curve a = Make(1, 3, 1, [](std::int64_t) { return 1; });
  const Curve b = Make(2, 3, 1, [](std::int64_t) { return 3; });
  const Curve mean = PointwiseMean({&a, &b});
  ASSERT_THAT(mean.points, SizeIs(2));
  EXPECT_EQ(mean.points[0].step, 2);
  EXPECT_THAT(mean.points[0].value, DoubleNear(2, 1e-12));
}

}  // namespace
}  // namespace paritect
