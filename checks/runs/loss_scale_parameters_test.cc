// Other parameters of the scaler: harmless while few steps are skipped, which a log must have shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

constexpr char kId[] = "migrated.loss-scale.parameters";

enum class Told { kNothing, kNoneSkipped, kManySkipped };

RunFixture Run(const std::string& name, double window, Told told = Told::kNothing) {
  RunFixture run(name, "megatron");
  run.Flag("fp16", true).Number("loss_scale_window", window).Number("initial_loss_scale", 65536);
  for (std::int64_t step = 1; step <= 100; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(3 - 0.001 * static_cast<double>(step));
    if (told != Told::kNothing) record.set_skipped(told == Told::kManySkipped && step % 3 == 0 ? 1 : 0);
  }
  return run;
}

v1::CheckResult Judge(double window, Told told) {
  return RunOne(kId, {Run("b", 1000, told)}, {Run("m", window, told)});
}

TEST(LossScaleParameters, EqualOnesPassWhateverTheLogTells) {
  EXPECT_EQ(Judge(1000, Told::kNothing).verdict(), v1::VERDICT_PASS);
}

TEST(LossScaleParameters, AnotherWindowIsANoteWhereFewStepsAreSkipped) {
  const v1::CheckResult result = Judge(2000, Told::kNoneSkipped);
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).kind(), "scaler_parameters_differ");
  EXPECT_EQ(result.findings(0).severity(), v1::SEVERITY_NOTE);
}

TEST(LossScaleParameters, AnotherWindowIsAWarningWhereManyAre) {
  const v1::CheckResult result = Judge(2000, Told::kManySkipped);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).severity(), v1::SEVERITY_WARNING);
}

TEST(LossScaleParameters, AnotherWindowIsOpenWhereNothingTellsOfSkippedSteps) {
  const v1::CheckResult result = Judge(2000, Told::kNothing);
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_GE(result.missing_size(), 1);
  EXPECT_THAT(result.missing(0).what().en(), testing::HasSubstr("no log tells how many steps it skipped"));
}

}  // namespace
}  // namespace paritect
