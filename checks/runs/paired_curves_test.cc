// What curves tell beside their means: a constant ratio of the norms under noise, an end or a stretch that leaves, a
// loss that hardly moves, an accuracy without curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr char kState[] = "training.flow.state";
constexpr char kCurve[] = "training.flow.loss-curve";
constexpr char kScenario[] = "convergence.scenario";

// Losses of one data order (`seed`) and norms whose ratio to the baseline's has normal-like noise of `noise`.
RunFixture Norms(const std::string& name, double ratio, double noise, int seed = 1, int steps = 400) {
  RunFixture run(name);
  for (int step = 1; step <= steps; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(2 + 5 * std::exp(-step / 80.0) * (1 + 0.1 * Jitter(seed, step)));
    const double bell = Jitter(11, step) + Jitter(12, step) + Jitter(13, step);  // of deviation 1
    record.set_grad_norm(ratio * (1 + noise * bell) * (1 + 0.1 * Jitter(seed + 50, step)));
  }
  return run;
}

std::vector<std::string> StateKinds(double ratio, double noise, int seed = 1,
                                    v1::Severity severity = v1::SEVERITY_ERROR) {
  return Kinds(RunOne(kState, {Norms("g", 1, 0)}, {Norms("n", ratio, noise, seed)}), severity);
}

TEST(GradientRatio, IsConstantUnderTheNoiseOfTwoKindsOfHardware) {
  for (const double ratio : {1.0 / 16, 1.0 / 8, 0.5, 0.85, 1.15, 2.0, 4.0, 16.0}) {
    EXPECT_THAT(StateKinds(ratio, 0.01), ElementsAre("constant_gradient_ratio")) << ratio;
  }
  for (const double ratio : {0.125, 0.5, 4.0, 8.0}) {
    EXPECT_THAT(StateKinds(ratio, 0.05), ElementsAre("constant_gradient_ratio")) << ratio;
  }
  const v1::CheckResult eighth = RunOne(kState, {Norms("g", 1, 0)}, {Norms("n", 0.125, 0.05)});
  EXPECT_EQ(Fact(eighth, "constant_gradient_ratio", "ratio"), 0.125);
}

TEST(GradientRatio, PassesWithinTenPerCentAndWhereTheSpreadIsAsLarge) {
  for (const double ratio : {0.92, 1.0, 1.08}) {
    EXPECT_THAT(StateKinds(ratio, 0.05), IsEmpty()) << ratio;
    EXPECT_THAT(StateKinds(ratio, 0.001), IsEmpty()) << ratio;
  }
  EXPECT_THAT(StateKinds(1.15, 0.2), IsEmpty());
}

TEST(GradientRatio, OverOtherDataIsNeverMoreThanAWarning) {
  EXPECT_THAT(StateKinds(4, 0.03, 2), IsEmpty());
  EXPECT_THAT(StateKinds(4, 0.03, 2, v1::SEVERITY_WARNING), ElementsAre("gradient_norm_differs"));
  EXPECT_THAT(StateKinds(16, 0.03, 2), IsEmpty());
  EXPECT_THAT(StateKinds(1, 0.03, 2, v1::SEVERITY_WARNING), IsEmpty());
}

TEST(GradientRatio, NormsThatLeaveLateKeepTheirCause) {
  RunFixture late("n");
  for (int step = 1; step <= 400; ++step) {
    v1::StepRecord& record = late.Record(step);
    record.set_loss(2 + 5 * std::exp(-step / 80.0) * (1 + 0.1 * Jitter(1, step)));
    record.set_grad_norm((step > 150 ? 50 : 1) * (1 + 0.1 * Jitter(51, step)));
  }
  EXPECT_THAT(Kinds(RunOne(kState, {Norms("g", 1, 0)}, {late})), ElementsAre("gradients_explode"));
}

TEST(GradientRatio, NormsOfFewDigitsAreNoRatio) {
  const auto rounded = [](const std::string& name, double norm) {
    RunFixture run = Norms(name, 1, 0);
    for (v1::StepRecord& record : *run.log().mutable_records()) record.set_grad_norm(norm);
    return run;
  };
  EXPECT_THAT(Kinds(RunOne(kState, {rounded("g", 0.001)}, {rounded("n", 0.002)})), IsEmpty());
  EXPECT_THAT(Kinds(RunOne(kState, {rounded("g", 0.001)}, {rounded("n", 0.004)})),
              ElementsAre("constant_gradient_ratio"));
}

double Course(std::int64_t step) {
  return 2 + 6 * std::exp(-static_cast<double>(step) / 200) + 0.05 * Jitter(7, step);
}

RunFixture Training(const std::string& name, const std::function<double(std::int64_t)>& loss,
                    std::int64_t steps = 2000) {
  RunFixture run(name);
  run.Losses(1, steps, loss);
  run.End(v1::RunEnd::STATE_FINISHED, steps, steps);
  return run;
}

// The migrated loss with the factor of each step, and 0.3 % noise of its own.
v1::CheckResult CurveOf(const std::function<double(std::int64_t)>& factor, std::int64_t steps = 2000) {
  const auto migrated = [&](std::int64_t step) { return Course(step) * factor(step) * (1 + 0.003 * Jitter(3, step)); };
  return RunOne(kCurve, {Training("g", Course, steps)}, {Training("n", migrated, steps)});
}

TEST(Leaving, ARiseAtTheEndIsToldWithItsStep) {
  const v1::CheckResult result =
      CurveOf([](std::int64_t step) { return step > 1980 ? 1 + 0.015 * static_cast<double>(step - 1980) : 1; });
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("loss_leaves"));
  EXPECT_GE(Fact(result, "loss_leaves", "from_step"), 1981);
  EXPECT_LE(Fact(result, "loss_leaves", "from_step"), 1984);
  EXPECT_EQ(Fact(result, "loss_leaves", "to_step"), 2000);
}

TEST(Leaving, FewerStepsOrLessIsNone) {
  const auto rise = [](std::int64_t count, double by) {
    return CurveOf([=](std::int64_t step) { return step > 2000 - count ? 1 + by : 1; });
  };
  EXPECT_THAT(Kinds(rise(10, 0.05), v1::SEVERITY_WARNING), Contains("loss_leaves"));
  EXPECT_THAT(Kinds(rise(9, 0.05), v1::SEVERITY_WARNING), IsEmpty());
  EXPECT_THAT(Kinds(rise(20, 0.015), v1::SEVERITY_WARNING), IsEmpty());
  EXPECT_THAT(Kinds(CurveOf([](std::int64_t) { return 1; }), v1::SEVERITY_WARNING), IsEmpty());
}

TEST(Leaving, AStretchInTheMiddleIsNoSingleStep) {
  const v1::CheckResult result = CurveOf([](std::int64_t step) { return step > 1000 && step <= 1060 ? 1.5 : 1; });
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Not(Contains("one_step_far_off")));
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("loss_leaves"));
  EXPECT_EQ(Fact(result, "loss_leaves", "from_step"), 1001);
  EXPECT_EQ(Fact(result, "loss_leaves", "to_step"), 1060);
  // A spike is none, nor are two of them.
  const auto spikes = [](std::int64_t step) { return step == 1000 || step == 1005 ? 1.5 : 1; };
  EXPECT_THAT(Kinds(CurveOf(spikes), v1::SEVERITY_WARNING), Not(Contains("loss_leaves")));
}

TEST(Leaving, TwoShufflesLeaveNowhere) {
  int told = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const auto shuffled = [seed](std::int64_t step) {
      return (2 + 6 * std::exp(-static_cast<double>(step) / 200)) * (1 + 0.1 * Jitter(100 + seed, step));
    };
    const auto other = [seed](std::int64_t step) {
      return (2 + 6 * std::exp(-static_cast<double>(step) / 200)) * (1 + 0.1 * Jitter(200 + seed, step));
    };
    const v1::CheckResult result = RunOne(kCurve, {Training("g", shuffled)}, {Training("n", other)});
    for (const std::string& kind : Kinds(result, v1::SEVERITY_WARNING)) told += kind == "loss_leaves" ? 1 : 0;
  }
  EXPECT_EQ(told, 0);
}

TEST(Leaving, TheLastStepAloneFailsNothing) {
  const v1::CheckResult result = CurveOf([](std::int64_t step) { return step == 60 ? 4 : 1; }, 60);
  EXPECT_THAT(Kinds(result), IsEmpty());
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("one_step_far_off"));
}

TEST(Scenario, ALossThatHardlyMovesDoesNotConverge) {
  const auto share = [](double of_fall) {
    return [of_fall](std::int64_t step) {
      return 8 - 6 * of_fall * (1 - std::exp(-static_cast<double>(step) / 200)) + 0.01 * Jitter(7, step);
    };
  };
  const RunFixture baseline = Training("g", share(1));
  for (const double few : {0.0, 0.04, 0.09}) {
    EXPECT_THAT(Kinds(RunOne(kScenario, {baseline}, {Training("n", share(few))})),
                ElementsAre("scenario_no_convergence"))
        << few;
  }
  EXPECT_THAT(Kinds(RunOne(kScenario, {baseline}, {Training("n", share(0.15))})), ElementsAre("scenario_curve"));
  // One that begins where the baseline ends has nothing left to fall by.
  const auto loaded = [](std::int64_t step) { return 2.1 - 0.0001 * static_cast<double>(step); };
  EXPECT_THAT(Kinds(RunOne(kScenario, {baseline}, {Training("n", loaded)})), ElementsAre("scenario_curve"));
}

RunFixture Evaluated(const std::string& name, double accuracy, std::int64_t steps, std::int64_t seed) {
  RunFixture run = Training(
      name,
      [seed](std::int64_t step) { return Course(step) * (1 + 0.001 * Jitter(static_cast<std::uint64_t>(seed), step)); },
      steps);
  run.Record(steps).set_accuracy(accuracy);
  return run;
}

TEST(Scenario, TheThirdNeedsCurvesThatAgree) {
  EXPECT_THAT(Kinds(RunOne(kScenario, {Evaluated("g", 76, 300, 1)}, {Evaluated("n", 70, 300, 2)})),
              ElementsAre("scenario_accuracy"));
  // Too few steps to compare, and no losses at all.
  const v1::CheckResult few = RunOne(kScenario, {Evaluated("g", 76, 30, 1)}, {Evaluated("n", 70, 30, 2)});
  EXPECT_THAT(Kinds(few), IsEmpty());
  EXPECT_EQ(few.verdict(), v1::VERDICT_NOT_PERFORMED);
  const auto bare = [](const std::string& name, double accuracy) {
    RunFixture run(name);
    for (int epoch = 1; epoch <= 30; ++epoch) run.Record(epoch).set_accuracy(accuracy);
    return run;
  };
  const v1::CheckResult none = RunOne(kScenario, {bare("g", 76)}, {bare("n", 70)});
  EXPECT_THAT(Kinds(none), IsEmpty());
  EXPECT_EQ(none.verdict(), v1::VERDICT_NOT_PERFORMED);
}

}  // namespace
}  // namespace paritect
