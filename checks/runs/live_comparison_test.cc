#include "checks/runs/live_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "checks/series/fixture.h"

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

// The first length at which a divergence is told; 0: never.
std::int64_t ToldAt(const std::function<double(std::int64_t)>& losses, std::int64_t every = 1) {
  for (std::int64_t n = every; n <= 300; n += every) {
    if (!Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, n, losses)}).empty()) return n;
  }
  return 0;
}

v1::Verdict Offline(const std::function<double(std::int64_t)>& losses) {
  RunFixture baseline("g");
  RunFixture run("n");
  baseline.Losses(1, 300, Curve).End(v1::RunEnd::STATE_FINISHED, 300, 300);
  run.Losses(1, 300, losses).End(v1::RunEnd::STATE_FINISHED, 300, 300);
  return RunOne("training.flow.loss-curve", {baseline}, {run}).verdict();
}

TEST(LiveComparison, WhatPassesInTheEndIsNeverTold) {
  const std::vector<std::pair<const char*, std::function<double(std::int64_t)>>> runs = {
      {"one step", [](std::int64_t step) { return step == 40 ? 1.5 * Curve(step) : Near(step); }},
      {"three steps", [](std::int64_t step) { return step >= 40 && step < 43 ? 1.5 * Curve(step) : Near(step); }},
      {"a worse beginning", [](std::int64_t step) { return Near(step) * (step <= 30 ? 1.03 : 1); }},
      {"an excursion", [](std::int64_t step) { return Near(step) * (step > 150 && step <= 180 ? 1.04 : 1); }},
      {"0.8 % above", [](std::int64_t step) { return 1.008 * Near(step); }},
  };
  for (const auto& [name, losses] : runs) {
    ASSERT_EQ(Offline(losses), v1::VERDICT_PASS) << name;
    EXPECT_EQ(ToldAt(losses, 5), 0) << name;
  }
}

TEST(LiveComparison, WhatFailsInTheEndIsToldSoonAfterItParts) {
  const auto from = [](std::int64_t at, double factor) {
    return [at, factor](std::int64_t step) { return Near(step) * (step > at ? factor : 1); };
  };
  struct Case {
    double factor;
    std::int64_t within;
  };
  for (const auto& [factor, within] : {Case{2, 10}, Case{1.5, 10}, Case{0.5, 10}, Case{1.1, 30}, Case{1.05, 45}}) {
    for (const std::int64_t at : {0, 100, 200}) {
      ASSERT_EQ(Offline(from(at, factor)), v1::VERDICT_FAIL) << factor << " from " << at;
      const std::int64_t told = ToldAt(from(at, factor));
      EXPECT_GT(told, at) << factor;
      EXPECT_LE(told, at + within) << factor << " from " << at;
    }
  }
}

TEST(LiveComparison, ASlowPartingIsToldWithItsBeginning) {
  const auto losses = [](std::int64_t step) {
    return Near(step) * (step > 100 ? 1 + 0.001 * static_cast<double>(step - 100) : 1);
  };
  EXPECT_EQ(Words(Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, 105, losses)})), Losses{});
  const auto found = Live({RunFixture("g").Losses(1, 300, Curve)}, {RunFixture("n").Losses(1, 160, losses)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].event, "divergence");
  EXPECT_GT(*found[0].step, 100);
  EXPECT_LT(*found[0].step, 125);
}

// Another global batch: the check compares by consumed samples, and so does the live comparison.
TEST(LiveComparison, ComparesByConsumedSamples) {
  const auto batches = [](const std::string& name, std::int64_t batch, std::int64_t steps, double factor) {
    RunFixture run(name);
    run.log().set_interval_means(true);
    for (std::int64_t step = 1; step <= steps; ++step) {
      double sum = 0;
      for (std::int64_t part = 0; part < batch / 256; ++part) sum += Curve((step - 1) * (batch / 256) + part + 1);
      v1::StepRecord& record = run.Record(step);
      record.set_loss(factor * sum / static_cast<double>(batch / 256));
      record.set_samples(step * batch);
    }
    return run;
  };
  for (const std::int64_t n : {10, 40, 100, 150}) {
    EXPECT_EQ(Words(Live({batches("g", 256, 300, 1)}, {batches("n", 512, n, 1)})), Losses{}) << n;
  }
  EXPECT_EQ(Live({batches("g", 256, 300, 1)}, {batches("n", 512, 60, 1.2)}).size(), 1u);
}

TEST(LiveComparison, AnUnfinishedRunBesideAFinishedOneIsCompared) {
  RunFixture done("n1");
  done.Losses(1, 300, Near).End(v1::RunEnd::STATE_FINISHED, 300, 300);
  const auto losses = [](std::int64_t step) { return 2 * Curve(step); };
  const auto found = Live({RunFixture("g").Losses(1, 300, Curve)}, {done, RunFixture("n2").Losses(1, 30, losses)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].training_run, "n2");
}

TEST(LiveComparison, OneRankThatLeavesIsTold) {
  RunFixture run("n");
  for (int rank = 0; rank < 8; ++rank) {
    if (rank > 0) run.AddLog();
    run.bundle().mutable_evidence(rank)->set_rank(rank);
    run.Losses(1, 150, [rank](std::int64_t step) {
      return Curve(step) * (1 + 0.05 * Jitter(50 + static_cast<std::uint64_t>(rank), step)) *
             (rank == 5 && step > 90 ? 1.2 : 1);
    });
  }
  const auto found = Live({}, {run});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].event, "divergence");
  EXPECT_EQ(found[0].finding.kind(), "rank_parts");
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
  // Three in 400 steps may be chance at a true rate within the limit; twelve are not, whatever comes.
  EXPECT_EQ(Words(Live({}, {run(400, 100, 3)})), Losses{});
  EXPECT_EQ(Words(Live({}, {run(400, 100, 12)})), Losses{"overflow_rate/overflow_rate_exceeded@400"});
  // Of a run whose length is known: 1500 steps allow 7.
  const RunFixture baseline = RunFixture("g").Losses(1, 1500, Curve);
  EXPECT_EQ(Words(Live({baseline}, {run(400, 100, 7)})), Losses{});
  EXPECT_EQ(Words(Live({baseline}, {run(400, 100, 8)})), Losses{"overflow_rate/overflow_rate_exceeded@400"});
}

}  // namespace
}  // namespace paritect
