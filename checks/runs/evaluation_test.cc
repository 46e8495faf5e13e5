// training.flow.evaluation: what the notes of a log say of the mode of a validation and of one checkpoint's results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kEvaluation[] = "training.flow.evaluation";

RunFixture RunWith(const std::string& name, const std::vector<std::string>& notes) {
  RunFixture run(name);
  for (int step = 1; step <= 50; ++step) run.Record(step).set_loss(3 - 0.01 * step);
  for (const std::string& note : notes) run.Note(note);
  return run;
}

const std::vector<std::string> kRight(3, "evaluated_in_evaluation_mode");

TEST(Evaluation, TrainingModeIsAFaultOnEitherSide) {
  const RunFixture trains = RunWith("n", {"evaluated_in_training_mode"});
  EXPECT_THAT(Kinds(RunOne(kEvaluation, {RunWith("g", kRight)}, {trains})), ElementsAre("train_mode_at_eval"));
  EXPECT_THAT(Kinds(RunOne(kEvaluation, {trains}, {RunWith("n", kRight)})), ElementsAre("train_mode_at_eval"));
  EXPECT_THAT(Kinds(RunOne(kEvaluation, {trains}, {trains})), ElementsAre("train_mode_at_eval", "train_mode_at_eval"));
  // Of many evaluations one is enough.
  std::vector<std::string> notes(20, "evaluated_in_evaluation_mode");
  notes[10] = "evaluated_in_training_mode";
  const v1::CheckResult one = RunOne(kEvaluation, {RunWith("g", kRight)}, {RunWith("n", notes)});
  EXPECT_THAT(Kinds(one), ElementsAre("train_mode_at_eval"));
  EXPECT_EQ(Fact(one, "train_mode_at_eval", "in_evaluation_mode"), 19);
}

TEST(Evaluation, EvaluationModeIsNoFaultAndNoPass) {
  const v1::CheckResult right = RunOne(kEvaluation, {RunWith("g", kRight)}, {RunWith("n", kRight)});
  EXPECT_THAT(Kinds(right), IsEmpty());
  EXPECT_EQ(right.verdict(), v1::VERDICT_NOT_PERFORMED);  // which samples is not known
}

TEST(Evaluation, OneCheckpointGivesOneResult) {
  EXPECT_THAT(Kinds(RunOne(kEvaluation, {RunWith("g", kRight)}, {RunWith("n", {"evaluation_not_repeated"})})),
              ElementsAre("eval_not_repeatable"));
}

}  // namespace
}  // namespace paritect
