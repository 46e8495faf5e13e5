// What a log shows and what it does not: skipped updates, holes, steps that are none, single steps, rates of learning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "checks/series/fixture.h"
#include "checks/series/held_rate.h"
#include "checks/series/validation_metrics.h"

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
constexpr char kRate[] = "migrated.loss-scale.overflow-rate";
constexpr char kSkipped[] = "migrated.loss-scale.skipped-step";
constexpr char kLearning[] = "model.hyperparameters.learning-rate-curve";

double Course(std::int64_t step) {
  return 2 + 6 * std::exp(-static_cast<double>(step) / 60) + 0.05 * Jitter(7, step);
}
double Near(std::int64_t step) {
  return Course(step) * (1 + 0.002 * Jitter(8, step));
}

RunFixture Training(const std::string& name, const std::function<double(std::int64_t)>& loss, std::int64_t steps = 300,
                    std::int64_t first = 1) {
  RunFixture run(name);
  run.Losses(first, steps - first + 1, loss);
  run.End(v1::RunEnd::STATE_FINISHED, steps, steps);
  return run;
}

std::string Missing(const v1::CheckResult& result) {
  std::string all;
  for (const v1::Missing& one : result.missing()) all += one.what().en() + "\n";
  return all;
}

// fp16, every step printed, the learning rate falls by one part in a thousand a step but where `holds`.
RunFixture Flagged(const std::string& format, const std::vector<std::int64_t>& overflows, bool holds,
                   bool by_norm = false) {
  RunFixture run("n", format);
  run.Flag("fp16", true);
  double rate = 1e-4;
  for (std::int64_t step = 1; step <= 1000; ++step) {
    v1::StepRecord& record = run.Record(step);
    const bool skips = std::find(overflows.begin(), overflows.end(), step) != overflows.end();
    record.set_loss(Course(step));
    if (by_norm) {
      record.set_grad_norm(skips ? kInfinity : 1);
    } else {
      record.set_overflow(skips);
    }
    if (!skips || !holds) rate -= 1e-7;
    record.set_lr(rate);
  }
  return run;
}

TEST(SkippedStep, AScheduleThatGoesOnShowsThatTheUpdateWasMade) {
  EXPECT_THAT(Kinds(RunOne(kSkipped, {}, {Flagged("mindformers", {101, 102, 501}, false)})),
              ElementsAre("overflow_applied"));
  const v1::CheckResult held = RunOne(kSkipped, {}, {Flagged("mindformers", {101, 102, 501}, true)});
  EXPECT_EQ(held.verdict(), v1::VERDICT_PASS) << held.ShortDebugString();
  EXPECT_EQ(Fact(held, "measured", "schedule_held"), 3);
  // A script of one's own steps its schedule as it likes: the flags alone show nothing.
  const v1::CheckResult own = RunOne(kSkipped, {}, {Flagged("text", {101, 102, 501}, false)});
  EXPECT_EQ(own.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Missing(own), HasSubstr("nothing in the log shows"));
}

TEST(SkippedStep, AnInfiniteNormWithAScheduleThatStandsStillWasSkipped) {
  const v1::CheckResult held = RunOne(kRate, {}, {Flagged("hf-trainer-state", {1, 2, 3}, true, true)});
  EXPECT_THAT(Kinds(held), IsEmpty()) << held.ShortDebugString();
  EXPECT_EQ(Fact(held, "measured", "skipped"), 3);
  EXPECT_THAT(Kinds(RunOne(kRate, {}, {Flagged("hf-trainer-state", {100, 200, 300}, false, true)})),
              Contains("overflow_undetected"));
}

TEST(SkippedStep, ReductionsThatNoCounterCountsAreNoPass) {
  RunFixture run("n", "megatron");
  run.Flag("fp16", true);
  run.log().set_skipped_counted(true);
  for (std::int64_t step = 1; step <= 400; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Course(step));
    record.set_skipped(0);
    record.set_loss_scale(65536 / std::exp2(std::floor(static_cast<double>(step) / 100)));
  }
  const v1::CheckResult result = RunOne(kSkipped, {}, {run});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Missing(result), HasSubstr("reduced 4 times"));
}

TEST(OverflowRate, ACounterThatStandsStillDoesNotBeatLines) {
  RunFixture run("n", "deepspeed");
  run.Flag("fp16", true);
  run.log().set_skipped_counted(true);
  run.log().set_overflow_seen(true);
  for (std::int64_t step = 1; step <= 1000; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Course(step));
    record.set_skipped(0);
    if (step % 50 == 0 && step < 1000) record.set_overflow(true);
  }
  const v1::CheckResult result = RunOne(kRate, {}, {run});
  EXPECT_THAT(Kinds(result), ElementsAre("overflow_rate_exceeded"));
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("conflict_within_side"));
}

TEST(OverflowRate, ACumulativeCounterThatGoesOnIsNotCountedTwice) {
  RunFixture run("n", "deepspeed");
  run.Flag("fp16", true);
  const auto fill = [&](std::int64_t first, std::int64_t last, const std::map<std::int64_t, std::int64_t>& skipped) {
    run.log().set_skipped_counted(true);
    for (std::int64_t step = first; step <= last; step += 10) {
      v1::StepRecord& record = run.Record(step);
      record.set_loss(Course(step));
      const auto found = skipped.find(step);
      record.set_skipped(found == skipped.end() ? 0 : found->second);
    }
  };
  fill(10, 1000, {{100, 2}, {300, 3}});
  run.AddLog("deepspeed");
  fill(960, 2000, {{960, 5}, {1500, 1}});  // its first value is what the checkpoint held
  const v1::CheckResult result = RunOne(kRate, {}, {run});
  EXPECT_THAT(Kinds(result), IsEmpty()) << result.ShortDebugString();
  EXPECT_EQ(Fact(result, "measured", "skipped"), 6);
}

RunFixture FromTheMiddle(const char* format, std::int64_t at_first, std::int64_t later) {
  RunFixture run("n", format);
  run.Flag("fp16", true);
  run.log().set_skipped_counted(true);
  for (std::int64_t step = 5010; step <= 7000; step += 10) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Course(step));
    record.set_skipped(step == 5010 ? at_first : step == 6000 ? later : 0);
  }
  return run;
}

TEST(OverflowRate, WhatACounterHoldsWhereTheLogBeginsWasSkippedBefore) {
  // DeepSpeed's counts from the start of the run; Megatron's since the last line.
  EXPECT_THAT(Kinds(RunOne(kRate, {}, {FromTheMiddle("deepspeed", 300, 0)})), IsEmpty());
  EXPECT_THAT(Kinds(RunOne(kRate, {}, {FromTheMiddle("deepspeed", 300, 15)})), ElementsAre("overflow_rate_exceeded"));
  EXPECT_THAT(Kinds(RunOne(kRate, {}, {FromTheMiddle("megatron", 10, 10)})), ElementsAre("overflow_rate_exceeded"));
}

TEST(OverflowRate, MoreSkippedStepsThanStepsDecideNothing) {
  const v1::CheckResult result = RunOne(kRate, {}, {FromTheMiddle("megatron", 0, 26000)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Kinds(result), IsEmpty());
  EXPECT_THAT(Missing(result), HasSubstr("26000 skipped steps over 2000 steps"));
}

TEST(Holes, WhatALogLacksInItsMiddlePassesNothing) {
  RunFixture run("n");
  run.Flag("fp16", true);
  run.log().set_skipped_counted(true);
  for (std::int64_t step = 1; step <= 1200; ++step) {
    if (step > 400 && step <= 800) continue;
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Near(step));
    record.set_skipped(0);
  }
  run.End(v1::RunEnd::STATE_FINISHED, 1200, 1200);
  for (const char* check : {kRate, kSkipped, kCurve, kScenario}) {
    const v1::CheckResult result = RunOne(check, {Training("g", Course, 1200)}, {run});
    EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED) << check;
    EXPECT_THAT(Missing(result), HasSubstr("lacks steps 401 to 800")) << check;
  }
}

TEST(Holes, AnIntervalThatChangesIsNone) {
  RunFixture run("n");
  for (std::int64_t step = 1; step <= 100; ++step) run.Record(step).set_loss(Near(step));
  for (std::int64_t step = 110; step <= 1000; step += 10) run.Record(step).set_loss(Near(step));
  run.End(v1::RunEnd::STATE_FINISHED, 1000, 1000);
  EXPECT_THAT(Missing(RunOne(kCurve, {Training("g", Course, 1000)}, {run})), Not(HasSubstr("lacks steps")));
}

TEST(Lengths, AShorterTrainingIsNotTheWhole) {
  const v1::CheckResult result = RunOne(kCurve, {Training("g", Course, 1000)}, {Training("n", Near, 300)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Missing(result), HasSubstr("ends by its own word at step 300"));
  EXPECT_EQ(RunOne(kCurve, {Training("g", Course, 300)}, {Training("n", Near, 450)}).verdict(), v1::VERDICT_PASS);
}

TEST(SingleSteps, OneStepIsNoFailureAndDoesNotHideThePairing) {
  for (const double factor : {3.0, 30.0, 100.0}) {
    const auto spike = [factor](std::int64_t step) { return Near(step) * (step == 151 ? factor : 1); };
    const v1::CheckResult result = RunOne(kCurve, {Training("g", Course)}, {Training("n", spike)});
    EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << factor << result.ShortDebugString();
  }
  const auto spike = [](std::int64_t step) { return Near(step) * (step == 151 ? 100 : 1); };
  const v1::CheckResult result = RunOne(kCurve, {Training("g", Course)}, {Training("n", spike)});
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("one_step_far_off"));
  EXPECT_EQ(Fact(result, "measured", "left_out_step"), 151);
}

TEST(SingleSteps, AnEndThatStaysApartIsNone) {
  // The last 1 % is doubled: the mean moves by 1 %, the last tenth by 10 %, and nothing came back.
  const auto end = [](std::int64_t step) { return Near(step) * (step > 990 ? 2 : 1); };
  for (const char* check : {kCurve, kScenario}) {
    EXPECT_EQ(RunOne(check, {Training("g", Course, 1000)}, {Training("n", end, 1000)}).verdict(), v1::VERDICT_FAIL)
        << check;
  }
}

TEST(Zeros, LossesThatWereNeverNearZeroDoNotRoundToIt) {
  const auto zeros = [](std::int64_t step) { return step >= 299 ? 0 : Near(step); };
  EXPECT_THAT(Kinds(RunOne(kCurve, {Training("g", Course)}, {Training("n", zeros)})), Contains("nan_suspected"));
  const auto pairs = [](std::int64_t step) { return step % 100 < 2 && step >= 100 ? 0 : Near(step); };
  EXPECT_THAT(Kinds(RunOne(kCurve, {Training("g", Course)}, {Training("n", pairs)})), Contains("nan_suspected"));
  // A hinge loss does.
  const auto hinge = [](std::int64_t step) { return std::max(0.0, 0.2 * Jitter(5, step)); };
  RunFixture run("n");
  run.Losses(1, 300, hinge);
  v1::StepRecord& last = run.Record(301);
  last.set_loss(0);
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {run})).size(), testing::Le(1u));
}

TEST(Aborts, ATrainingThatStopsForNanIsOne) {
  RunFixture run = Training("n", Near, 250);
  run.log().mutable_end()->set_state(v1::RunEnd::STATE_ABORTED);
  run.log().mutable_end()->set_evidence("epoch: 1 step: 251. Invalid loss, terminating training.");
  EXPECT_THAT(Kinds(RunOne(kCurve, {Training("g", Course)}, {run})), Contains("nan_loss"));
  EXPECT_THAT(Kinds(RunOne(kScenario, {Training("g", Course)}, {run})), Contains("nan_loss"));
}

TEST(Scenario, ALogThatBeginsLaterIsMeasuredAgainstThatPart) {
  const v1::CheckResult result = RunOne(kScenario, {Training("g", Course, 2000)}, {Training("n", Near, 2000, 501)});
  EXPECT_THAT(Kinds(result), IsEmpty()) << result.ShortDebugString();
}

TEST(Scenario, UnfinishedRunsOfEitherSideDoNotPass) {
  RunFixture baseline = Training("g", Course);
  baseline.log().mutable_end()->set_state(v1::RunEnd::STATE_UNFINISHED);
  baseline.log().mutable_end()->set_total_steps(600);
  RunFixture run = Training("n", Near);
  for (RunFixture* one : {&baseline, &run}) one->Record(300).set_eval_loss(2);
  EXPECT_EQ(RunOne(kScenario, {baseline}, {run}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

RunFixture ByOrder(const std::string& name, std::int64_t lines, double epoch_of_line) {
  RunFixture run(name, "hf-trainer-stdout");
  run.Note("steps_by_order");
  for (std::int64_t line = 1; line <= lines; ++line) {
    v1::StepRecord& record = run.Record(line);
    record.set_loss(Course(static_cast<std::int64_t>(400 * epoch_of_line * static_cast<double>(line))));
    record.set_epoch(epoch_of_line * static_cast<double>(line));
  }
  return run;
}

TEST(Order, LinesAreNoSteps) {
  const v1::CheckResult apart = RunOne(kCurve, {ByOrder("g", 200, 0.005)}, {ByOrder("n", 80, 0.0125)});
  EXPECT_EQ(apart.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Kinds(apart), IsEmpty());
  EXPECT_THAT(Missing(apart), HasSubstr("tells no step"));
  EXPECT_EQ(RunOne(kCurve, {ByOrder("g", 200, 0.005)}, {ByOrder("n", 200, 0.005)}).verdict(), v1::VERDICT_PASS);
  const v1::CheckResult first =
      RunOne("first-step.forward.loss", {ByOrder("g", 200, 0.005)}, {ByOrder("n", 200, 0.005)});
  EXPECT_EQ(first.verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(LossTerms, SumsOfOtherTermsAreNotCompared) {
  const auto summed = [](const std::string& name, const std::vector<std::string>& terms) {
    RunFixture run = Training(name, name == "g" ? Course : Near);
    for (const std::string& term : terms) {
      run.Note("loss_term");
      run.log().mutable_notes(run.log().notes_size() - 1)->set_message(term);
    }
    return run;
  };
  const RunFixture all = summed("g", {"box_loss", "cls_loss", "dfl_loss"});
  EXPECT_EQ(RunOne(kCurve, {all}, {summed("n", {"box_loss", "cls_loss", "dfl_loss"})}).verdict(), v1::VERDICT_PASS);
  const v1::CheckResult fewer = RunOne(kCurve, {all}, {summed("n", {"box_loss", "cls_loss"})});
  EXPECT_EQ(fewer.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Kinds(fewer), IsEmpty());
  EXPECT_THAT(Missing(fewer), HasSubstr("box_loss + cls_loss + dfl_loss"));
  // A whole that is printed stands against a sum.
  EXPECT_EQ(RunOne(kCurve, {all}, {Training("n", Near)}).verdict(), v1::VERDICT_PASS);
}

RunFixture Rates(const std::string& name, const std::function<double(std::int64_t)>& rate) {
  RunFixture run(name);
  for (std::int64_t step = 1; step <= 300; ++step) run.Record(step).set_lr(rate(step));
  run.End(v1::RunEnd::STATE_FINISHED, 300, 300);
  return run;
}

TEST(LearningRate, SingleStepsAreToldAndNanFails) {
  const auto flat = [](std::int64_t) { return 1e-4; };
  const auto three = [](std::int64_t step) { return step > 100 && step <= 103 ? 5e-4 : 1e-4; };
  const v1::CheckResult result = RunOne(kLearning, {Rates("g", flat)}, {Rates("n", three)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("lr_single_steps"));
  const auto nan = [](std::int64_t step) { return step > 100 ? kNan : 1e-4; };
  EXPECT_THAT(Kinds(RunOne(kLearning, {Rates("g", flat)}, {Rates("n", nan)})), Contains("lr_not_finite"));
}

TEST(LearningRate, AnEndThatDecaysIsNoOtherSpeed) {
  const auto flat = [](std::int64_t) { return 1e-4; };
  const auto late = [](std::int64_t step) { return step > 294 ? 1e-5 : 1e-4; };
  EXPECT_THAT(Kinds(RunOne(kLearning, {Rates("g", flat)}, {Rates("n", late)})), ElementsAre("lr_curve_differs"));
  const auto cosine = [](double step) { return 1e-4 * (1 + std::cos(std::min(1.0, step / 600) * 3.141592653589793)); };
  const v1::CheckResult faster =
      RunOne(kLearning, {Rates("g", [&](std::int64_t step) { return cosine(static_cast<double>(step)); })},
             {Rates("n", [&](std::int64_t step) { return cosine(8 * static_cast<double>(step)); })});
  EXPECT_THAT(Kinds(faster), ElementsAre("schedule_faster"));
  EXPECT_EQ(Fact(faster, "schedule_faster", "ratio"), 8);
}

TEST(RunningMean, ASmoothedSideIsComparedWithTheOthersMean) {
  const auto noisy = [](std::int64_t step) { return Course(step) * (1 + 0.05 * Jitter(21, step)); };
  double mean = noisy(1);
  std::vector<double> smooth;
  for (std::int64_t step = 1; step <= 600; ++step) {
    mean += 2.0 / 21 * (noisy(step) * (1 + 0.001 * Jitter(22, step)) - mean);
    smooth.push_back(mean);
  }
  const auto printed = [&](std::int64_t step) { return smooth[static_cast<std::size_t>(step - 1)]; };
  const v1::CheckResult result = RunOne(kCurve, {Training("g", noisy, 600)}, {Training("n", printed, 600)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("running_mean"));
  // A difference is not hidden by it.
  const auto apart = [&](std::int64_t step) { return printed(step) * (step > 300 ? 1.06 : 1); };
  EXPECT_EQ(RunOne(kCurve, {Training("g", noisy, 600)}, {Training("n", apart, 600)}).verdict(), v1::VERDICT_FAIL);
}

TEST(ValidationMetrics, NamesTellTheSense) {
  for (const char* name :
       {"eval_f1", "metrics/mAP50-95(B)", "coco/bbox_mAP", "eval_rouge1", "val_top_k_acc", "eval/em"}) {
    ASSERT_TRUE(SenseOf(name).has_value()) << name;
    EXPECT_TRUE(SenseOf(name)->higher_is_better) << name;
  }
  for (const char* name : {"eval_wer", "val_ppl", "val/cls_loss"}) {
    ASSERT_TRUE(SenseOf(name).has_value()) << name;
    EXPECT_FALSE(SenseOf(name)->higher_is_better) << name;
  }
  for (const char* name : {"eval_runtime", "train_acc", "eval_samples_per_second", "f1", "interval", "loss"}) {
    EXPECT_FALSE(SenseOf(name).has_value()) << name;
  }
}

TEST(ValidationMetrics, OneThatIsWorseFailsThoughTheLossAgrees) {
  const auto run = [](const std::string& name, double f1, std::optional<double> loss) {
    RunFixture fixture = Training(name, Near);
    v1::StepRecord& record = fixture.Record(300);
    if (loss.has_value()) record.set_eval_loss(*loss);
    (*record.mutable_metrics())[std::string("eval_f1")] = f1;
    return fixture;
  };
  const std::string check = "training.flow.accuracy";
  for (const std::optional<double> loss : {std::optional<double>(0.5), std::optional<double>()}) {
    EXPECT_THAT(Kinds(RunOne(check, {run("g", 0.88, loss)}, {run("n", 0.60, loss)})), Contains("accuracy_differs"));
    EXPECT_THAT(Kinds(RunOne(kScenario, {run("g", 0.88, loss)}, {run("n", 0.60, loss)})),
                Contains("scenario_accuracy"));
    EXPECT_EQ(RunOne(check, {run("g", 0.88, loss)}, {run("n", 0.879, loss)}).verdict(), v1::VERDICT_PASS);
    EXPECT_THAT(Kinds(RunOne(check, {run("g", 0.88, loss)}, {run("n", kNan, loss)})), Contains("accuracy_differs"));
  }
}

// A cosine hardly moves where it ends; only one and the same rate stood still.
TEST(HeldRate, TheEndOfACosine) {
  std::vector<v1::StepRecord> records(100);
  std::vector<const v1::StepRecord*> pointers;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(records.size());
    records[i].set_step(static_cast<std::int64_t>(i));
    records[i].set_lr(1e-4 * (1 + std::cos(3.14159265358979 * share)));
    pointers.push_back(&records[i]);
  }
  EXPECT_EQ(HeldRateAt(pointers, 98), HeldRate::kMoved);
  EXPECT_EQ(HeldRateAt(pointers, 99), HeldRate::kUnknown);  // the rate of the step behind it is not printed
  records[99].set_lr(records[98].lr());
  EXPECT_EQ(HeldRateAt(pointers, 98), HeldRate::kHeld);
}

TEST(HeldRate, NeedsARateThatMoves) {
  std::vector<v1::StepRecord> records(30);
  std::vector<const v1::StepRecord*> pointers;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].set_step(static_cast<std::int64_t>(i));
    records[i].set_lr(1e-4 - 1e-7 * static_cast<double>(i > 15 ? i - 1 : i));
    pointers.push_back(&records[i]);
  }
  records[16].set_overflow(true);
  EXPECT_EQ(HeldRateAt(pointers, 16), HeldRate::kHeld);
  EXPECT_EQ(HeldRateAt(pointers, 10), HeldRate::kMoved);
  for (v1::StepRecord& record : records) record.set_lr(1e-4);
  EXPECT_EQ(HeldRateAt(pointers, 16), HeldRate::kUnknown);
  for (v1::StepRecord& record : records) record.clear_lr();
  EXPECT_EQ(HeldRateAt(pointers, 16), HeldRate::kUnknown);
}

}  // namespace
}  // namespace paritect
