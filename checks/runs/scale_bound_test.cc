// What a loss scale that is printed now and then proves of the steps between.
#include <gtest/gtest.h>

#include <algorithm>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

constexpr char kRate[] = "migrated.loss-scale.overflow-rate";
constexpr char kSkipped[] = "migrated.loss-scale.skipped-step";

// A PyTorch scaler whose scale is printed at steps 1 and every `interval`.
RunFixture Printed(const std::vector<double>& scales, std::int64_t interval, double window = 2000) {
  RunFixture run("n");
  run.Flag("fp16", true).Number("growth_interval", window).Number("growth_factor", 2).Number("backoff_factor", 0.5);
  run.Number("init_scale", 65536).Number("per_device_train_batch_size", 8).Number("world_size", 1);
  run.log().mutable_settings(0)->set_format("hf-training-args-json");
  std::int64_t step = 1;
  for (const double scale : scales) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(3 - 0.001 * static_cast<double>(step));
    record.set_loss_scale(scale);
    step = step == 1 ? interval : step + interval;
  }
  return run;
}

v1::CheckResult Of(const char* check, const RunFixture& run) {
  return RunOne(check, {}, {run});
}

TEST(ScaleBound, AScaleThatStandsStillLeavesRoomForOneHiddenSkipInAWindow) {
  const v1::CheckResult still = Of(kRate, Printed(std::vector<double>(201, 65536), 10));  // 2000 steps
  EXPECT_EQ(still.verdict(), v1::VERDICT_PASS);
  // One by a raise at once, one at the first step, which stands before the first printed scale.
  EXPECT_EQ(Fact(still, "measured", "skipped_at_most"), 2);
  // Of 100 steps two would be too many.
  EXPECT_EQ(Of(kRate, Printed(std::vector<double>(11, 65536), 10)).verdict(), v1::VERDICT_NOT_PERFORMED);
  // With a short window the scale may rise and fall unseen as often as that.
  EXPECT_EQ(Of(kRate, Printed(std::vector<double>(201, 65536), 10, 50)).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(ScaleBound, EveryFallCountsAndWhatFellTooOftenIsNoPass) {
  std::vector<double> scales(201, 8192);
  std::fill(scales.begin(), scales.begin() + 50, 65536);
  const v1::CheckResult fell = Of(kRate, Printed(scales, 10));
  EXPECT_EQ(fell.verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Fact(fell, "measured", "skipped_at_most"), 5);
  std::fill(scales.begin() + 100, scales.end(), 64);
  EXPECT_NE(Of(kRate, Printed(scales, 10)).verdict(), v1::VERDICT_PASS);
}

TEST(ScaleBound, AFloorARestartAndAScalerThatWaitsTellNothing) {
  EXPECT_EQ(Of(kRate, Printed(std::vector<double>(201, 2), 10)).verdict(), v1::VERDICT_NOT_PERFORMED);
  RunFixture restarted = Printed(std::vector<double>(201, 65536), 10);
  v1::StepRecord& again = restarted.Record(500);
  again.set_loss(2);
  again.set_loss_scale(65536);
  EXPECT_EQ(Of(kRate, restarted).verdict(), v1::VERDICT_NOT_PERFORMED);
  RunFixture waits = Printed(std::vector<double>(201, 65536), 10);
  waits.Number("hysteresis", 2);
  EXPECT_EQ(Of(kRate, waits).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(ScaleBound, ASkipThatMayHaveHappenedIsNotShownToHaveLeftTheUpdateOut) {
  EXPECT_EQ(Of(kSkipped, Printed(std::vector<double>(201, 65536), 10)).verdict(), v1::VERDICT_NOT_PERFORMED);
}

}  // namespace
}  // namespace paritect
