// Pairs of runs that invite a wrong pass or a false alarm: each stands for a kind.
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

using Steps = std::function<void(std::int64_t step, v1::StepRecord& record)>;

RunFixture RunOf(const std::string& name, std::int64_t first, std::int64_t last, const Steps& fill,
                 std::int64_t by = 1) {
  RunFixture run(name);
  for (std::int64_t step = first; step <= last; step += by) fill(step, run.Record(step));
  return run;
}

double Loss(std::int64_t step) {
  return (2 + 5 * std::exp(-static_cast<double>(step) / 50)) * (1 + 0.02 * Jitter(1, step));
}

RunFixture Losses(const std::string& name, const std::function<double(std::int64_t)>& loss, std::int64_t first = 1,
                  std::int64_t last = 200, std::int64_t by = 1) {
  return RunOf(
      name, first, last, [&](std::int64_t step, v1::StepRecord& r) { r.set_loss(loss(step)); }, by);
}

RunFixture Norms(const std::string& name, const std::function<double(std::int64_t)>& factor, std::int64_t last = 200) {
  return RunOf(name, 1, last, [&](std::int64_t step, v1::StepRecord& r) {
    r.set_loss(Loss(step));
    r.set_grad_norm(2 * factor(step) * (1 + 0.001 * Jitter(3, step)));
  });
}

double One(std::int64_t) {
  return 1;
}

RunFixture Scaled(const std::string& name, std::int64_t last, const Steps& fill) {
  RunFixture run = RunOf(name, 1, last, fill);
  return run.Flag("fp16", true);
}

// --- first step ----------------------------------------------------------------------------------

TEST(RunTraps, TheTenthStepIsNotTheFirst) {
  const std::string id = "first-step.forward.loss";
  const v1::CheckResult same = RunOne(id, {Losses("gpu", Loss, 10, 200, 10)}, {Losses("npu", Loss, 10, 200, 10)});
  EXPECT_EQ(same.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Kinds(same, v1::SEVERITY_NOTE), ElementsAre("first_printed_step"));
  const auto other = [](std::int64_t step) { return 1.2 * Loss(step); };
  EXPECT_EQ(
      RunOne(id, {Losses("gpu", Loss, 50, 200).Number("seed", 1)}, {Losses("npu", other, 50, 200).Number("seed", 1)})
          .verdict(),
      v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(RunOne(id, {Losses("gpu", Loss)}, {Losses("npu", Loss, 10, 200, 10)}).verdict(), v1::VERDICT_NOT_PERFORMED);
  const auto norms = [](const std::string& name) {
    return RunOf(
        name, 10, 200, [](std::int64_t, v1::StepRecord& r) { r.set_grad_norm(1); }, 10);
  };
  EXPECT_EQ(RunOne("first-step.gradients.gradients", {norms("gpu")}, {norms("npu")}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
}

TEST(RunTraps, FrameworksCountTheFirstStepFromZeroOrOne) {
  const auto shifted = [](std::int64_t step) { return Loss(step + 1); };
  const v1::CheckResult result =
      RunOne("first-step.forward.loss", {Losses("gpu", shifted, 0, 199)}, {Losses("npu", Loss, 1, 200)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
}

TEST(RunTraps, ALogThatBeginsWithAResumeShowsNoFirstStep) {
  RunFixture npu = Losses("npu", Loss);
  v1::Segment& segment = *npu.log().add_segments();
  segment.set_first(1);
  segment.set_last(200);
  segment.set_resumed_from(1000);
  EXPECT_EQ(RunOne("first-step.forward.loss", {Losses("gpu", Loss)}, {npu}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(RunTraps, OneSeedIsNoProofOfEqualWeights) {
  const auto other = [](std::int64_t step) { return 1.1 * Loss(step); };
  const v1::CheckResult result = RunOne("first-step.forward.loss", {Losses("gpu", Loss).Number("seed", 1)},
                                        {Losses("npu", other).Number("seed", 1)});
  ASSERT_THAT(Kinds(result), ElementsAre("first_loss_differs"));
  EXPECT_THAT(result.findings(0).message().en(), ::testing::HasSubstr("does not show equal initial weights"));
}

TEST(RunTraps, TheFirstNormEightTimesAsLargeIsTheAccumulation) {
  const v1::CheckResult result =
      RunOne("first-step.gradients.gradients", {Norms("gpu", One).Number("gradient_accumulation_steps", 8)},
             {Norms("npu", [](std::int64_t) { return 8; }).Number("gradient_accumulation_steps", 8)});
  ASSERT_THAT(Kinds(result), ElementsAre("first_gradient_differs"));
  EXPECT_THAT(result.findings(0).message().en(), ::testing::HasSubstr("gradient_accumulation_steps 8"));
}

// --- convergence ---------------------------------------------------------------------------------

TEST(RunTraps, ALossThatStandsStillIsScenarioOne) {
  const auto flat = [](std::int64_t step) { return 7 * (1 + 0.02 * Jitter(5, step)); };
  const v1::CheckResult result = RunOne("convergence.scenario", {Losses("gpu", Loss)}, {Losses("npu", flat)});
  EXPECT_THAT(Kinds(result), ElementsAre("scenario_no_convergence"));
  EXPECT_EQ(Fact(result, "scenario_no_convergence", "scenario"), 1);
  // Alone it tells nothing; where the baseline stands still as well (a fine-tuned model), the curves decide.
  EXPECT_EQ(RunOne("convergence.scenario", {}, {Losses("npu", flat)}).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Kinds(RunOne("convergence.scenario", {Losses("gpu", flat)}, {Losses("npu", flat)})), IsEmpty());
}

// --- gradients -----------------------------------------------------------------------------------

TEST(RunTraps, NormsThatExplodeAreFound) {
  const std::string id = "training.flow.state";
  const auto at_end = [](std::int64_t step) { return step > 190 ? 50.0 : 1.0; };
  EXPECT_THAT(Kinds(RunOne(id, {Norms("gpu", One)}, {Norms("npu", at_end)})), ElementsAre("gradients_explode"));
  const auto in_the_middle = [](std::int64_t step) { return step > 90 && step < 110 ? 50.0 : 1.0; };
  EXPECT_THAT(Kinds(RunOne(id, {Norms("gpu", One)}, {Norms("npu", in_the_middle)})), ElementsAre("gradients_explode"));
  const auto once = [](std::int64_t step) { return step == 100 ? 50.0 : 1.0; };
  const v1::CheckResult single = RunOne(id, {Norms("gpu", One)}, {Norms("npu", once)});
  EXPECT_EQ(single.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(single, v1::SEVERITY_WARNING), ElementsAre("gradient_norm_differs"));
  EXPECT_THAT(Kinds(RunOne(id, {Norms("gpu", once)}, {Norms("npu", One)}), v1::SEVERITY_WARNING), IsEmpty());
}

// --- ratios --------------------------------------------------------------------------------------

std::string RatioTold(double factor, double accumulation) {
  RunFixture gpu = Losses("gpu", Loss);
  RunFixture npu = Losses("npu", [factor](std::int64_t step) { return factor * Loss(step); });
  if (accumulation > 0) npu.Number("gradient_accumulation_steps", accumulation);
  const v1::CheckResult result = RunOne("training.flow.loss-curve", {gpu}, {npu});
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() == "constant_ratio") return finding.message().en();
  }
  return "";
}

TEST(RunTraps, ARatioIsExplainedOnlyByWhatEqualsIt) {
  EXPECT_THAT(RatioTold(2, 2), ::testing::HasSubstr("gradient_accumulation_steps 2 of npu"));
  EXPECT_THAT(RatioTold(0.125, 8), ::testing::HasSubstr("gradient_accumulation_steps 8 of npu"));
  EXPECT_THAT(RatioTold(2, 0), ::testing::HasSubstr("the configuration names none"));
  EXPECT_THAT(RatioTold(1.05, 0), ::testing::HasSubstr("its cause is not known"));
  EXPECT_THAT(RatioTold(1.05, 4), ::testing::HasSubstr("its cause is not known"));
}

TEST(RunTraps, AScheduleThatIsTooFastIsNamedAfterTheWorldSize) {
  const auto linear = [](const std::string& name, double factor) {
    return RunOf(name, 1, 80, [factor](std::int64_t step, v1::StepRecord& r) {
      r.set_lr(std::max(0.0, 1e-4 * (1 - factor * static_cast<double>(step - 1) / 80)));
    });
  };
  const v1::CheckResult result =
      RunOne("model.hyperparameters.learning-rate-curve", {linear("gpu", 1).Number("world_size", 8)},
             {linear("npu", 8).Number("world_size", 8)});
  ASSERT_THAT(Kinds(result), ElementsAre("schedule_faster"));
  EXPECT_THAT(result.findings(0).message().en(), ::testing::HasSubstr("world_size 8 of npu"));
}

TEST(RunTraps, ARateThatIsAMultipleIsExplainedByTheRatesThatWereSet) {
  const auto steady = [](const std::string& name, double rate) {
    return RunOf(name, 1, 80, [rate](std::int64_t, v1::StepRecord& r) { r.set_lr(rate); });
  };
  const auto told = [&](RunFixture npu) {
    const v1::CheckResult result =
        RunOne("model.hyperparameters.learning-rate-curve", {steady("gpu", 1e-3).Number("lr", 1e-3)}, {npu});
    return result.findings_size() == 1 ? result.findings(0).message().en() : "";
  };
  const std::string by_rates = "the quotient of the base learning rates 0.001 and 0.002";
  // Two devices are no reason where both sides state the rates themselves.
  EXPECT_THAT(told(steady("npu", 2e-3).Number("lr", 2e-3).Number("world_size", 2)), ::testing::HasSubstr(by_rates));
  EXPECT_THAT(told(steady("npu", 2e-3).Number("lr", 1e-3).Number("world_size", 2)),
              ::testing::HasSubstr("world_size 2 of npu"));
}

TEST(RunTraps, OverflowsThatFollowFromALossThatIsNoNumberSaySinceWhen) {
  const auto since = [](std::int64_t lost_from, std::int64_t overflows_from) {
    const RunFixture npu = RunOf("npu", 1, 200, [=](std::int64_t step, v1::StepRecord& r) {
      r.set_loss(step >= lost_from ? std::numeric_limits<double>::quiet_NaN() : Loss(step));
      r.set_overflow(step >= overflows_from);
      r.set_skipped(step >= overflows_from ? 1 : 0);
      r.set_loss_scale(step >= overflows_from ? std::ldexp(65536.0, static_cast<int>(overflows_from - step)) : 65536);
    });
    const v1::CheckResult result = RunOne("migrated.loss-scale.overflow-rate", {}, {npu});
    const auto found = std::find_if(result.findings().begin(), result.findings().end(),
                                    [](const v1::Finding& f) { return f.kind() == "overflow_rate_exceeded"; });
    if (found == result.findings().end()) return std::int64_t{-1};
    const auto fact = found->facts().fields().find("step");
    return fact == found->facts().fields().end() ? 0 : static_cast<std::int64_t>(fact->second.number_value());
  };
  EXPECT_EQ(since(150, 150), 150);
  EXPECT_EQ(since(150, 151), 151);   // the scale is printed with the next step
  EXPECT_EQ(since(1000, 150), 0);    // no loss is lost
  EXPECT_EQ(since(150, 100), 0);     // they come without it, too
}

TEST(RunTraps, ASmallSteadyDifferenceIsTold) {
  const std::string id = "training.flow.loss-curve";
  const auto biased = [](std::int64_t step) { return Loss(step) * (1.008 + 0.002 * Jitter(11, step)); };
  const v1::CheckResult result = RunOne(id, {Losses("gpu", Loss)}, {Losses("npu", biased)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), ElementsAre("loss_biased"));
  const auto around = [](std::int64_t step) { return Loss(step) * (1 + 0.01 * Jitter(11, step)); };
  EXPECT_THAT(Kinds(RunOne(id, {Losses("gpu", Loss)}, {Losses("npu", around)}), v1::SEVERITY_WARNING), IsEmpty());
}

// Losses of a regression that has learnt: 0.005 against 0.008 is an absolute difference of 0.003.
TEST(RunTraps, SmallLossesThatLieFarApartFail) {
  const std::string id = "training.flow.loss-curve";
  const auto small = [](std::int64_t step) { return 0.002 * Loss(step); };
  const auto times = [&](double factor, double jitter) {
    return [=](std::int64_t step) { return small(step) * factor * (1 + jitter * Jitter(11, step)); };
  };
  for (const double factor : {1.6, 0.6}) {
    for (const double jitter : {0.0, 0.01}) {
      const v1::CheckResult result = RunOne(id, {Losses("gpu", small)}, {Losses("npu", times(factor, jitter))});
      EXPECT_EQ(result.verdict(), v1::VERDICT_FAIL) << factor << " " << jitter;
      EXPECT_THAT(Kinds(result), ElementsAre("loss_small_values")) << factor << " " << jitter;
    }
  }
  const v1::CheckResult around = RunOne(id, {Losses("gpu", small)}, {Losses("npu", times(1, 0.01))});
  EXPECT_EQ(around.verdict(), v1::VERDICT_PASS);
}

TEST(RunTraps, LossesAroundZeroAreMeasuredByTheirUsualSize) {
  const std::string id = "training.flow.loss-curve";
  const auto policy = [](std::int64_t step) { return 10 * std::sin(static_cast<double>(step)); };
  const auto noisy = [&](std::int64_t step) { return policy(step) + 0.05 * Jitter(4, step); };
  const auto shifted = [&](std::int64_t step) { return noisy(step) + 1; };
  const v1::CheckResult alike = RunOne(id, {Losses("gpu", policy)}, {Losses("npu", noisy)});
  EXPECT_EQ(alike.verdict(), v1::VERDICT_PASS) << alike.ShortDebugString();
  EXPECT_EQ(RunOne(id, {Losses("gpu", policy)}, {Losses("npu", shifted)}).verdict(), v1::VERDICT_FAIL);
}

// --- spikes --------------------------------------------------------------------------------------

TEST(RunTraps, MoreSpikesThanTheBaselineAreAWarning) {
  const auto spiky = [](std::int64_t step) { return Loss(step) * (step > 60 && step % 40 == 0 ? 1.6 : 1); };
  const v1::CheckResult result =
      RunOne("training.flow.loss-curve", {Losses("gpu", Loss, 1, 400)}, {Losses("npu", spiky, 1, 400)});
  EXPECT_THAT(Kinds(result, v1::SEVERITY_WARNING), Contains("loss_spikes"));
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {Losses("gpu", spiky, 1, 400)}, {Losses("npu", spiky, 1, 400)}),
                    v1::SEVERITY_WARNING),
              IsEmpty());
}

// --- loss scale ----------------------------------------------------------------------------------

TEST(RunTraps, OneCleanStepDoesNotEndAFall) {
  // 20 halvings from 65536, then a clean step.
  const RunFixture low = Scaled("npu", 21, [](std::int64_t step, v1::StepRecord& r) {
    r.set_loss_scale(std::ldexp(65536, -static_cast<int>(std::min<std::int64_t>(step, 20))));
    r.set_overflow(step < 21);
  });
  EXPECT_THAT(Kinds(RunOne("migrated.loss-scale.trend", {}, {low})), ElementsAre("scale_falls_without_end"));
  // From 2^32 they end at 4096: found, or still searching? Twenty clean steps later it is found.
  const auto search = [](std::int64_t clean) {
    return Scaled("npu", 20 + clean, [](std::int64_t step, v1::StepRecord& r) {
      r.set_loss_scale(std::ldexp(1, 32 - static_cast<int>(std::min<std::int64_t>(step, 20))));
      r.set_overflow(step <= 20);
    });
  };
  EXPECT_EQ(RunOne("migrated.loss-scale.trend", {}, {search(1)}).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(RunOne("migrated.loss-scale.trend", {}, {search(100)}).verdict(), v1::VERDICT_PASS);
}

TEST(RunTraps, AScaleThatOnlyFallsOverTheWholeRunFails) {
  const RunFixture run = Scaled("npu", 1050, [](std::int64_t step, v1::StepRecord& r) {
    r.set_loss_scale(std::ldexp(1, 24 - static_cast<int>(step / 100)));
    r.set_overflow(step % 100 == 0);
  });
  const RunFixture faster = Scaled("npu", 1000, [](std::int64_t step, v1::StepRecord& r) {
    r.set_loss_scale(std::ldexp(1, 30 - static_cast<int>(step / 50)));
    r.set_overflow(step % 50 == 0);
  });
  EXPECT_THAT(Kinds(RunOne("migrated.loss-scale.trend", {}, {faster})), ElementsAre("scale_falls_without_end"));
  // Ten reductions over a thousand steps, then peace.
  EXPECT_EQ(RunOne("migrated.loss-scale.trend", {}, {run}).verdict(), v1::VERDICT_PASS);
}

TEST(RunTraps, ReductionsOfTheScaleAreOverflowsWhateverTheCounterSays) {
  const auto run = [](int every) {
    RunFixture npu = Scaled("npu", 1000, [every](std::int64_t step, v1::StepRecord& r) {
      r.set_loss(Loss(step));
      r.set_skipped(0);
      r.set_loss_scale(step % every == 0 ? 16384 : 32768);  // probed again at once
    });
    npu.log().set_skipped_counted(true);
    npu.log().set_overflow_seen(true);
    return npu;
  };
  const v1::CheckResult often = RunOne("migrated.loss-scale.overflow-rate", {}, {run(50)});
  EXPECT_THAT(Kinds(often), ElementsAre("overflow_rate_exceeded")) << often.ShortDebugString();
  EXPECT_EQ(Fact(often, "overflow_rate_exceeded", "skipped"), 20);
  const v1::CheckResult rare = RunOne("migrated.loss-scale.overflow-rate", {}, {run(500)});
  EXPECT_EQ(rare.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(rare, v1::SEVERITY_WARNING), Contains("overflow_by_scale"));
}

TEST(RunTraps, AScaleAtEveryStepTellsOfOverflowsByItself) {
  const RunFixture npu = Scaled("npu", 1000, [](std::int64_t step, v1::StepRecord& r) {
    r.set_loss(Loss(step));
    r.set_loss_scale(step < 500 ? 32768 : 16384);
  });
  const v1::CheckResult result = RunOne("migrated.loss-scale.overflow-rate", {}, {npu});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  EXPECT_EQ(Fact(result, "measured", "skipped"), 1);
}

// --- axes ----------------------------------------------------------------------------------------

TEST(RunTraps, AnotherGlobalBatchIsComparedBySamples) {
  // Twice the batch, half the steps: the same samples in the same order.
  const auto sample_loss = [](std::int64_t block) { return Loss(block); };
  RunFixture gpu = Losses("gpu", sample_loss, 1, 400).Number("global_batch_size", 256);
  RunFixture npu =
      Losses(
          "npu", [&](std::int64_t step) { return (sample_loss(2 * step - 1) + sample_loss(2 * step)) / 2; }, 1, 200)
          .Number("global_batch_size", 512);
  const v1::CheckResult result = RunOne("training.flow.loss-curve", {gpu}, {npu});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  EXPECT_THAT(Kinds(result, v1::SEVERITY_NOTE), Contains("compared_by_samples"));
  EXPECT_LT(Fact(result, "measured", "mean_relative_error"), 1e-9);
  // The same curve over steps is another training.
  const v1::CheckResult wrong =
      RunOne("training.flow.loss-curve", {gpu}, {Losses("npu", sample_loss, 1, 200).Number("global_batch_size", 512)});
  EXPECT_EQ(wrong.verdict(), v1::VERDICT_FAIL);
}

TEST(RunTraps, MicroStepsAgainstOptimizerStepsAreComparedByPrintedSamples) {
  const auto counted = [](const std::string& name, std::int64_t steps, std::int64_t each) {
    return RunOf(name, 1, steps, [each](std::int64_t step, v1::StepRecord& r) {
      double sum = 0;
      for (std::int64_t i = 0; i < each; ++i) sum += Loss(each * step - i);
      r.set_loss(sum / static_cast<double>(each));
      r.set_samples(step * each * 64);
    });
  };
  const v1::CheckResult result = RunOne("training.flow.loss-curve", {counted("gpu", 800, 1)}, {counted("npu", 200, 4)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
}

TEST(RunTraps, StepsFromZeroAndFromOneAreTheSameSteps) {
  const auto noisy = [](std::int64_t step) { return Loss(step) * (1 + 0.1 * Jitter(9, step)); };
  const v1::CheckResult result = RunOne("training.flow.loss-curve",
                                        {Losses(
                                            "gpu", [&](std::int64_t s) { return noisy(s + 1); }, 0, 199)},
                                        {Losses("npu", noisy, 1, 200)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  EXPECT_THAT(Kinds(result, v1::SEVERITY_NOTE), Contains("steps_counted_from_zero"));
}

}  // namespace
}  // namespace paritect
