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
  EXPECT_EQ(bundle.evidence(4).problem().id(), "source_absent");
}

TEST_F(ShardsCollectorTest, AFolderOfRecords) {
  const auto record = [](absl::string_view rank, absl::string_view name) {
    std::string text = absl::StrCat("paritect-trace 1 7 1 9|h n|v RANK=", rank,
                                    "|v WORLD_SIZE=2|d 1 5 /d|n 1 b/a|e 1 2 c|o 5 /d/", name, "|");
    std::replace(text.begin(), text.end(), '|', '\0');
    return text;
  };
  fs_.AddFile("/job/t/trace/n-1-1.ptrace", record("0", "a"));
  fs_.AddFile("/job/t/trace/n-2-2.ptrace", record("1", "b"));
  fs_.AddFile("/job/t/output.log", "no record");
  const v1::Bundle bundle = Collect("shards: [{trace: t, dataset: train, ranks: \"0-2\"}]\n");
  ASSERT_EQ(bundle.evidence_size(), 4);
  EXPECT_EQ(bundle.evidence(0).rank(), 0);
  EXPECT_EQ(bundle.evidence(0).shards().dataset(), "train");
  EXPECT_THAT(bundle.evidence(1).shards().items(), ElementsAre("/d/b"));
  EXPECT_EQ(bundle.evidence(2).problem().id(), "shard_rank_absent");
  EXPECT_THAT(bundle.evidence(3).listing().names(), ElementsAre("/d/b", "/d/a"));
  fs_.AddFile("/job/e/x.txt", "");
  EXPECT_EQ(Collect("shards: [{trace: e}]\n").evidence(0).problem().id(), "trace_empty");
}

TEST_F(ShardsCollectorTest, WhatAnotherUserPutBesideTheRecordsIsNone) {
  const auto record = [](absl::string_view name) {
    std::string text = absl::StrCat("paritect-trace 1 7 1 9|h n|v RANK=0|v WORLD_SIZE=1|o 5 /d/", name, "|");
    std::replace(text.begin(), text.end(), '|', '\0');
    return text;
  };
  fs_.AddFile("/job/t/n-1-1.ptrace", record("a"));
  fs_.AddFile("/job/t/n-2-2.ptrace", record("planted"));
  fs_.SetOwner("/job/t", 1000, 01733);
  fs_.SetOwner("/job/t/n-1-1.ptrace", 1000, 0644);
  fs_.SetOwner("/job/t/n-2-2.ptrace", 1001, 0644);
  v1::Bundle bundle = Collect("shards: [{trace: t, dataset: train}]\n");
  ASSERT_GE(bundle.evidence_size(), 2);
  EXPECT_EQ(bundle.evidence(0).problem().id(), "trace_foreign_file");
  EXPECT_EQ(bundle.evidence(0).outcome(), v1::OUTCOME_FAILED);
  EXPECT_EQ(bundle.evidence(0).source(), "/job/t/n-2-2.ptrace");
  EXPECT_EQ(bundle.evidence(0).problem().args().at("what"), "1001");
  EXPECT_THAT(bundle.evidence(1).shards().items(), ElementsAre("/d/a"));
  // Nobody but its owner can write to it: whose the files are is the owner's business.
  fs_.SetOwner("/job/t", 1000, 0700);
  bundle = Collect("shards: [{trace: t, dataset: train}]\n");
  EXPECT_NE(bundle.evidence(0).problem().id(), "trace_foreign_file");
}

// `paritect run` of root: who writes there was told the folder's name.
TEST_F(ShardsCollectorTest, AFolderWhoseNameIsKnownToItsOwnAloneMayHoldFilesOfSeveralUsers) {
  std::string text = "paritect-trace 1 7 1 9|h n|v RANK=0|v WORLD_SIZE=1|o 5 /d/a|";
  std::replace(text.begin(), text.end(), '|', '\0');
  const std::string folder = "/job/t/0123456789abcdef0123456789abcdef";
  fs_.AddFile(folder + "/n-1-1.ptrace", text);
  fs_.SetOwner(folder, 0, 01733);
  fs_.SetOwner(folder + "/n-1-1.ptrace", 1001, 0644);
  fs_.SetOwner("/job/t", 0, 0711);
  EXPECT_EQ(Collect("shards: [{trace: t, dataset: train}]\n").evidence(0).problem().id(), "");
  fs_.SetOwner("/job/t", 0, 0755);  // now everybody can list it
  EXPECT_EQ(Collect("shards: [{trace: t, dataset: train}]\n").evidence(0).problem().id(), "trace_foreign_file");
}

TEST_F(ShardsCollectorTest, TheDeclaredRoleOfADataSetIsSaid) {
  fs_.AddFile("/job/r0.txt", "/d/a\n");
  fs_.AddFile("/job/val.md5", "");
  const v1::Bundle bundle = Collect(
      "datasets: [{name: held, manifest: val.md5, role: validation}]\n"
      "shards: [{list: \"r{rank}.txt\", dataset: held}, {list: \"r{rank}.txt\", dataset: other}]\n");
  std::vector<std::string> notes;
  for (const v1::Evidence& one : bundle.evidence()) {
    for (const v1::Note& note : one.shards().notes()) notes.push_back(one.subject() + " " + note.kind());
  }
  EXPECT_THAT(notes, ElementsAre("held role_validation"));
}

TEST_F(ShardsCollectorTest, CompressedLists) {
  // printf 'a\nb\n' | gzip -n
  const absl::string_view bytes("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\xe4\x4a\xe2\x02\0\x97\x2a\x57\x18\x04\0\0\0", 24);
  fs_.AddFile("/job/r0.txt.gz", bytes);
  fs_.AddFile("/job/r1.txt.gz", bytes.substr(0, 14));
  const v1::Bundle bundle = Collect("shards: [{list: \"r{rank}.txt.gz\"}]\n");
  ASSERT_EQ(bundle.evidence_size(), 2);
  EXPECT_THAT(bundle.evidence(0).shards().items(), ElementsAre("a", "b"));
  EXPECT_EQ(bundle.evidence(1).outcome(), v1::OUTCOME_FAILED);
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
