#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/collect.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;

class ShardsCollectorTest : public ::testing::Test {
 protected:
  v1::Bundle Collect(absl::string_view plan_text) {
    fs_.AddFile("/job/plan.yaml", plan_text);
    auto plan = LoadPlan(fs_, "/job", "npu-01");
    EXPECT_TRUE(plan.ok()) << plan.status();
    return CollectPlan({fs_, BuiltInRules()}, *plan);
  }
  MemoryFileSystem fs_;
};

TEST_F(ShardsCollectorTest, RankEpochAndNodeAreReadOffTheName) {
  fs_.AddFile("/job/n1/rank_0003_e2.txt", "/d/a\n");
  const v1::Bundle bundle = Collect("shards: [{list: \"{node}/rank_{rank}_e{epoch}.txt\", dataset: train}]\n");
  ASSERT_EQ(bundle.evidence_size(), 1);
  const v1::Evidence& one = bundle.evidence(0);
  EXPECT_EQ(one.outcome(), v1::OUTCOME_COLLECTED);
  EXPECT_EQ(one.rank(), 3);
  EXPECT_EQ(one.shards().epoch(), 2);
  EXPECT_EQ(one.shards().node(), "n1");
  EXPECT_EQ(one.subject(), "train");
  EXPECT_THAT(one.shards().items(), ElementsAre("/d/a"));
}

TEST_F(ShardsCollectorTest, OnlyTheExpectedRanksAndMissingOnesByName) {
  for (int rank : {0, 1, 2}) fs_.AddFile(absl::StrCat("/job/r", rank, ".txt"), "/d/a\n");
  const v1::Bundle bundle = Collect("shards: [{list: \"r{rank}.txt\", ranks: \"1-3\"}]\n");
  ASSERT_EQ(bundle.evidence_size(), 3);
  EXPECT_EQ(bundle.evidence(0).rank(), 1);
  EXPECT_EQ(bundle.evidence(1).rank(), 2);
  EXPECT_EQ(bundle.evidence(2).rank(), 3);
  EXPECT_EQ(bundle.evidence(2).outcome(), v1::OUTCOME_ABSENT);
  EXPECT_EQ(bundle.evidence(2).problem().id(), "shard_rank_absent");
}

TEST_F(ShardsCollectorTest, WhatCannotBeReadIsEvidence) {
  fs_.AddFile("/job/r0.txt", absl::string_view("\x7f\x01\0\0", 4));
  fs_.AddFile("/job/r1.txt", "version https://git-lfs.github.com/spec/v1\n");
  fs_.AddFile("/job/r2.txt", "a\n");
  fs_.MakeUnreadable("/job/r2.txt");
  const v1::Bundle bundle = Collect("shards: [{list: \"r{rank}.txt\"}, {list: \"none*.txt\"}, {trace: t/}]\n");
  ASSERT_EQ(bundle.evidence_size(), 5);
  EXPECT_EQ(bundle.evidence(0).problem().id(), "source_unknown_format");
  EXPECT_EQ(bundle.evidence(0).rank(), 0);
  EXPECT_EQ(bundle.evidence(1).problem().id(), "source_stand_in");
  EXPECT_EQ(bundle.evidence(2).problem().id(), "source_unreadable");
  EXPECT_EQ(bundle.evidence(3).problem().id(), "pattern_matches_nothing");
  EXPECT_EQ(bundle.evidence(4).problem().id(), "not_supported");
}

TEST_F(ShardsCollectorTest, OneListOfAWorldOfOneIsRankZero) {
  fs_.AddFile("/job/files.txt", "a\n");
  EXPECT_FALSE(Collect("shards: [files.txt]\n").evidence(0).has_rank());
  EXPECT_EQ(Collect("world_size: 1\nshards: [files.txt]\n").evidence(0).rank(), 0);
}

TEST_F(ShardsCollectorTest, NameAndContentThatDisagreeAreSaid) {
  fs_.AddFile("/job/r1.jsonl", "{\"rank\": 2, \"files\": [\"a\"]}\n");
  const v1::Bundle bundle = Collect("shards: [{list: \"r{rank}.jsonl\"}]\n");
  EXPECT_EQ(bundle.evidence(0).shards().incomplete(0).id(), "shard_rank_conflict");
}

}  // namespace
}  // namespace paritect
