// A scale that stands at its floor, skips there or lies below 1, by what the log and a saved state of the scaler show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kTrend[] = "migrated.loss-scale.trend";
constexpr char kEnabled[] = "migrated.loss-scale.enabled";

enum class Type { kFp16, kBf16, kUnknown };

RunFixture Scales(const std::vector<double>& scales, Type type = Type::kFp16, const std::vector<int>& skipped = {}) {
  RunFixture run("n");
  if (type != Type::kUnknown) run.Flag(type == Type::kFp16 ? "fp16" : "bf16", true);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    v1::StepRecord& record = run.Record(static_cast<std::int64_t>(i) + 1);
    record.set_loss(3 - 0.001 * static_cast<double>(i));
    record.set_loss_scale(scales[i]);
    const bool skips = std::find(skipped.begin(), skipped.end(), static_cast<int>(i)) != skipped.end();
    record.set_skipped(skips ? 1 : 0);
  }
  return run;
}

v1::CheckResult TrendOf(const RunFixture& run) {
  return RunOne(kTrend, {}, {run});
}

std::vector<double> Then(std::vector<double> scales, double next, std::size_t count) {
  scales.insert(scales.end(), count, next);
  return scales;
}

TEST(ScaleFloor, StandingThereFromTheFirstLineFails) {
  const v1::CheckResult result = TrendOf(Scales(std::vector<double>(200, 1)));
  EXPECT_THAT(Kinds(result), ElementsAre("scale_at_floor"));
  EXPECT_EQ(Fact(result, "scale_at_floor", "last_scale"), 1);
  // Just above, and where no scaler is needed.
  EXPECT_EQ(TrendOf(Scales(std::vector<double>(200, 2))).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(TrendOf(Scales(std::vector<double>(200, 1), Type::kBf16)).verdict(), v1::VERDICT_PASS);
}

TEST(ScaleFloor, OneOfUnknownTypeIsNotPerformedUnlessItSkips) {
  const std::vector<double> ones(200, 1);
  const v1::CheckResult unknown = TrendOf(Scales(ones, Type::kUnknown));
  EXPECT_EQ(unknown.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Kinds(unknown), IsEmpty());
  const v1::CheckResult skips = TrendOf(Scales(ones, Type::kUnknown, {50, 120}));
  EXPECT_THAT(Kinds(skips), ElementsAre("scale_at_floor"));
  EXPECT_EQ(Fact(skips, "scale_at_floor", "skipped_at_floor"), 2);
  // Less than 1, and a scale that moves, only a scaler prints.
  EXPECT_THAT(Kinds(TrendOf(Scales(std::vector<double>(200, 0.125), Type::kUnknown))),
              ElementsAre("loss_scale_below_one"));
  EXPECT_THAT(Kinds(TrendOf(Scales(Then({4, 2}, 1, 60), Type::kUnknown))), ElementsAre("scale_at_floor"));
}

TEST(ScaleFloor, AStatedMinimumIsTheFloor) {
  RunFixture run = Scales(std::vector<double>(60, 128));
  run.Number("min_loss_scale", 128);
  EXPECT_THAT(Kinds(TrendOf(run)), ElementsAre("scale_at_floor"));
  RunFixture above = Scales(std::vector<double>(60, 256));
  above.Number("min_loss_scale", 128);
  EXPECT_THAT(Kinds(TrendOf(above)), IsEmpty());
}

TEST(ScaleFloor, InTheMiddleItCountsByItsStretchOrItsSkips) {
  std::vector<double> scales = Then({}, 1024, 100);
  for (double scale = 512; scale > 1; scale /= 2) scales.push_back(scale);
  const auto came_back = [&](std::size_t stood) { return Then(Then(scales, 1, stood), 1024, 100); };
  EXPECT_THAT(Kinds(TrendOf(Scales(came_back(40)))), ElementsAre("scale_at_floor"));
  EXPECT_THAT(Kinds(TrendOf(Scales(came_back(5)))), IsEmpty());
  const int at = static_cast<int>(scales.size());
  EXPECT_THAT(Kinds(TrendOf(Scales(came_back(5), Type::kFp16, {at + 2}))), ElementsAre("scale_at_floor"));
  // The step on which it came down is the one that reaches the floor.
  EXPECT_THAT(Kinds(TrendOf(Scales(came_back(5), Type::kFp16, {at}))), IsEmpty());
}

TEST(ScaleFloor, ASawBelowOneFails) {
  std::vector<double> saw = {32, 16, 8, 4, 2};
  for (int i = 0; i < 40; ++i) saw.push_back(i % 2 == 0 ? 0.25 : 0.5);
  const v1::CheckResult result = TrendOf(Scales(saw));
  EXPECT_THAT(Kinds(result), ElementsAre("loss_scale_below_one"));
  EXPECT_EQ(Fact(result, "loss_scale_below_one", "loss_scale"), 0.25);
}

TEST(ScaleFloor, OneRankOfManyIsEnough) {
  RunFixture run = Scales(std::vector<double>(60, 1024));
  run.bundle().mutable_evidence(0)->set_rank(0);
  const v1::RunLog other = Scales(std::vector<double>(60, 1)).log();
  run.AddLog();
  run.log() = other;
  run.bundle().mutable_evidence(1)->set_rank(1);
  EXPECT_THAT(Kinds(TrendOf(run)), ElementsAre("scale_at_floor"));
}

// A saved state beside a log that prints no scale.
RunFixture WithState(const std::vector<std::pair<std::string, std::string>>& settings, Type type = Type::kFp16) {
  RunFixture run("n");
  if (type != Type::kUnknown) run.Flag(type == Type::kFp16 ? "fp16" : "bf16", true);
  for (int step = 1; step <= 60; ++step) run.Record(step).set_loss(3 - 0.01 * step);
  v1::Evidence& evidence = *run.bundle().add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  v1::SettingsDocument& document = *evidence.mutable_settings();
  document.set_format("scaler-state");
  document.set_kind("scaler-state");
  for (const auto& [key, value] : settings) {
    v1::Setting& setting = *document.add_settings();
    setting.set_raw_key(key);
    setting.set_raw_value(value);
    setting.mutable_value()->set_text(value);
    setting.set_origin("scaler.json:1");
  }
  return run;
}

TEST(ScalerState, TellsWhetherAScalerIsOnAndWhereItStands) {
  const auto state = [](const std::string& scale) {
    return WithState(
        {{"scale", scale}, {"growth_factor", "2.0"}, {"backoff_factor", "0.5"}, {"growth_interval", "2000"}});
  };
  EXPECT_EQ(RunOne(kEnabled, {}, {state("16384")}).verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(Kinds(TrendOf(state("16384"))), IsEmpty());
  EXPECT_EQ(TrendOf(state("16384")).verdict(), v1::VERDICT_NOT_PERFORMED);  // one moment is no trend
  EXPECT_THAT(Kinds(TrendOf(state("0.015625"))), ElementsAre("loss_scale_below_one"));
  EXPECT_THAT(Kinds(TrendOf(state("1"))), ElementsAre("scale_at_floor"));
  const RunFixture off = WithState({{"enabled", "False"}});
  EXPECT_THAT(Kinds(RunOne(kEnabled, {}, {off})), ElementsAre("loss_scale_off"));
  EXPECT_EQ(RunOne(kEnabled, {}, {WithState({{"enabled", "False"}}, Type::kBf16)}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(kEnabled, {}, {WithState({{"enabled", "False"}}, Type::kUnknown)}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
}

}  // namespace
}  // namespace paritect
