// training.flow.evaluation: the mode that the lines of a validation tell, and results of one checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kEvaluation[] = "training.flow.evaluation";

struct Line {
  std::string checkpoint;
  double value = 0;
  v1::EvaluationTold::Mode mode = v1::EvaluationTold::MODE_EVALUATION;
  std::string metric = "accuracy";
};

// Fifty steps, then the evaluations; `between`: a step after each of them.
RunFixture Run(const std::string& name, const std::vector<Line>& lines, int steps = 50, bool between = false) {
  RunFixture run(name);
  for (int step = 1; step <= steps; ++step) run.Record(step).set_loss(3 - 0.01 * step);
  std::int64_t number = 1000;
  for (const Line& line : lines) {
    v1::EvaluationTold& told = *run.log().add_evaluations();
    told.set_checkpoint(line.checkpoint);
    told.set_value(line.value);
    told.set_mode(line.mode);
    told.set_metric(line.metric);
    told.set_line(number += 2);
    if (!between) continue;
    v1::StepRecord& record = run.Record(++steps);
    record.set_loss(2);
    record.set_line(number + 1);
  }
  return run;
}

v1::CheckResult ResultOf(const RunFixture& migrated) {
  return RunOne(kEvaluation, {Run("g", {{"ckpt_1", 70}, {"ckpt_1", 70}})}, {migrated});
}

TEST(Evaluation, TrainingModeIsAFaultOnEitherSide) {
  const RunFixture trains = Run("n", {{"ckpt_1", 70, v1::EvaluationTold::MODE_TRAINING}});
  EXPECT_THAT(Kinds(ResultOf(trains)), ElementsAre("train_mode_at_eval"));
  EXPECT_THAT(Kinds(RunOne(kEvaluation, {trains}, {trains})), ElementsAre("train_mode_at_eval", "train_mode_at_eval"));
  // Of many evaluations one is enough.
  std::vector<Line> lines(20, {"ckpt_1", 70});
  lines[10].mode = v1::EvaluationTold::MODE_TRAINING;
  const v1::CheckResult one = ResultOf(Run("n", lines));
  EXPECT_THAT(Kinds(one), ElementsAre("train_mode_at_eval"));
  EXPECT_EQ(Fact(one, "train_mode_at_eval", "in_training_mode"), 1);
  // Evaluation mode is no fault; which samples are evaluated is still not known.
  const v1::CheckResult right = ResultOf(Run("n", {{"ckpt_1", 70}, {"ckpt_1", 70.0001}}));
  EXPECT_THAT(Kinds(right), IsEmpty());
  EXPECT_EQ(right.verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(Evaluation, OneCheckpointGivesOneResult) {
  EXPECT_THAT(Kinds(ResultOf(Run("n", {{"ckpt_1", 70}, {"ckpt_2", 72}, {"ckpt_1", 69.5}}))),
              ElementsAre("eval_not_repeatable"));
  // In a file of its own the name must tell the place in the training, and not be one that is written over.
  EXPECT_THAT(Kinds(ResultOf(Run("n", {{"out/epoch_3.pt", 70}, {"out/epoch_3.pt", 69}}, 0))),
              ElementsAre("eval_not_repeatable"));
  EXPECT_THAT(Kinds(ResultOf(Run("n", {{"resnet50.pth", 70}, {"resnet50.pth", 71}}, 0))), IsEmpty());
  EXPECT_THAT(Kinds(ResultOf(Run("n", {{"step_best.pt", 70}, {"step_best.pt", 71}}, 0))), IsEmpty());
}

TEST(Evaluation, OtherWeightsAndOtherThingsAreNoRepeats) {
  EXPECT_THAT(Kinds(ResultOf(Run("n", {{"model.pt", 70}, {"model.pt", 72}}, 50, /*between=*/true))), IsEmpty());
  const Line on_val = {"ckpt_1", 70, v1::EvaluationTold::MODE_EVALUATION, "accuracy in: val"};
  const Line on_test = {"ckpt_1", 68, v1::EvaluationTold::MODE_EVALUATION, "accuracy in: test"};
  EXPECT_THAT(Kinds(ResultOf(Run("n", {on_val, on_test}))), IsEmpty());
}

}  // namespace
}  // namespace paritect
