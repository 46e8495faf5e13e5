#include "checks/series/run_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<double> ValuesOf(const Curve& curve) {
  std::vector<double> values;
  for (const CurvePoint& point : curve.points) values.push_back(point.value);
  return values;
}

class SeriesTest : public ::testing::Test {
 protected:
  // The series of one run; the evidence lives as long as the test.
  const RunSeries& Make(RunFixture run) {
    std::vector<RunFixture> runs;
    runs.push_back(std::move(run));
    return MakeAll(std::move(runs)).front();
  }
  const std::vector<RunSeries>& MakeAll(std::vector<RunFixture> runs) {
    evidence_.push_back(std::make_unique<EvidenceSet>(Bundles(std::move(runs)), std::vector<v1::Bundle>()));
    series_.push_back(MakeSeries(*evidence_.back(), Side::kBaseline));
    return series_.back();
  }
  std::vector<std::string> FinishedNames(const std::vector<RunSeries>& runs) {
    std::vector<std::string> names;
    for (const RunSeries* run : Finished(BuiltInRules().profile, runs).finished) names.push_back(run->name);
    return names;
  }

  std::vector<std::unique_ptr<EvidenceSet>> evidence_;
  std::vector<std::vector<RunSeries>> series_;
};

double Line(std::int64_t step) {
  return 10.0 - static_cast<double>(step);
}

TEST_F(SeriesTest, PartsOfARunAreJoinedAndTheLaterWins) {
  RunFixture run("gpu");
  run.Losses(1, 4, Line).AddLog().Losses(4, 3, [](std::int64_t) { return 1; });
  const CurveSet set = Make(std::move(run)).Curves(Metric::kLoss);
  ASSERT_THAT(set.curves, SizeIs(1));
  EXPECT_THAT(ValuesOf(set.curves[0]), ElementsAre(9, 8, 7, 1, 1, 1));
}

TEST_F(SeriesTest, RanksThatAgreeCountOnce) {
  RunFixture run("gpu");
  for (int rank = 0; rank < 2; ++rank) {
    for (int step = 1; step <= 3; ++step) {
      v1::StepRecord& record = run.Record(step);
      record.set_rank(rank);
      record.set_loss(Line(step));
    }
  }
  EXPECT_THAT(ValuesOf(Make(std::move(run)).Curves(Metric::kLoss).curves[0]), ElementsAre(9, 8, 7));
}

TEST_F(SeriesTest, OfSomeRanksThatDifferTheDefiningOneCountsOfAllTheMean) {
  for (const char* format : {"text", "megatron"}) {
    RunFixture all("gpu", format);
    RunFixture run("gpu", format);
    for (int rank = 0; rank < 4; ++rank) {
      v1::StepRecord& whole = all.Record(1);
      whole.set_rank(rank);
      whole.set_loss(rank + 1);
      if (rank == 1) continue;
      v1::StepRecord& record = run.Record(1);
      record.set_rank(rank);
      record.set_loss(rank);
    }
    const CurveSet set = Make(std::move(run)).Curves(Metric::kLoss);
    EXPECT_THAT(ValuesOf(set.curves[0]), ElementsAre(std::string(format) == "megatron" ? 3 : 0));
    EXPECT_FALSE(set.curves[0].mean_of_ranks);
    const CurveSet mean = Make(std::move(all)).Curves(Metric::kLoss);
    EXPECT_THAT(ValuesOf(mean.curves[0]), ElementsAre(2.5));
    EXPECT_TRUE(mean.curves[0].mean_of_ranks);
  }
}

TEST_F(SeriesTest, LogsThatDisagreeGiveNoCurve) {
  RunFixture run("gpu");
  run.Losses(1, 4, Line).AddLog().Losses(1, 4, [](std::int64_t) { return 1; });
  const CurveSet set = Make(std::move(run)).Curves(Metric::kLoss);
  EXPECT_THAT(set.curves, IsEmpty());
  ASSERT_THAT(set.problems, SizeIs(1));
  EXPECT_EQ(set.problems[0].message_id, "curve_logs_disagree");
}

TEST_F(SeriesTest, TwoRunsInOneFileGiveNoCurve) {
  RunFixture run("gpu");
  run.Losses(1, 4, Line).Note("two_runs_in_one_file");
  EXPECT_EQ(Make(std::move(run)).Curves(Metric::kLoss).problems[0].message_id, "curve_two_runs");
}

TEST_F(SeriesTest, TwoWritersCountOnlyWhereTheyAgree) {
  RunFixture agree("gpu");
  agree.Losses(1, 3, Line).Losses(1, 3, Line).Note("interleaved_writers");
  EXPECT_THAT(Make(std::move(agree)).Curves(Metric::kLoss).curves, SizeIs(1));
  RunFixture differ("gpu");
  differ.Losses(1, 3, Line).Losses(1, 3, [](std::int64_t) { return 1; }).Note("interleaved_writers");
  EXPECT_EQ(Make(std::move(differ)).Curves(Metric::kLoss).problems[0].message_id, "curve_interleaved");
}

TEST_F(SeriesTest, FinalMetricPrefersAccuracyAndKnowsFractions) {
  RunFixture run("gpu");
  run.Record(1).set_accuracy(0.5);
  run.Record(2).set_accuracy(0.761);
  run.Record(2).set_eval_loss(1.5);
  RunFixture nan = run;
  nan.Record(3).set_accuracy(std::nan(""));
  const std::optional<FinalMetric> last = Make(std::move(nan)).Final();
  ASSERT_TRUE(last.has_value());
  EXPECT_FALSE(last->finite);  // an earlier value is not the final one
  const std::optional<FinalMetric> metric = Make(std::move(run)).Final();
  ASSERT_TRUE(metric.has_value());
  EXPECT_TRUE(metric->is_accuracy);
  EXPECT_DOUBLE_EQ(metric->value, 76.1);
  EXPECT_DOUBLE_EQ(metric->printed, 0.761);
  EXPECT_EQ(Make(RunFixture("empty")).Final(), std::nullopt);
}

TEST_F(SeriesTest, TheLogsOwnEndMarkDecides) {
  std::vector<RunFixture> runs;
  runs.push_back(RunFixture("marked").Losses(1, 10, Line).End(v1::RunEnd::STATE_FINISHED));
  runs.push_back(RunFixture("aborted").Losses(1, 100, Line).End(v1::RunEnd::STATE_ABORTED));
  runs.push_back(RunFixture("half").Losses(1, 50, Line).End(v1::RunEnd::STATE_UNFINISHED, 50, 100));
  runs.push_back(RunFixture("plain").Losses(1, 100, Line));
  runs.push_back(RunFixture("short").Losses(1, 98, Line));
  EXPECT_THAT(FinishedNames(MakeAll(std::move(runs))), ElementsAre("marked", "plain"));
}

TEST_F(SeriesTest, ARunWithinTheToleranceOfTheLongestCounts) {
  std::vector<RunFixture> runs;
  runs.push_back(RunFixture("a").Losses(1, 100, Line));
  runs.push_back(RunFixture("b").Losses(1, 99, Line));
  EXPECT_THAT(FinishedNames(MakeAll(std::move(runs))), ElementsAre("a", "b"));
}

TEST_F(SeriesTest, OfSeveralLogsTheFurthestTellsTheEnd) {
  RunFixture run("gpu");
  run.Losses(1, 50, Line).End(v1::RunEnd::STATE_UNFINISHED, 50, 100);
  run.AddLog().Losses(51, 50, Line).End(v1::RunEnd::STATE_FINISHED, 100, 100);
  EXPECT_EQ(Make(std::move(run)).ending.state, v1::RunEnd::STATE_FINISHED);
}

}  // namespace
}  // namespace paritect
