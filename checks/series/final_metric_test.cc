// Which results of evaluations are compared, and which evidence of a run does without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunFixture Plain(const std::string& name) {
  RunFixture run(name);
  run.Losses(1, 200, [](std::int64_t step) {
    return (2 + 5 * std::exp(-static_cast<double>(step) / 50)) * (1 + 0.02 * Jitter(1, step));
  });
  return run;
}

// A run of equal losses whose evaluations print these metrics.
RunFixture WithMetrics(const std::string& name, const std::vector<std::pair<std::string, double>>& metrics,
                       std::optional<double> eval_loss = std::nullopt) {
  RunFixture fixture = Plain(name);
  v1::StepRecord& last = *fixture.log().mutable_records()->rbegin();
  for (const auto& [metric, value] : metrics) (*last.mutable_metrics())[metric] = value;
  if (eval_loss.has_value()) last.set_eval_loss(*eval_loss);
  return fixture;
}

TEST(FinalMetrics, AMeasureOfQualityBeatsTheValidationLoss) {
  const std::string id = "training.flow.accuracy";
  const auto pair = [&](const std::string& metric, double a, double b) {
    return RunOne(id, {WithMetrics("gpu", {{metric, a}}, 0.5)}, {WithMetrics("npu", {{metric, b}}, 0.5)});
  };
  for (const char* metric : {"coco/bbox_mAP", "mIoU", "bleu", "eval_f1", "val_top_k_categorical_accuracy"}) {
    EXPECT_THAT(Kinds(pair(metric, 0.88, 0.60)), ElementsAre("accuracy_differs")) << metric;
    EXPECT_EQ(pair(metric, 0.88, 0.878).verdict(), v1::VERDICT_PASS) << metric;
    EXPECT_EQ(pair(metric, 0.88, 0.95).verdict(), v1::VERDICT_PASS) << metric;
  }
  // Lower is better; a perplexity tells no more than the loss does.
  EXPECT_THAT(Kinds(pair("eval_wer", 0.10, 0.30)), ElementsAre("accuracy_differs"));
  EXPECT_EQ(pair("eval_wer", 0.30, 0.10).verdict(), v1::VERDICT_PASS);
  // Names of two frameworks for one metric.
  EXPECT_THAT(Kinds(RunOne(id, {WithMetrics("gpu", {{"coco/bbox_mAP", 0.38}})}, {WithMetrics("npu", {{"mAP", 30}})})),
              ElementsAre("accuracy_differs"));
}

TEST(FinalMetrics, AValidationLossStandsForNoAccuracyThatIsMissing) {
  const std::string id = "training.flow.accuracy";
  EXPECT_EQ(RunOne(id, {WithMetrics("gpu", {{"mAP", 0.38}}, 0.5)}, {WithMetrics("npu", {}, 0.5)}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
  const v1::CheckResult alone = RunOne(id, {WithMetrics("gpu", {}, 0.5)}, {WithMetrics("npu", {}, 0.5)});
  EXPECT_EQ(alone.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(alone.ShortDebugString(), HasSubstr("no accuracy is printed"));
}

TEST(FinalMetrics, AnAccuracyWithAPerCentSignIsInPoints) {
  const auto run = [](const std::string& name, double accuracy, bool points) {
    RunFixture fixture = Plain(name);
    v1::StepRecord& last = *fixture.log().mutable_records()->rbegin();
    last.set_accuracy(accuracy);
    last.set_accuracy_in_points(points);
    return fixture;
  };
  const std::string id = "training.flow.accuracy";
  EXPECT_EQ(RunOne(id, {run("gpu", 0.8, true)}, {run("npu", 0.5, true)}).verdict(), v1::VERDICT_PASS);  // 0.3 points
  EXPECT_EQ(RunOne(id, {run("gpu", 0.8, false)}, {run("npu", 0.5, false)}).verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(RunOne(id, {run("gpu", 76.1, true)}, {run("npu", 0.76, false)}).verdict(), v1::VERDICT_PASS);
}

TEST(FinalMetrics, OutputWithoutLossesBesideALogIsNoMissingLog) {
  const auto with_output = [](const std::string& name, bool log) {
    RunFixture fixture = log ? Plain(name) : RunFixture(name);
    if (!log) fixture.bundle().clear_evidence();
    v1::Evidence& output = *fixture.bundle().add_evidence();
    output.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    output.set_outcome(v1::OUTCOME_ABSENT);
    output.set_source("output.log");
    output.mutable_problem()->set_id("log_without_records");
    return fixture;
  };
  const std::string id = "training.flow.loss-curve";
  EXPECT_EQ(RunOne(id, {with_output("gpu", true)}, {with_output("npu", true)}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {with_output("gpu", true)}, {with_output("npu", false)}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

v1::Evidence EmptyLog(std::optional<int> rank = std::nullopt) {
  v1::Evidence output;
  output.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  output.set_outcome(v1::OUTCOME_FAILED);
  output.set_source("output.log");
  output.mutable_problem()->set_id("log_empty");
  if (rank) output.set_rank(*rank);
  return output;
}

TEST(FinalMetrics, AnEmptyLogIsMissingUnlessTheRunWasObserved) {
  const auto run = [](const std::string& name, absl::string_view format) {
    RunFixture fixture = Plain(name);
    fixture.log().set_format(std::string(format));
    *fixture.bundle().add_evidence() = EmptyLog();
    return fixture;
  };
  const std::string id = "training.flow.loss-curve";
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {run("npu", "observed")}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {run("npu", "generic")}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(FinalMetrics, EmptyLogsOfRanksBesideTheOneThatPrintsAreNotMissing) {
  const auto run = [](const std::string& name, int printing) {
    RunFixture fixture = Plain(name);
    fixture.bundle().mutable_evidence(0)->set_rank(0);
    for (int rank = 1; rank < printing; ++rank) {
      const v1::Evidence copy = fixture.bundle().evidence(0);
      *fixture.bundle().add_evidence() = copy;
      fixture.bundle().mutable_evidence(rank)->set_rank(rank);
    }
    *fixture.bundle().add_evidence() = EmptyLog(printing);
    return fixture;
  };
  const std::string id = "training.flow.loss-curve";
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {run("npu", 1)}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(id, {Plain("gpu")}, {run("npu", 2)}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(FinalMetrics, ANonFiniteLossThatWasRolledBackIsTold) {
  RunFixture npu = Plain("npu");
  v1::Note& note = *npu.log().add_notes();
  note.set_kind("loss_rolled_back");
  note.set_message("step 161: the loss is nan (10 steps); the run went back and did them again");
  note.set_line(161);
  EXPECT_THAT(Kinds(RunOne("training.flow.loss-curve", {Plain("gpu")}, {std::move(npu)})), ElementsAre("nan_loss"));
}

}  // namespace
}  // namespace paritect
