// Faults of run logs that must be told for what they are: a run that falls and blows up, a validation that gives no
// number, a copy of a run, a scale that is no number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checks/series/fixture.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr char kScenario[] = "convergence.scenario";
constexpr char kCurve[] = "training.flow.loss-curve";
constexpr char kAccuracy[] = "training.flow.accuracy";
constexpr char kTrend[] = "migrated.loss-scale.trend";

double Course(std::int64_t step) {
  return 2 + 6 * std::exp(-static_cast<double>(step) / 60) + 0.02 * Jitter(7, step);
}

RunFixture Training(const std::string& name, const std::function<double(std::int64_t)>& loss,
                    std::int64_t steps = 300) {
  RunFixture run(name);
  run.Losses(1, steps, loss);
  run.End(v1::RunEnd::STATE_FINISHED, steps, steps);
  return run;
}

std::string Message(const v1::CheckResult& result, const std::string& kind) {
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() == kind) return finding.message().en();
  }
  return "";
}

std::string Missing(const v1::CheckResult& result) {
  std::string all;
  for (const v1::Missing& one : result.missing()) all += one.what().en() + "\n";
  return all;
}

TEST(Scenario, FallingAndBlowingUpIsNoConvergence) {
  // It ends below its start: what tells is that much of the fall is lost.
  const auto up = [](std::int64_t step) {
    return Course(step) + (step > 250 ? 0.08 * static_cast<double>(step - 250) : 0);
  };
  const v1::CheckResult result = RunOne(kScenario, {Training("g", Course)}, {Training("n", up)});
  EXPECT_THAT(Kinds(result), ElementsAre("scenario_no_convergence"));
  EXPECT_THAT(Message(result, "scenario_no_convergence"), HasSubstr("diverges"));
  EXPECT_EQ(Fact(result, "scenario_no_convergence", "scenario"), 1);
  // Alone as well, where it loses more than half.
  EXPECT_THAT(Kinds(RunOne(kScenario, {}, {Training("n", up)})), ElementsAre("scenario_no_convergence"));
}

TEST(Scenario, ASpikeOrARiseOfBothIsNone) {
  const auto spike = [](std::int64_t step) { return Course(step) * (step == 200 ? 3 : 1); };
  EXPECT_THAT(Kinds(RunOne(kScenario, {Training("g", Course)}, {Training("n", spike)})),
              Not(Contains("scenario_no_convergence")));
  const auto curriculum = [](std::int64_t step) { return Course(step) + (step > 200 ? 3 : 0); };
  EXPECT_THAT(Kinds(RunOne(kScenario, {Training("g", curriculum)}, {Training("n", curriculum)})), IsEmpty());
  // A loss that only rises is what such a training does where the baseline's rises as well; alone, and beside one that
  // falls, it has not converged.
  const auto rising = [](std::int64_t step) { return 10 - Course(step); };
  EXPECT_THAT(Kinds(RunOne(kScenario, {Training("g", rising)}, {Training("n", rising)})), IsEmpty());
  EXPECT_THAT(Kinds(RunOne(kScenario, {Training("g", Course)}, {Training("n", rising)})),
              ElementsAre("scenario_no_convergence"));
  EXPECT_THAT(Kinds(RunOne(kScenario, {}, {Training("n", rising)})), ElementsAre("scenario_no_convergence"));
}

TEST(Scenario, AValidationWithoutANumberIsNotTheFirst) {
  const auto run = [](const std::string& name, double last) {
    RunFixture fixture = Training(name, Course);
    fixture.Record(200).set_eval_loss(2.1);
    fixture.Record(300).set_eval_loss(last);
    return fixture;
  };
  const v1::CheckResult result = RunOne(kScenario, {run("g", 2.0)}, {run("n", kNan)});
  EXPECT_THAT(Kinds(result), ElementsAre("nan_loss"));
  EXPECT_EQ(Fact(result, "nan_loss", "scenario"), 3);
  // The last finite value is not the final one.
  const v1::CheckResult accuracy = RunOne(kAccuracy, {run("g", 2.0)}, {run("n", kNan)});
  EXPECT_THAT(Kinds(accuracy), ElementsAre("final_not_finite"));
  EXPECT_THAT(Missing(accuracy), Not(HasSubstr("print no")));
}

TEST(Scenario, WithoutAnAccuracyTheThirdIsNotDecided) {
  const v1::CheckResult result = RunOne(kScenario, {Training("g", Course)}, {Training("n", Course)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Missing(result), HasSubstr("val_accuracy"));
}

TEST(FinalMetric, AnEarlierAccuracyIsNotTheFinalOne) {
  const auto run = [](const std::string& name, bool last) {
    RunFixture fixture = Training(name, Course);
    fixture.Record(200).set_accuracy(0.88);
    if (last) fixture.Record(300).set_accuracy(0.88);
    fixture.Record(300).set_eval_loss(last ? 0.5 : 0.9);
    return fixture;
  };
  EXPECT_EQ(RunOne(kAccuracy, {run("g", true)}, {run("n", true)}).verdict(), v1::VERDICT_PASS);
  const v1::CheckResult result = RunOne(kAccuracy, {run("g", true)}, {run("n", false)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Missing(result), HasSubstr("step 200"));
}

TEST(NonFinite, ACounterOverAnIntervalExcusesOnlyAWholeOne) {
  const auto run = [](double loss, std::int64_t skipped) {
    RunFixture fixture("n", "megatron");
    fixture.log().set_skipped_counted(true);
    for (std::int64_t step = 10; step <= 1000; step += 10) {
      v1::StepRecord& record = fixture.Record(step);
      record.set_loss(step == 500 ? loss : Course(step));
      record.set_skipped(step == 500 ? skipped : 0);
    }
    return fixture;
  };
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {run(kNan, 1)})), ElementsAre("nan_loss"));
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {run(kNan, 10)})), IsEmpty());
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {run(kNan, 0)})), ElementsAre("nan_loss"));
}

TEST(NonFinite, TheFirstStepCountsAsWell) {
  const auto first = [](double value) {
    return [value](std::int64_t step) { return step == 1 ? value : Course(step); };
  };
  for (const double value : {kNan, kInfinity}) {
    EXPECT_THAT(Kinds(RunOne(kCurve, {Training("g", Course)}, {Training("n", first(value))})), ElementsAre("nan_loss"));
    const v1::CheckResult result =
        RunOne("first-step.forward.loss", {Training("g", Course)}, {Training("n", first(value))});
    EXPECT_THAT(Kinds(result), ElementsAre("nan_loss"));
    EXPECT_THAT(Missing(result), Not(HasSubstr("first printed step")));
  }
}

TEST(NonFinite, ARepeatWithNanIsNoRepeat) {
  const auto nan = [](std::int64_t step) { return step > 250 ? kNan : Course(step); };
  const v1::CheckResult result =
      RunOne("baseline.repeatability.curves", {Training("a", Course), Training("b", Course), Training("c", nan)}, {});
  EXPECT_THAT(Kinds(result), Contains("nan_loss"));
}

RunFixture Copied(const std::string& name, const std::string& bytes) {
  RunFixture run = Training(name, Course);
  v1::Note& note = *run.bundle().mutable_evidence(0)->add_notes();
  note.set_kind("log_bytes");
  note.set_message(bytes);
  return run;
}

TEST(Copies, ACopyIsNoRepeat) {
  const std::string timed = "00ff-123 2026-01-01 10:00:00";
  const v1::CheckResult result =
      RunOne("baseline.repeatability.runs",
             {Copied("a", timed), Copied("b", timed), Copied("c", "11-123 2026-01-02 10:00:00")}, {});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Fact(result, "measured", "finished"), 2);
  EXPECT_THAT(Missing(result), HasSubstr("b is not another run"));
  // Without a time of day a deterministic training may print the same bytes.
  const v1::CheckResult untimed = RunOne("baseline.repeatability.runs",
                                         {Copied("a", "00ff-123 "), Copied("b", "00ff-123 "), Copied("c", "1-2 ")}, {});
  EXPECT_EQ(Fact(untimed, "measured", "finished"), 3);
}

TEST(Copies, OneFileIsOneRunAndMeasuredTimesAreNeverAlike) {
  RunFixture a = Training("a", Course);
  RunFixture b = Training("b", Course);
  for (RunFixture* run : {&a, &b}) {
    run->bundle().mutable_plan()->set_plan_file("/job/" + run->bundle().plan().run() + ".yaml");
    run->bundle().mutable_evidence(0)->set_source("gpu/./train.log");
  }
  EXPECT_EQ(Fact(RunOne("baseline.repeatability.runs", {a, b}, {}), "measured", "finished"), 1);
  const auto timed = [](const std::string& name) {
    RunFixture run = Copied(name, "00ff-123 ");
    for (v1::StepRecord& record : *run.log().mutable_records()) {
      (*record.mutable_metrics())[std::string("elapsed time per iteration (ms)")] = 1000 + Jitter(3, record.step());
    }
    return run;
  };
  EXPECT_EQ(Fact(RunOne("baseline.repeatability.runs", {timed("a"), timed("b")}, {}), "measured", "finished"), 1);
}

TEST(Copies, TheBaselinesOwnLogProvesNothing) {
  const std::string timed = "00ff-123 2026-01-01 10:00:00";
  const v1::CheckResult result = RunOne(kCurve, {Copied("g", timed)}, {Copied("n", timed)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Missing(result), HasSubstr("nothing was compared"));
}

RunFixture Scales(const std::vector<double>& scales, std::size_t overflows_at_end = 0) {
  RunFixture run("n");
  run.Flag("fp16", true);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    v1::StepRecord& record = run.Record(static_cast<std::int64_t>(i) + 1);
    record.set_loss(Course(static_cast<std::int64_t>(i) + 1));
    record.set_loss_scale(scales[i]);
    record.set_overflow(i + overflows_at_end >= scales.size());
  }
  return run;
}

TEST(ScaleTrend, AScaleThatIsNoNumberFails) {
  for (const double bad : {kNan, kInfinity, -1.0}) {
    std::vector<double> scales(60, 1024);
    scales[40] = bad;
    const v1::CheckResult result = RunOne(kTrend, {}, {Scales(scales)});
    EXPECT_THAT(Kinds(result), ElementsAre("loss_scale_not_finite")) << bad;
    EXPECT_EQ(Fact(result, "loss_scale_not_finite", "step"), 41);
  }
}

TEST(ScaleTrend, AScaleThatVanishedOrFellFarBelowOneFails) {
  std::vector<double> scales(60, 1024);
  scales.insert(scales.end(), 60, 0);
  EXPECT_THAT(Kinds(RunOne(kTrend, {}, {Scales(scales)})), ElementsAre("scale_falls_without_end"));
  std::vector<double> below(20, 65536);
  for (int i = 1; i <= 30; ++i) below.push_back(65536 / std::exp2(i));
  below.insert(below.end(), 200, below.back());
  EXPECT_THAT(Kinds(RunOne(kTrend, {}, {Scales(below)})), ElementsAre("scale_falls_without_end"));
  // A log that prints 0 throughout says that it has no scaler.
  EXPECT_THAT(Kinds(RunOne(kTrend, {}, {Scales(std::vector<double>(60, 0))})),
              Not(Contains("scale_falls_without_end")));
}

TEST(ScaleTrend, TheFloorIsToldWithTheScaleThatItFellFrom) {
  // 65536 halves every third step down to 1; only the last three records overflow.
  std::vector<double> scales(20, 65536);
  for (double scale = 32768; scale >= 1; scale /= 2) scales.insert(scales.end(), 3, scale);
  const v1::CheckResult result = RunOne(kTrend, {}, {Scales(scales, 3)});
  EXPECT_THAT(Kinds(result), ElementsAre("scale_at_floor"));
  EXPECT_EQ(Fact(result, "scale_at_floor", "from_scale"), 65536);
  EXPECT_THAT(Message(result, "scale_at_floor"), HasSubstr("from 65536 to its minimum 1 in 16 reductions"));
}

TEST(ScaleTrend, RanksAreFollowedEachByItself) {
  std::vector<double> scales(20, 65536);
  for (double scale = 32768; scale >= 1; scale /= 2) scales.insert(scales.end(), 3, scale);
  RunFixture run = Scales(scales, 3);
  run.bundle().mutable_evidence(0)->set_rank(0);
  const v1::RunLog first = run.log();
  run.AddLog();
  run.log() = first;
  run.bundle().mutable_evidence(1)->set_rank(1);
  EXPECT_THAT(Kinds(RunOne(kTrend, {}, {run})), ElementsAre("scale_at_floor"));
}

TEST(Scaler, AScaleThatIsPrintedIsNotAskedFor) {
  RunFixture run = Scales(std::vector<double>(60, 1024));
  const v1::CheckResult enabled = RunOne("migrated.loss-scale.enabled", {}, {run});
  EXPECT_THAT(Missing(enabled), Not(HasSubstr("is not known")));
  RunFixture other("n");
  for (std::int64_t step = 1; step <= 60; ++step) other.Record(step).set_loss_scale(1024);
  const v1::CheckResult on = RunOne("migrated.loss-scale.enabled", {}, {other});
  EXPECT_EQ(on.verdict(), v1::VERDICT_PASS) << on.ShortDebugString();
  EXPECT_THAT(Missing(RunOne("migrated.loss-scale.dynamic", {other}, {other})),
              HasSubstr("prints one loss scale, 1024"));
}

TEST(Texts, ALowerLossKeepsItsSignAndHugeFiguresAreCut) {
  const auto lower = [](std::int64_t step) { return 0.93 * Course(step) * (1 + 0.03 * Jitter(9, step)); };
  const v1::CheckResult result = RunOne(kCurve, {Training("g", Course)}, {Training("n", lower)});
  EXPECT_THAT(Message(result, "loss_lower"), HasSubstr(", by -"));
  EXPECT_EQ(Percent(1e300), "> 1000000 %");
  EXPECT_EQ(Percent(-kInfinity), "< -1000000 %");
  EXPECT_EQ(Percent(0.0052), "0.52 %");
  EXPECT_EQ(Percent(12.345), "1234 %");
}

TEST(Repeats, WhatTheLogsPrintOfSettingsIsCompared) {
  const auto run = [](const std::string& name, double batch, double rate) {
    RunFixture fixture(name);
    for (std::int64_t step = 1; step <= 60; ++step) {
      v1::StepRecord& record = fixture.Record(step);
      record.set_loss(Course(step));
      record.set_lr(rate);
      (*record.mutable_metrics())[std::string("global batch size")] = batch;
    }
    return fixture;
  };
  const std::string check = "baseline.repeatability.settings";
  const v1::CheckResult batch = RunOne(check, {run("a", 256, 1e-4), run("b", 512, 1e-4), run("c", 256, 1e-4)}, {});
  EXPECT_THAT(Kinds(batch), ElementsAre("runs_not_repeats"));
  EXPECT_THAT(Message(batch, "runs_not_repeats"), HasSubstr("512 in b"));
  EXPECT_THAT(Kinds(RunOne(check, {run("a", 256, 1e-4), run("b", 256, 2e-4)}, {})), ElementsAre("runs_not_repeats"));
  EXPECT_THAT(Kinds(RunOne(check, {run("a", 256, 1e-4), run("b", 256, 1e-4)}, {})), IsEmpty());
}

TEST(Repeats, TheBaselineIsHeldAgainstPublishedSettings) {
  const auto published = [](double rate, double accuracy) {
    RunFixture fixture("paper");
    fixture.bundle().clear_evidence();
    fixture.bundle().mutable_plan()->set_role(v1::ROLE_PUBLISHED);
    auto& facts = *fixture.bundle().mutable_plan()->mutable_facts();
    facts["lr"].set_number(rate);
    facts["reference_accuracy"].set_number(accuracy);
    return fixture;
  };
  const auto run = [](const std::string& name) {
    RunFixture fixture = Training(name, Course);
    fixture.Number("lr", 0.1).Record(300).set_accuracy(76.1);
    return fixture.End(v1::RunEnd::STATE_FINISHED);
  };
  const std::string settings = "baseline.repeatability.settings";
  const v1::CheckResult other = RunOne(settings, {run("a"), run("b"), published(0.2, 76)}, {});
  EXPECT_THAT(Kinds(other), ElementsAre("runs_not_repeats"));
  EXPECT_THAT(Message(other, "runs_not_repeats"), HasSubstr("published settings (paper)"));
  EXPECT_EQ(RunOne(settings, {run("a"), run("b"), published(0.1, 76)}, {}).verdict(), v1::VERDICT_PASS);
  // One run agrees with what is published, and is no repeat of anything.
  EXPECT_EQ(RunOne(settings, {run("a"), published(0.1, 76)}, {}).verdict(), v1::VERDICT_NOT_PERFORMED);
  const std::string target = "baseline.repeatability.target";
  EXPECT_EQ(RunOne(target, {published(0.1, 76), run("a"), run("b"), run("c")}, {}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(target, {published(0.1, 79), run("a"), run("b"), run("c")}, {}).verdict(), v1::VERDICT_FAIL);
  // It is no run: nothing of a run is asked of it.
  EXPECT_THAT(Missing(RunOne("cluster.coverage.ranks", {published(0.1, 76)}, {run("n")})), HasSubstr("no run"));
}

TEST(OverflowRate, TheSearchForTheFirstScaleIsToldApart) {
  RunFixture run("n");
  run.Flag("fp16", true);
  run.log().set_overflow_seen(true);
  run.log().set_skipped_counted(true);
  for (std::int64_t step = 1; step <= 1000; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Course(step));
    record.set_skipped(step <= 8 || step == 700 ? 1 : 0);
    record.set_loss_scale(step <= 8 ? 65536 / std::exp2(step) : 256);
  }
  const v1::CheckResult result = RunOne("migrated.loss-scale.overflow-rate", {}, {run});
  EXPECT_THAT(Kinds(result), ElementsAre("overflow_rate_exceeded"));
  EXPECT_THAT(Message(result, "overflow_rate_exceeded"), HasSubstr("8 of them in the first 8 steps"));
  EXPECT_EQ(Fact(result, "overflow_rate_exceeded", "skipped_at_start"), 8);
  EXPECT_NEAR(Fact(result, "overflow_rate_exceeded", "rate_after_start"), 1.0 / 992, 1e-9);
  EXPECT_NEAR(Fact(result, "overflow_rate_exceeded", "rate_low"), 0.004124, 1e-5);
  EXPECT_NEAR(Fact(result, "overflow_rate_exceeded", "rate_high"), 0.017014, 1e-5);
}

}  // namespace
}  // namespace paritect
