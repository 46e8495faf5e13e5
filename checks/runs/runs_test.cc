// The checks over run logs, each from evidence to verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

double Loss(std::int64_t step) {
  return (2 + 5 * std::exp(-static_cast<double>(step) / 50)) * (1 + 0.02 * Jitter(1, step));
}

RunFixture Plain(const std::string& name, double factor = 1, std::int64_t steps = 200) {
  RunFixture run(name);
  run.Losses(1, steps, [factor](std::int64_t step) { return factor * Loss(step); });
  return run;
}

RunFixture WithAccuracy(const std::string& name, double accuracy, double factor = 1) {
  RunFixture run = Plain(name, factor);
  run.Record(200).set_accuracy(accuracy);
  return run.End(v1::RunEnd::STATE_FINISHED);
}

TEST(RunChecks, ThreeRunsThatAgreePass) {
  for (const char* check : {"runs", "accuracy", "curves"}) {
    const v1::CheckResult result =
        RunOne(std::string("baseline.repeatability.") + check,
               {WithAccuracy("a", 76.1), WithAccuracy("b", 76.0, 1.001), WithAccuracy("c", 76.2, 0.999)}, {});
    EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  }
}

TEST(RunChecks, TheOddRunIsNamed) {
  const std::vector<RunFixture> runs = {WithAccuracy("a", 76.1), WithAccuracy("b", 76.0), WithAccuracy("c", 70.4, 1.5)};
  const v1::CheckResult accuracy = RunOne("baseline.repeatability.accuracy", runs, {});
  EXPECT_THAT(Kinds(accuracy), ElementsAre("accuracy_spread"));
  EXPECT_EQ(accuracy.findings(0).subject(), "c");
  const v1::CheckResult curves = RunOne("baseline.repeatability.curves", runs, {});
  EXPECT_THAT(Kinds(curves), ElementsAre("curve_leaves"));
  EXPECT_EQ(curves.findings(0).subject(), "c");
}

TEST(RunChecks, TwoRunsAreTooFew) {
  const v1::CheckResult result =
      RunOne("baseline.repeatability.runs", {WithAccuracy("a", 76), WithAccuracy("b", 76)}, {});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(result.missing_size(), 1);
}

TEST(RunChecks, IdenticalRunsAreANote) {
  const v1::CheckResult same = RunOne("baseline.repeatability.bitwise", {Plain("a"), Plain("b")}, {});
  EXPECT_THAT(Kinds(same, v1::SEVERITY_NOTE), Contains("identical_runs"));
  const v1::CheckResult other = RunOne("baseline.repeatability.bitwise", {Plain("a"), Plain("b", 1.0001)}, {});
  EXPECT_EQ(other.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(other, v1::SEVERITY_NOTE), ElementsAre("not_identical"));
}

TEST(RunChecks, RepeatsOfAnotherConfigurationFail) {
  RunFixture a = Plain("a").Number("lr", 0.1).Number("seed", 1);
  RunFixture b = Plain("b").Number("lr", 0.2).Number("seed", 2);
  const v1::CheckResult result = RunOne("baseline.repeatability.settings", {a, b}, {});
  EXPECT_THAT(Kinds(result), ElementsAre("runs_not_repeats"));
  EXPECT_EQ(
      RunOne("baseline.repeatability.settings", {a, Plain("c").Number("lr", 0.1).Number("seed", 3)}, {}).verdict(),
      v1::VERDICT_PASS);
  EXPECT_EQ(RunOne("baseline.repeatability.settings", {a, Plain("d")}, {}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(RunChecks, LossCurvesThatAgreePassAndShowTheirFigures) {
  const v1::CheckResult result = RunOne("training.flow.loss-curve", {Plain("gpu")}, {Plain("npu", 1.003)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  EXPECT_NEAR(Fact(result, "measured", "mean_relative_error"), 0.003, 1e-9);
  EXPECT_EQ(Fact(result, "measured", "common_steps"), 200);
}

TEST(RunChecks, EveryMigratedRunIsCompared) {
  const v1::CheckResult result =
      RunOne("training.flow.loss-curve", {Plain("gpu")}, {Plain("npu-1"), Plain("npu-2", 1.1), Plain("npu-3")});
  ASSERT_THAT(Kinds(result), SizeIs(1));
  EXPECT_EQ(result.findings(0).subject(), "npu-2");
}

TEST(RunChecks, ShortCurvesNeverPass) {
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu", 1, 30)}, {Plain("npu", 1, 30)}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu", 1, 30)}, {Plain("npu", 1.5, 30)}).verdict(),
            v1::VERDICT_FAIL);
}

TEST(RunChecks, WholeLogsOfFewStepsAreAskedForMoreOfThem) {
  const auto how = [](std::int64_t of_baseline) {
    RunFixture gpu("gpu");
    gpu.Losses(1, of_baseline, Loss);
    RunFixture npu("npu");
    npu.Losses(of_baseline == 30 ? 1 : of_baseline - 9, 30, Loss);
    const v1::CheckResult result = RunOne("training.flow.loss-curve", {gpu}, {npu});
    return result.missing_size() == 1 ? result.missing(0).how().en() : "";
  };
  EXPECT_THAT(how(30), ::testing::HasSubstr("print every step"));
  EXPECT_THAT(how(40), ::testing::HasSubstr("the same log interval"));  // they share 10 steps
}

TEST(RunChecks, AShortRunWithoutAnEndMarkIsNotFinished) {
  // 60 steps of 200 agree, and that is all they do.
  for (const char* check : {"training.flow.loss-curve", "convergence.scenario"}) {
    EXPECT_EQ(RunOne(check, {Plain("gpu")}, {Plain("npu", 1, 60)}).verdict(), v1::VERDICT_NOT_PERFORMED) << check;
  }
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu")}, {Plain("npu", 1.5, 60)}).verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu", 1, 60)}, {Plain("npu")}).verdict(), v1::VERDICT_PASS);
}

TEST(RunChecks, ALowerLossFailsUnlessTheProfileSoftensIt) {
  EXPECT_THAT(
      Kinds(RunOne("training.flow.loss-curve", {Plain("gpu")},
                   {RunFixture("npu").Losses(1, 200, [](std::int64_t s) { return Loss(s) * (s > 50 ? 0.9 : 1); })})),
      ElementsAre("loss_lower"));
  Profile profile = BuiltInRules().profile;
  profile.loss_lower_fails = false;
  const v1::CheckResult softened =
      RunOne("training.flow.loss-curve", {Plain("gpu")},
             {RunFixture("npu").Losses(1, 200, [](std::int64_t s) { return Loss(s) * (s > 50 ? 0.9 : 1); })}, profile);
  EXPECT_EQ(softened.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(softened, v1::SEVERITY_WARNING), ElementsAre("loss_lower"));
}

TEST(RunChecks, AnUnfinishedRunCannotPass) {
  RunFixture npu = Plain("npu", 1, 100).End(v1::RunEnd::STATE_UNFINISHED, 100, 200);
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu")}, {npu}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

// The curve of one rank speaks for the others only where they train alike.
TEST(RunChecks, RanksThatTrainOtherwiseKeepACurveFromPassing) {
  const auto ranks = [](double factor, double rate, double noise) {
    RunFixture run("npu");
    for (std::int64_t step = 1; step <= 200; ++step) {
      for (int rank = 0; rank < 2; ++rank) {
        v1::StepRecord& record = run.Record(step);
        record.set_rank(rank);
        record.set_loss(Loss(step) * (rank == 0 ? 1 : factor) + (rank == 0 ? 0 : noise * (step % 2 == 0 ? 1 : -1)));
        record.set_lr(rank == 0 ? 1 : rate);
      }
    }
    return run;
  };
  const std::string id = "training.flow.loss-curve";
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {ranks(1, 1, 0)}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {ranks(1, 1, 0.3)}).verdict(), v1::VERDICT_PASS);
  // Their mean is the run's loss.
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {ranks(1.5, 1, 0)}).verdict(), v1::VERDICT_FAIL);
}

TEST(RunChecks, NonFiniteLossesFailWithoutTheOtherSide) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  RunFixture run = Plain("npu");
  run.Record(201).set_loss(nan);
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {}, {run})), ElementsAre("nan_loss"));
  const auto begins = [&](int count) {
    RunFixture begin("npu");
    return begin.Losses(1, 200, [&](std::int64_t s) { return s <= count ? nan : Loss(s); });
  };
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {}, {begins(20)})), ElementsAre("nan_loss"));
  EXPECT_THAT(Kinds(RunOne("first-step.forward.loss", {Plain("gpu")}, {begins(200)})), ElementsAre("nan_loss"));
  // Megatron leaves NaN out of an interval's mean and counts it; those of skipped steps are overflows.
  RunFixture counted = Plain("npu");
  (*counted.Record(201).mutable_metrics())["number of nan iterations"] = 3;
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {}, {counted})), ElementsAre("nan_loss"));
  RunFixture zeros = Plain("npu");
  for (int step = 201; step < 205; ++step) zeros.Record(step).set_loss(0);
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {}, {zeros})), ElementsAre("nan_suspected"));
  RunFixture absent = Plain("npu");
  absent.Record(201).set_loss_absent(true);
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {}, {absent})), ElementsAre("loss_missing"));
}

TEST(RunChecks, ALossOfASkippedStepIsTheScalersBusiness) {
  RunFixture run = Plain("npu");
  v1::StepRecord& record = run.Record(201);
  record.set_loss(std::numeric_limits<double>::infinity());
  record.set_overflow(true);
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {}, {run})), IsEmpty());
}

RunFixture Skipping(const std::string& name, int steps, int skipped) {
  RunFixture run(name, "megatron");
  for (int step = 1; step <= steps; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Loss(step));
    record.set_skipped(step <= skipped ? 1 : 0);
  }
  run.log().set_skipped_counted(true);
  run.log().set_overflow_seen(true);
  return run.Flag("fp16", true);
}

TEST(RunChecks, ARateAtItsLimitPasses) {
  const v1::CheckResult at = RunOne("migrated.loss-scale.overflow-rate", {}, {Skipping("npu", 1000, 5)});
  EXPECT_THAT(Kinds(at), IsEmpty()) << at.ShortDebugString();
  EXPECT_EQ(at.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(at, v1::SEVERITY_WARNING), Contains("global_batch_needed"));
  const v1::CheckResult over = RunOne("migrated.loss-scale.overflow-rate", {}, {Skipping("npu", 1000, 6)});
  EXPECT_THAT(Kinds(over), ElementsAre("overflow_rate_exceeded"));
  EXPECT_EQ(Fact(over, "overflow_rate_exceeded", "skipped"), 6);
  EXPECT_EQ(Fact(over, "overflow_rate_exceeded", "steps"), 1000);
}

TEST(RunChecks, ALargeBatchAllowsLess) {
  const v1::CheckResult result =
      RunOne("migrated.loss-scale.overflow-rate", {}, {Skipping("npu", 1000, 2).Number("global_batch_size", 1024)});
  EXPECT_THAT(Kinds(result), ElementsAre("overflow_rate_exceeded"));
}

TEST(RunChecks, WhatIsNotReportedIsNotZero) {
  RunFixture run = Plain("npu").Flag("fp16", true);
  EXPECT_EQ(RunOne("migrated.loss-scale.overflow-rate", {}, {run}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(RunChecks, Bf16NeedsNoScaler) {
  RunFixture run = Plain("npu").Flag("bf16", true);
  for (const char* check : {"enabled", "dynamic", "overflow-rate", "parameters", "trend", "skipped-step"}) {
    const v1::CheckResult result = RunOne(std::string("migrated.loss-scale.") + check, {}, {run});
    EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << check << result.ShortDebugString();
    EXPECT_THAT(Kinds(result, v1::SEVERITY_NOTE), ElementsAre("not_applicable"));
  }
}

TEST(RunChecks, InfiniteNormsThatNothingSkipsAreUndetected) {
  RunFixture run("npu");
  for (int step = 1; step <= 100; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Loss(step));
    record.set_loss_scale(1024);
    record.set_grad_norm(step % 25 == 0 ? std::numeric_limits<double>::infinity() : 1);
  }
  const v1::CheckResult result = RunOne("migrated.loss-scale.overflow-rate", {}, {run});
  EXPECT_THAT(Kinds(result), ElementsAre("overflow_undetected"));
  EXPECT_EQ(Fact(result, "overflow_undetected", "count"), 4);
}

TEST(RunChecks, AScaleThatOnlyFallsFails) {
  RunFixture run("npu");
  double scale = 65536;
  for (int i = 0; i < 30; ++i, scale /= 2) {
    v1::StepRecord& record = run.Record(100);
    record.set_step_unknown(true);
    record.set_overflow(true);
    record.set_loss_scale(scale);
  }
  EXPECT_THAT(Kinds(RunOne("migrated.loss-scale.trend", {}, {run})), ElementsAre("scale_falls_without_end"));
}

TEST(RunChecks, AScaleThatStaysOnItsFloorFails) {
  // Megatron counts skipped steps and prints the scale; no line says "overflow".
  RunFixture run("npu");
  for (int step = 1; step <= 60; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss_scale(std::max(1.0, std::ldexp(65536, -step / 2)));
    record.set_skipped(step % 4 == 0 ? 1 : 0);
  }
  EXPECT_THAT(Kinds(RunOne("migrated.loss-scale.trend", {}, {run})), ElementsAre("scale_at_floor"));
}

TEST(RunChecks, AScaleThatProbesPasses) {
  RunFixture run("npu");
  for (int step = 1; step <= 400; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss_scale(step < 10 ? std::ldexp(65536, -step) : step % 100 == 0 ? 256 : 128);
    record.set_overflow(step < 10 || step % 100 == 0);
  }
  EXPECT_EQ(RunOne("migrated.loss-scale.trend", {}, {run}).verdict(), v1::VERDICT_PASS);
}

TEST(RunChecks, FasterScheduleIsNamedWithItsFactor) {
  const auto linear = [](const std::string& name, double factor) {
    RunFixture run(name);
    for (int step = 1; step <= 80; ++step)
      run.Record(step).set_lr(std::max(0.0, 1e-4 * (1 - factor * (step - 1) / 80)));
    return run;
  };
  const std::string id = "model.hyperparameters.learning-rate-curve";
  EXPECT_EQ(RunOne(id, {linear("gpu", 1)}, {linear("npu", 1)}).verdict(), v1::VERDICT_PASS);
  const v1::CheckResult faster = RunOne(id, {linear("gpu", 1)}, {linear("npu", 4)});
  EXPECT_THAT(Kinds(faster), ElementsAre("schedule_faster"));
  EXPECT_EQ(Fact(faster, "schedule_faster", "ratio"), 4);
}

TEST(RunChecks, GradientsThatAddUpAreNotCleared) {
  const auto norms = [](const std::string& name, const std::function<double(int)>& factor) {
    RunFixture run(name);
    for (int step = 1; step <= 40; ++step) {
      v1::StepRecord& record = run.Record(step);
      record.set_loss(Loss(step));
      record.set_grad_norm(2 * factor(step) * (1 + 0.001 * Jitter(3, step)));
    }
    return run;
  };
  const RunFixture gpu = norms("gpu", [](int) { return 1; });
  const auto state = [&](const std::function<double(int)>& factor) {
    return RunOne("training.flow.state", {gpu}, {norms("npu", factor)});
  };
  EXPECT_THAT(Kinds(state([](int step) { return step; })), ElementsAre("gradients_not_cleared"));
  EXPECT_THAT(Kinds(state([](int) { return 0.25; })), ElementsAre("constant_gradient_ratio"));
  EXPECT_EQ(state([](int) { return 1.02; }).verdict(), v1::VERDICT_PASS);
}

TEST(RunChecks, FirstLossPassesOrAsksWhetherBothStartAlike) {
  const std::string id = "first-step.forward.loss";
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {Plain("npu", 1.004)}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {Plain("npu", 1.1)}).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(RunOne(id, {Plain("gpu").Number("seed", 1)}, {Plain("npu", 1.1).Number("seed", 1)}).verdict(),
            v1::VERDICT_FAIL);
}

TEST(RunChecks, FinalAccuracyWithinTheMarginOrBetter) {
  const std::string id = "training.flow.accuracy";
  EXPECT_EQ(RunOne(id, {WithAccuracy("gpu", 76.1)}, {WithAccuracy("npu", 0.757)}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {WithAccuracy("gpu", 76.1)}, {WithAccuracy("npu", 80)}).verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(RunOne(id, {WithAccuracy("gpu", 76.1)}, {WithAccuracy("npu", 75.4)})),
              ElementsAre("accuracy_differs"));
}

TEST(RunChecks, ThreeNoisyRunsASideAreInconclusive) {
  const v1::CheckResult result =
      RunOne("training.flow.accuracy", {WithAccuracy("a", 76.4), WithAccuracy("b", 75.6), WithAccuracy("c", 76.0)},
             {WithAccuracy("d", 76.2), WithAccuracy("e", 75.2), WithAccuracy("f", 75.7)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED) << result.ShortDebugString();
}

TEST(RunChecks, ScenariosOfConvergence) {
  const std::string id = "convergence.scenario";
  EXPECT_EQ(RunOne(id, {WithAccuracy("gpu", 76.1)}, {WithAccuracy("npu", 76.0)}).verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(RunOne(id, {},
                           {RunFixture("npu").Losses(
                               1, 200, [](std::int64_t s) { return 2 + 0.01 * static_cast<double>(s); })})),
              ElementsAre("scenario_no_convergence"));
  EXPECT_THAT(Kinds(RunOne(id, {WithAccuracy("gpu", 76.1)}, {WithAccuracy("npu", 76.1, 1.2)})),
              ElementsAre("scenario_curve"));
  EXPECT_THAT(Kinds(RunOne(id, {WithAccuracy("gpu", 76.1)}, {WithAccuracy("npu", 70)})),
              ElementsAre("scenario_accuracy"));
}

TEST(RunChecks, LabelsAreAnsweredByAPerson) {
  EXPECT_EQ(RunOne("baseline.repeatability.labels", {Plain("a")}, {}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(RunChecks, TheAccuracyOfTrainingBatchesHidesNoValidation) {
  const auto run = [](const std::string& name, double accuracy) {
    RunFixture fixture = WithAccuracy(name, accuracy);
    v1::StepRecord& record = fixture.Record(201);
    record.set_loss(Loss(201));
    record.set_accuracy(91);
    record.set_accuracy_of_training(true);
    return fixture;
  };
  const v1::CheckResult result = RunOne("training.flow.accuracy", {run("gpu", 76)}, {run("npu", 70)});
  EXPECT_THAT(Kinds(result), ElementsAre("accuracy_differs"));
}

TEST(RunChecks, ALogThatStopsBeforeTheReferencePassesNothing) {
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu")}, {Plain("npu", 1, 150)}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu")}, {Plain("npu", 1, 199)}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne("training.flow.loss-curve", {Plain("gpu", 1, 150)}, {Plain("npu")}).verdict(), v1::VERDICT_PASS);
}

// Every tenth step is printed, the baseline's as the mean of the ten.
TEST(RunChecks, MeansOverIntervalsAgreeWithSingleSteps) {
  RunFixture gpu("gpu", "megatron");
  RunFixture npu("npu");
  RunFixture fine("fine");
  gpu.log().set_interval_means(true);
  for (std::int64_t step = 10; step <= 1000; step += 10) {
    double sum = 0;
    for (std::int64_t i = step - 9; i <= step; ++i) sum += 2 + 7 * std::exp(-static_cast<double>(i) / 60);
    gpu.Record(step).set_loss(sum / 10);
    npu.Record(step).set_loss(2 + 7 * std::exp(-static_cast<double>(step) / 60));
  }
  fine.Losses(1, 1000, [](std::int64_t step) { return 2 + 7 * std::exp(-static_cast<double>(step) / 60); });
  for (const RunFixture& migrated : {npu, fine}) {
    const v1::CheckResult result = RunOne("training.flow.loss-curve", {gpu}, {migrated});
    EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  }
}

TEST(RunChecks, OverflowsOfPrintedStepsAloneGiveNoRate) {
  RunFixture npu("npu", "mindformers");
  for (std::int64_t step = 10; step <= 1000; step += 10) {
    v1::StepRecord& record = npu.Record(step);
    record.set_loss(Loss(step));
    record.set_overflow(false);
    record.set_loss_scale(step < 500 ? 65536 : 32768);
  }
  const v1::CheckResult result = RunOne("migrated.loss-scale.overflow-rate", {}, {npu});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED) << result.ShortDebugString();
  ASSERT_EQ(result.missing_size(), 1);
}

TEST(RunChecks, TheBatchThatTheLogPrintsSetsTheLimit) {
  RunFixture npu("npu", "megatron");
  const std::string printed_batch = "global batch size";
  for (std::int64_t step = 1; step <= 1000; ++step) {
    v1::StepRecord& record = npu.Record(step);
    record.set_loss(Loss(step));
    record.set_skipped(step == 300 || step == 600 ? 1 : 0);
    record.mutable_metrics()->insert({printed_batch, 2048.0});
  }
  npu.log().set_skipped_counted(true);
  const v1::CheckResult result = RunOne("migrated.loss-scale.overflow-rate", {}, {npu});
  EXPECT_THAT(Kinds(result), ElementsAre("overflow_rate_exceeded"));
}

}  // namespace
}  // namespace paritect
