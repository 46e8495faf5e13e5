#include "checks/live_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checks/run_fixture.h"

namespace paritect {
namespace {

std::vector<LiveFinding> Live(std::vector<RunFixture> baseline, std::vector<RunFixture> migrated) {
  const EvidenceSet evidence(Bundles(std::move(baseline)), Bundles(std::move(migrated)));
  return CompareLive({evidence, BuiltInRules().profile, BuiltInRules()});
}

std::vector<std::string> Words(const std::vector<LiveFinding>& findings) {
  std::vector<std::string> out;
  for (const LiveFinding& one : findings) {
    out.push_back(one.event + "/" + one.finding.kind() + "@" + std::to_string(one.step.value_or(-1)));
  }
  return out;
}

double Curve(std::int64_t step) {
  return 2 + 6 * std::exp(-static_cast<double>(step) / 100) + 0.05 * Jitter(1, step);
}
// The same order of samples, another device.
double Near(std::int64_t step) {
  return Curve(step) * (1 + 0.004 * Jitter(2, step));
}
// Another order.
double Shuffled(std::int64_t step) {
  return (2 + 6 * std::exp(-static_cast<double>(step) / 100)) * (1 + 0.1 * Jitter(3, step));
}

using Losses = std::vector<std::string>;

TEST(LiveComparison, SaysNothingOfARunThatFollowsAtAnyLength) {
  for (const std::int64_t n : {1, 4, 5, 19, 20, 21, 60, 200}) {
    EXPECT_EQ(Words(Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, n, Near)})), Losses{})
        << n;
    EXPECT_EQ(Words(Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, n, Shuffled)})), Losses{})
        << n;
  }
}

TEST(LiveComparison, OneValueOfATightPairIsTold) {
  const auto losses = [](std::int64_t step) { return step == 40 ? 1.5 * Curve(step) : Near(step); };
  const auto found = Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, 40, losses)});
  ASSERT_EQ(Words(found), Losses{"divergence/loss_differs@40"});
  EXPECT_EQ(found[0].training_run, "n");
  EXPECT_FALSE(found[0].finding.message().zh().empty());
}

TEST(LiveComparison, ASlowPartingIsToldWithItsBeginning) {
  const auto losses = [](std::int64_t step) {
    return Near(step) * (step > 100 ? 1 + 0.001 * static_cast<double>(step - 100) : 1);
  };
  EXPECT_EQ(Words(Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, 105, losses)})), Losses{});
  const auto found = Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, 140, losses)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].event, "divergence");
  EXPECT_GT(*found[0].step, 100);
  EXPECT_LT(*found[0].step, 125);
}

TEST(LiveComparison, AnotherLossFromTheFirstStep) {
  const auto losses = [](std::int64_t step) { return 2 * Curve(step); };
  EXPECT_EQ(Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, 4, losses)}).size(), 0u);
  EXPECT_EQ(Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, 5, losses)}).size(), 1u);
}

TEST(LiveComparison, NanIsToldWithoutABaseline) {
  RunFixture run("n");
  run.Losses(1, 10, Curve);
  run.Record(11).set_loss(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Words(Live({}, {run})), Losses{"non_finite/nan_loss@11"});
}

TEST(LiveComparison, TheSearchForTheFirstScaleIsNoRate) {
  const auto run = [](std::int64_t steps, std::int64_t from, std::int64_t overflows) {
    RunFixture fixture("n");
    fixture.log().set_overflow_seen(true);
    for (std::int64_t step = 1; step <= steps; ++step) {
      v1::StepRecord& record = fixture.Record(step);
      const bool overflow = step >= from && step < from + overflows;
      record.set_overflow(overflow);
      record.set_skipped(overflow ? 1 : 0);
      record.set_loss(Curve(step));
      record.set_loss_scale(1024);
    }
    fixture.log().set_skipped_counted(true);
    return fixture;
  };
  EXPECT_EQ(Words(Live({}, {run(40, 1, 12)})), Losses{});
  EXPECT_EQ(Words(Live({}, {run(40, 30, 3)})), Losses{});
  EXPECT_EQ(Words(Live({}, {run(60, 40, 12)})), Losses{"overflow_rate/overflow_rate_exceeded@60"});
  EXPECT_EQ(Words(Live({}, {run(400, 100, 3)})), Losses{"overflow_rate/overflow_rate_exceeded@400"});
}

}  // namespace
}  // namespace paritect
