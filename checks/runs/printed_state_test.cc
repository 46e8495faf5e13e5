// What the lines of a run's own log say of gradients, of the data position and of the settings: the log against itself,
// against the other side and against what the settings state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kState[] = "training.flow.state";
constexpr char kBatch[] = "model.hyperparameters.global-batch";
constexpr char kTarget[] = "baseline.repeatability.target";

double Loss(std::int64_t step) {
  return 2 + 5 * std::exp(-static_cast<double>(step) / 50);
}

RunFixture Norms(const std::string& name, const std::function<double(int)>& norm, int steps = 300) {
  RunFixture run(name);
  for (int step = 1; step <= steps; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Loss(step));
    record.set_grad_norm(norm(step) * (1 + 0.05 * Jitter(static_cast<int>(name.size()), step)));
  }
  return run;
}

v1::CheckResult StateOf(const std::function<double(int)>& migrated) {
  return RunOne(kState, {Norms("gpu", [](int) { return 1.1; })}, {Norms("npu-1", migrated)});
}

TEST(PrintedState, NormsOfZeroAreNoGradients) {
  const v1::CheckResult half = StateOf([](int step) { return step > 150 ? 0.0 : 1.1; });
  EXPECT_THAT(Kinds(half), ElementsAre("gradient_norm_differs"));
  EXPECT_EQ(Fact(half, "gradient_norm_differs", "zero_steps"), 150);
  EXPECT_THAT(Kinds(StateOf([](int) { return 0.0; })), ElementsAre("gradient_norm_differs"));
  // One such step is told and fails nothing.
  const v1::CheckResult one = StateOf([](int step) { return step == 7 ? 0.0 : 1.1; });
  EXPECT_THAT(Kinds(one), IsEmpty());
  EXPECT_THAT(Kinds(one, v1::SEVERITY_WARNING), ElementsAre("gradient_norm_differs"));
  // Both sides at zero (a frozen start, a norm that is not printed): no difference.
  const auto both = [](int step) { return step <= 50 ? 0.0 : 1.1; };
  EXPECT_THAT(Kinds(RunOne(kState, {Norms("gpu", both)}, {Norms("npu-1", both)})), IsEmpty());
}

TEST(PrintedState, GradientsClearedEveryFewStepsOnly) {
  for (int period : {2, 3, 4, 8}) {
    const v1::CheckResult result = StateOf([&](int step) { return 1.1 * ((step - 1) % period + 1); });
    EXPECT_THAT(Kinds(result), ElementsAre("gradients_not_cleared")) << period;
    EXPECT_EQ(Fact(result, "gradients_not_cleared", "period_steps"), period);
  }
  // Noise has no period, nor does a norm that swings without beginning at the baseline's.
  EXPECT_THAT(Kinds(StateOf([](int step) { return 1.1 * (1 + 0.3 * Jitter(9, step)); })), IsEmpty());
  EXPECT_THAT(Kinds(StateOf([](int step) { return step % 2 == 0 ? 0.8 : 1.3; })), IsEmpty());
}

TEST(PrintedState, GradientsThatTheBaselineDoesNotClear) {
  const auto even = [](int) { return 1.1; };
  for (const auto& grown : {std::function<double(int)>([](int step) { return 1.1 * step; }),
                            std::function<double(int)>([](int step) { return 1.1 * ((step - 1) % 4 + 1); })}) {
    const v1::CheckResult result = RunOne(kState, {Norms("gpu", grown)}, {Norms("npu-1", even)});
    ASSERT_THAT(Kinds(result), ElementsAre("gradients_not_cleared"));
    EXPECT_EQ(result.findings(0).message().en().rfind("gpu against npu-1", 0), 0u) << result.findings(0).message().en();
  }
}

// Samples as Megatron counts them; `counter(step)` after each step.
RunFixture Counted(const std::string& name, int every, const std::function<std::int64_t(int)>& counter,
                   std::optional<int> resumed_at = std::nullopt) {
  RunFixture run(name, "megatron");
  for (int step = every; step <= 300; step += every) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Loss(step));
    record.set_grad_norm(1);
    record.set_samples(counter(step));
  }
  if (resumed_at) {
    run.log().add_segments()->set_first(every);
    run.log().add_segments()->set_first(*resumed_at);
  }
  return run;
}

TEST(PrintedState, ACounterThatGoesBackIsAResumeThatLostItsPlace) {
  const auto whole = [](int step) { return std::int64_t{256} * step; };
  const auto back = [](int step) { return std::int64_t{256} * (step > 150 ? step - 20 : step); };
  EXPECT_THAT(Kinds(RunOne(kState, {Counted("gpu", 1, whole)}, {Counted("npu", 1, back)})),
              ElementsAre("data_position_lost"));
  EXPECT_THAT(Kinds(RunOne(kState, {Counted("gpu", 1, whole)}, {Counted("npu", 1, whole, 151)})), IsEmpty());
}

TEST(PrintedState, ABatchThatGrowsOnPurposeLosesNoPlace) {
  const auto ramp = [](int step) {
    return std::int64_t{64} * std::min(step, 50) + 128 * std::max(0, std::min(step, 100) - 50) +
           256 * std::max(0, step - 100);
  };
  for (int every : {1, 10}) {
    for (int resumed_at : {20, 50, 60, 90, 100, 110, 200}) {
      const v1::CheckResult result =
          RunOne(kState, {Counted("gpu", every, ramp)}, {Counted("npu", every, ramp, resumed_at)});
      EXPECT_THAT(Kinds(result), IsEmpty()) << every << " " << resumed_at << " " << result.ShortDebugString();
    }
  }
  // Ten batches left out at the resume are seen with it as well.
  const auto left_out = [&](int step) { return ramp(step) + (step >= 90 ? 1280 : 0); };
  EXPECT_THAT(Kinds(RunOne(kState, {Counted("gpu", 10, ramp)}, {Counted("npu", 10, left_out, 90)})),
              ElementsAre("data_position_lost"));
}

RunFixture WithBatch(const std::string& name, double printed, std::optional<double> stated) {
  RunFixture run(name, "megatron");
  const std::string key = "global batch size";
  for (int step = 1; step <= 100; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(Loss(step));
    if (step == 1) record.mutable_metrics()->insert({key, printed});
  }
  if (stated) run.Number("global_batch_size", *stated);
  return run;
}

TEST(PrintedState, TheBatchOnEveryLineIsHeldAgainstTheSettings) {
  EXPECT_EQ(RunOne(kBatch, {WithBatch("gpu", 256, 256)}, {WithBatch("npu", 256, 256)}).verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(RunOne(kBatch, {WithBatch("gpu", 256, 256)}, {WithBatch("npu", 512, 256)})),
              ::testing::Contains("conflict_within_side"));
  // Without settings it is the effective value.
  EXPECT_THAT(Kinds(RunOne(kBatch, {WithBatch("gpu", 256, {})}, {WithBatch("npu", 512, {})})),
              ElementsAre("global_batch_differs"));
  EXPECT_EQ(RunOne(kBatch, {WithBatch("gpu", 256, {})}, {WithBatch("npu", 256, {})}).verdict(), v1::VERDICT_PASS);
  // It makes no settings of a run without any: their comparison stays open.
  const v1::CheckResult values =
      RunOne("model.hyperparameters.values", {WithBatch("gpu", 256, {})}, {WithBatch("npu", 256, {})});
  EXPECT_EQ(values.verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(PrintedState, StepsOfTheRunAgainstThoseOfItsSettings) {
  const auto run = [](const std::string& name, std::int64_t total) {
    RunFixture fixture = WithBatch(name, 256, 256);
    fixture.Number("train_iters", 100);
    return fixture.End(v1::RunEnd::STATE_FINISHED, 100, total);
  };
  const std::string id = "model.hyperparameters.values";
  EXPECT_THAT(Kinds(RunOne(id, {run("gpu", 100)}, {run("npu", 50)})), ::testing::Contains("conflict_within_side"));
  EXPECT_THAT(Kinds(RunOne(id, {run("gpu", 100)}, {run("npu", 100)})), IsEmpty());
}

// A schedule that counts updates: one is left out at each of `skipped`.
RunFixture Scheduled(const std::string& name, const std::vector<int>& skipped, double peak = 1e-4) {
  RunFixture run(name, "megatron");
  int updates = 0;
  for (int step = 1; step <= 300; ++step) {
    v1::StepRecord& record = run.Record(step);
    const bool skip = std::find(skipped.begin(), skipped.end(), step) != skipped.end();
    updates += skip ? 0 : 1;
    record.set_loss(Loss(step));
    record.set_skipped(skip ? 1 : 0);
    record.set_lr(peak * (1 - updates / 400.0));
  }
  run.log().set_skipped_counted(true);
  return run.End(v1::RunEnd::STATE_FINISHED, 300, 300);
}

TEST(PrintedState, AScheduleThatStandsStillWhereAStepIsSkippedIsTheSame) {
  const std::string id = "model.hyperparameters.learning-rate-curve";
  const v1::CheckResult other = RunOne(id, {Scheduled("gpu", {50, 51, 52, 53})}, {Scheduled("npu", {200, 201, 202})});
  EXPECT_EQ(other.verdict(), v1::VERDICT_PASS) << other.ShortDebugString();
  EXPECT_EQ(RunOne(id, {Scheduled("gpu", {})}, {Scheduled("npu", {10, 20, 30, 40})}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {Scheduled("gpu", {50})}, {Scheduled("npu", {200}, 1.1e-4)}).verdict(), v1::VERDICT_FAIL);
}

TEST(PrintedState, AnEvaluationOnTheWayIsNotTheFinalOne) {
  const auto run = [](const std::string& name, int steps, double accuracy, v1::RunEnd::State end) {
    RunFixture fixture(name);
    fixture.Losses(1, steps, &Loss);
    fixture.Record(steps).set_accuracy(accuracy);
    return fixture.End(end, steps, 300);
  };
  const RunFixture gpu = run("gpu", 300, 76, v1::RunEnd::STATE_FINISHED);
  const auto unfinished = v1::RunEnd::STATE_UNFINISHED;
  for (const char* id : {"training.flow.accuracy", "convergence.scenario"}) {
    EXPECT_THAT(Kinds(RunOne(id, {gpu}, {run("npu", 200, 70, unfinished)})), IsEmpty()) << id;
    EXPECT_EQ(RunOne(id, {gpu}, {run("npu", 200, 70, unfinished)}).verdict(), v1::VERDICT_NOT_PERFORMED) << id;
    EXPECT_EQ(RunOne(id, {gpu}, {run("npu", 300, 70, v1::RunEnd::STATE_FINISHED)}).verdict(), v1::VERDICT_FAIL) << id;
  }
  const v1::CheckResult scenario =
      RunOne("convergence.scenario", {gpu}, {run("npu", 300, 70, v1::RunEnd::STATE_FINISHED)});
  EXPECT_EQ(Fact(scenario, "scenario_accuracy", "scenario"), 3);
}

TEST(PrintedState, ALogWhoseHeadIsMissingPassesNothing) {
  const auto from = [](const std::string& name, int first) {
    RunFixture run(name, "megatron");
    for (int step = first; step <= 1200; ++step) {
      v1::StepRecord& record = run.Record(step);
      record.set_loss(Loss(step));
      record.set_skipped(0);
      record.set_loss_scale(1024);
      record.set_lr(1e-4 * (1 - step / 2000.0));
    }
    run.log().set_skipped_counted(true);
    return run.End(v1::RunEnd::STATE_FINISHED, 1200, 1200);
  };
  for (const char* id : {"training.flow.loss-curve", "model.hyperparameters.learning-rate-curve",
                         "migrated.loss-scale.overflow-rate", "migrated.loss-scale.skipped-step"}) {
    EXPECT_EQ(RunOne(id, {from("gpu", 1)}, {from("npu", 1)}).verdict(), v1::VERDICT_PASS) << id;
    EXPECT_EQ(RunOne(id, {from("gpu", 1)}, {from("npu", 801)}).verdict(), v1::VERDICT_NOT_PERFORMED) << id;
    // Both went on from one checkpoint.
    EXPECT_EQ(RunOne(id, {from("gpu", 801)}, {from("npu", 801)}).verdict(), v1::VERDICT_PASS) << id;
  }
}

TEST(PrintedState, RunsThatStateNothingInCommonAreNoKnownRepeats) {
  const auto run = [](const std::string& name, const std::string& key) {
    RunFixture fixture(name);
    fixture.Losses(1, 50, &Loss);
    return fixture.Number(key, 1);
  };
  const std::string id = "baseline.repeatability.settings";
  EXPECT_EQ(RunOne(id, {run("a", "clip_grad"), run("b", "adam_eps")}, {}).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(RunOne(id, {run("a", "clip_grad"), run("b", "clip_grad")}, {}).verdict(), v1::VERDICT_PASS);
}

TEST(PrintedState, AMetricThatOneSideLeavesOutIsNotCoveredByAnother) {
  const auto run = [](const std::string& name, std::vector<std::pair<std::string, double>> metrics) {
    RunFixture fixture(name);
    fixture.Losses(1, 200, &Loss);
    v1::StepRecord& record = fixture.Record(200);
    for (const auto& [key, value] : metrics) record.mutable_metrics()->insert({key, value});
    return fixture.End(v1::RunEnd::STATE_FINISHED, 200, 200);
  };
  const std::string f1 = "eval_f1";
  const std::string part = "eval_box_loss";
  const RunFixture gpu = run("gpu", {{f1, 0.88}, {part, 0.5}});
  const std::string id = "training.flow.accuracy";
  EXPECT_EQ(RunOne(id, {gpu}, {run("npu", {{f1, 0.88}, {part, 0.5}})}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {gpu}, {run("npu", {{f1, 0.60}, {part, 0.5}})}).verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(RunOne(id, {gpu}, {run("npu", {{part, 0.5}})}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

RunFixture Stated(const std::string& name, const std::string& reference) {
  RunFixture run(name);
  run.Losses(1, 200, &Loss);
  run.Record(200).set_accuracy(76.1);
  run.End(v1::RunEnd::STATE_FINISHED);
  v1::Value value;
  value.set_text(reference);
  run.bundle().mutable_plan()->mutable_facts()->insert({"reference_accuracy", value});
  return run;
}

TEST(PrintedState, TheStatedAccuracyInItsSpellings) {
  for (const char* text : {"76.1%", "76.1 %", "76.1", " 0.761"}) {
    EXPECT_EQ(RunOne(kTarget, {Stated("a", text)}, {}).verdict(), v1::VERDICT_PASS) << text;
  }
  EXPECT_THAT(Kinds(RunOne(kTarget, {Stated("a", "79.1%")}, {})), ElementsAre("target_missed"));
  const v1::CheckResult odd = RunOne(kTarget, {Stated("a", "high")}, {});
  EXPECT_EQ(odd.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_EQ(odd.missing_size(), 1);
  EXPECT_NE(odd.missing(0).what().en().find("high"), std::string::npos);
  EXPECT_THAT(Kinds(RunOne(kTarget, {Stated("a", "76.1"), Stated("b", "79.1")}, {})),
              ElementsAre("conflict_within_side"));
}

}  // namespace
}  // namespace paritect
