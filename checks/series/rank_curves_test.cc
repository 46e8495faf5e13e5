// Ranks that print losses of their own: their mean is compared, and the one that leaves the others is named.
#include "checks/series/rank_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

constexpr char kCurve[] = "training.flow.loss-curve";

double Base(std::int64_t step) {
  return 2 + 6 * std::exp(-static_cast<double>(step) / 80);
}

using RankLoss = std::function<double(int rank, std::int64_t step)>;

// Each rank reads its own samples: 5 % scatter that no other rank has.
double Own(int rank, std::int64_t step, std::uint64_t device) {
  return Base(step) * (1 + 0.05 * Jitter(100 + static_cast<std::uint64_t>(rank), step)) *
         (1 + 0.002 * Jitter(device + static_cast<std::uint64_t>(rank), step));
}

RunFixture Training(const std::string& name, int ranks, const RankLoss& loss, int first_rank = 0) {
  RunFixture run(name);
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
    if (rank > first_rank) run.AddLog();
    run.bundle().mutable_evidence(run.bundle().evidence_size() - 1)->set_rank(rank);
    run.Losses(1, 200, [&](std::int64_t step) { return loss(rank, step); });
    run.End(v1::RunEnd::STATE_FINISHED, 200, 200);
  }
  return run;
}

double Gpu(int rank, std::int64_t step) {
  return Own(rank, step, 1000);
}
double Npu(int rank, std::int64_t step) {
  return Own(rank, step, 2000);
}

TEST(RankCurves, OwnSamplesAreNoDisagreement) {
  const v1::CheckResult result = RunOne(kCurve, {Training("g", 8, Gpu)}, {Training("n", 8, Npu)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  EXPECT_THAT(Kinds(result, v1::SEVERITY_NOTE), Contains("compared_by_ranks"));
}

TEST(RankCurves, TheMeanOfAllRanksIsCompared) {
  const auto worse = [](int rank, std::int64_t step) { return Npu(rank, step) * (step > 100 ? 1.08 : 1); };
  const v1::CheckResult result = RunOne(kCurve, {Training("g", 8, Gpu)}, {Training("n", 8, worse)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_FAIL);
  EXPECT_THAT(Kinds(result), Contains("loss_differs"));
  EXPECT_THAT(Kinds(result), Not(Contains("rank_parts")));
}

TEST(RankCurves, TheRankThatLeavesIsNamedThoughTheMeanAgrees) {
  const auto one = [](int rank, std::int64_t step) { return Npu(rank, step) * (rank == 5 && step > 120 ? 1.1 : 1); };
  for (const bool with_baseline : {true, false}) {
    std::vector<RunFixture> baseline;
    if (with_baseline) baseline.push_back(Training("g", 8, Gpu));
    const v1::CheckResult result = RunOne(kCurve, std::move(baseline), {Training("n", 8, one)});
    EXPECT_EQ(result.verdict(), v1::VERDICT_FAIL);
    EXPECT_THAT(Kinds(result), testing::ElementsAre("rank_parts"));
    EXPECT_EQ(Fact(result, "rank_parts", "rank"), 5);
    EXPECT_NEAR(Fact(result, "rank_parts", "first_divergent_step"), 121, 12);
  }
}

TEST(RankCurves, AHarderShardOnBothSidesIsNoFault) {
  const auto harder = [](const RankLoss& of) {
    return [of](int rank, std::int64_t step) { return of(rank, step) * (rank == 3 ? 1.15 : 1); };
  };
  const v1::CheckResult both = RunOne(kCurve, {Training("g", 8, harder(Gpu))}, {Training("n", 8, harder(Npu))});
  EXPECT_THAT(Kinds(both), Not(Contains("rank_parts"))) << both.ShortDebugString();
}

TEST(RankCurves, ARankApartFromTheStartIsNamedByTheOthersScatter) {
  const auto apart = [](int rank, std::int64_t step) { return Npu(rank, step) * (rank == 2 ? 1.3 : 1); };
  const v1::CheckResult result = RunOne(kCurve, {}, {Training("n", 8, apart)});
  EXPECT_THAT(Kinds(result), testing::ElementsAre("rank_parts"));
  EXPECT_EQ(Fact(result, "rank_parts", "rank"), 2);
}

TEST(RankCurves, OneRankWithoutNumbersIsNamed) {
  const auto nan = [](int rank, std::int64_t step) {
    return rank == 5 && step >= 150 ? std::numeric_limits<double>::quiet_NaN() : Npu(rank, step);
  };
  const v1::CheckResult result = RunOne(kCurve, {Training("g", 8, Gpu)}, {Training("n", 8, nan)});
  ASSERT_THAT(Kinds(result), Contains("nan_loss"));
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() != "nan_loss") continue;
    EXPECT_EQ(finding.facts().fields().at("ranks").string_value(), "5");
    EXPECT_EQ(finding.facts().fields().at("count").number_value(), 51);
    EXPECT_NE(finding.message().en().find("rank 5"), std::string::npos) << finding.message().en();
  }
}

TEST(RankCurves, TheLogOfOneRankIsComparedWithThatRank) {
  // The baseline kept rank 0's log alone; its losses follow rank 0 and not the mean.
  RunFixture alone = Training("g", 1, Gpu);
  const v1::CheckResult result = RunOne(kCurve, {alone}, {Training("n", 8, Npu)});
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS) << result.ShortDebugString();
  EXPECT_LT(Fact(result, "measured", "mean_relative_error"), 0.005);
}

// A training that runs: its ranks are read one after the other.
TEST(RankCurves, ARankThatIsAStepBehindHasItsFirstStepAllTheSame) {
  const auto running = [](const std::string& name) {
    RunFixture run(name);
    for (int rank = 0; rank < 2; ++rank) {
      if (rank > 0) run.AddLog();
      run.bundle().mutable_evidence(run.bundle().evidence_size() - 1)->set_rank(rank);
      run.Losses(1, 10 + rank, [&](std::int64_t step) { return Gpu(rank, step); });
    }
    return run;
  };
  EXPECT_EQ(RunOne("first-step.forward.loss", {running("g")}, {running("n")}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(RunOne(kCurve, {running("g")}, {running("n")}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(RankCurves, EqualRanksAreNeverToldToPart) {
  int told = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto loss = [seed](int rank, std::int64_t step) {
      return Base(step) * (1 + 0.1 * Jitter(seed * 64 + static_cast<std::uint64_t>(rank), step));
    };
    told += Kinds(RunOne(kCurve, {}, {Training("n", 8, loss)})).empty() ? 0 : 1;
  }
  EXPECT_LE(told, 1);
}

TEST(RankCurves, ALearningRateOfOneRankIsAFault) {
  const auto run = [](const std::string& name, double odd) {
    RunFixture fixture(name);
    for (int rank = 0; rank < 4; ++rank) {
      if (rank > 0) fixture.AddLog();
      fixture.bundle().mutable_evidence(fixture.bundle().evidence_size() - 1)->set_rank(rank);
      for (std::int64_t step = 1; step <= 100; ++step) {
        fixture.Record(step).set_lr(1e-4 * (rank == 3 && step > 50 ? odd : 1));
      }
      fixture.End(v1::RunEnd::STATE_FINISHED, 100, 100);
    }
    return fixture;
  };
  const std::string check = "model.hyperparameters.learning-rate-curve";
  EXPECT_EQ(RunOne(check, {run("g", 1)}, {run("n", 1)}).verdict(), v1::VERDICT_PASS);
  const v1::CheckResult result = RunOne(check, {run("g", 1)}, {run("n", 2)});
  EXPECT_THAT(Kinds(result), Contains("rank_parts"));
  EXPECT_EQ(Fact(result, "rank_parts", "first_divergent_step"), 51);
}

TEST(RankCurves, TheMeanLeavesOutStagesWithoutALoss) {
  std::vector<RankPoints> ranks(3);
  for (int rank = 0; rank < 3; ++rank) {
    ranks[static_cast<std::size_t>(rank)].rank = rank;
    for (std::int64_t step = 1; step <= 3; ++step) {
      ranks[static_cast<std::size_t>(rank)].points.push_back({step, rank == 0 ? 0.0 : rank * 1.0, 0, {}});
    }
  }
  const std::vector<CurvePoint> mean = MeanOverRanks(ranks);
  ASSERT_EQ(mean.size(), 3u);
  EXPECT_DOUBLE_EQ(mean[0].value, 1.5);
  EXPECT_TRUE(AllRanks(ranks, 0));
  EXPECT_TRUE(AllRanks(ranks, 3));
  EXPECT_FALSE(AllRanks(ranks, 4));
  ranks.erase(ranks.begin());
  EXPECT_FALSE(AllRanks(ranks, 0));
}

}  // namespace
}  // namespace paritect
