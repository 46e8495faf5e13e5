#include <gtest/gtest.h>
#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "agent/collectors/log_files.h"
#include "common/memory_file_system.h"

namespace paritect {

namespace {

class LogsTest : public ::testing::Test {
 protected:
  std::vector<v1::Evidence> Collect(absl::string_view pattern, int world_size = 0) {
    v1::Plan plan;
    plan.set_base("/p");
    plan.add_logs()->set_file(std::string(pattern));
    if (world_size > 0) plan.mutable_info()->set_world_size(world_size);
    std::vector<v1::Evidence> out;
    CollectPlanInto({.fs = fs_, .rules = BuiltInRules()}, plan, [&](v1::Evidence evidence) {
      if (evidence.kind() == v1::EVIDENCE_KIND_RUN_LOG) out.push_back(std::move(evidence));
    });
    return out;
  }

  MemoryFileSystem fs_;
};

TEST_F(LogsTest, RanksAreReadOffNamesAndMissingOnesAreEvidence) {
  fs_.AddFile("/p/rank0.log", "step 1 loss 2.5\n");
  fs_.AddFile("/p/rank2.log", "step 1 loss 2.4\n");
  const auto found = Collect("rank{rank}.log", 4);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].rank(), 0);
  EXPECT_EQ(found[1].rank(), 2);
  EXPECT_EQ(found[2].outcome(), v1::OUTCOME_ABSENT);
  EXPECT_EQ(found[2].problem().id(), "log_rank_missing");
  EXPECT_EQ(found[3].rank(), 3);
}

TEST_F(LogsTest, RotatedPartsAreOneLogInTheOrderOfTheirSteps) {
  fs_.AddFile("/p/train.log", "step 5 loss 2.1\nstep 6 loss 2.0\n");
  fs_.AddFile("/p/train.log.1", "step 3 loss 2.3\nstep 4 loss 2.2\n");
  fs_.AddFile("/p/train.log.2", "step 1 loss 2.5\nstep 2 loss 2.4\n");
  const auto found = Collect("train.log*");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].run_log().records_size(), 6);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(found[0].run_log().records(i).step(), i + 1);
}

TEST_F(LogsTest, OutputWithoutLossesIsToldApartFromAFormThatIsNotKnown) {
  fs_.AddFile("/p/out.log", "hello\nloading the data\ndone in 12 s\n");
  fs_.AddFile("/p/odd.log", "hello\nthe loss at 12 was 3\n");
  EXPECT_EQ(Collect("out.log")[0].problem().id(), "log_without_records");
  EXPECT_EQ(Collect("odd.log")[0].problem().id(), "source_unknown_format");
}

TEST_F(LogsTest, LogsOfTheSameStepsAreNotJoined) {
  fs_.AddFile("/p/a.log", "step 1 loss 2.5\nstep 2 loss 2.4\n");
  fs_.AddFile("/p/b.log", "step 1 loss 2.6\nstep 2 loss 2.3\n");
  EXPECT_EQ(Collect("*.log").size(), 2u);
}

TEST_F(LogsTest, MetricFilesThatAPatternNamesAreOneLogARun) {
  std::string loss;
  std::string rate;
  for (int step = 1; step <= 8; ++step) {
    if (step < 8) absl::StrAppend(&loss, 1'790'000'000'000 + step, " 2.5 ", step, "\n");
    absl::StrAppend(&rate, 1'790'000'000'000 + step, " 0.001 ", step, "\n");
  }
  fs_.AddFile("/p/mlruns/0/a/metrics/loss", loss);
  fs_.AddFile("/p/mlruns/0/a/metrics/lr", rate);
  const auto found = Collect("mlruns/0/a/metrics/*");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source(), "mlruns/0/a");
  ASSERT_EQ(found[0].run_log().records_size(), 8);
  EXPECT_TRUE(found[0].run_log().records(7).loss_absent());
  // What only stands in a folder of that name is read as ever.
  fs_.AddFile("/p/metrics/rank0.log", "step 1 loss 2.5\n");
  fs_.AddFile("/p/metrics/rank1.log", "step 1 loss 2.5\n");
  EXPECT_EQ(Collect("metrics/rank{rank}.log").size(), 2u);
}

// A field of type 2 of the wire form.
std::string Field(int number, const std::string& bytes) {
  std::string out;
  for (unsigned word : {static_cast<unsigned>(number << 3 | 2), static_cast<unsigned>(bytes.size())}) {
    for (; word >= 0x80; word >>= 7) out.push_back(static_cast<char>((word & 0x7F) | 0x80));
    out.push_back(static_cast<char>(word));
  }
  return out + bytes;
}

// One whole record of a W&B file.
std::string WandbRecord(const std::string& payload) {
  const std::string checked = "\x01" + payload;
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(crc >> shift));
  out.push_back(static_cast<char>(payload.size()));
  out.push_back(static_cast<char>(payload.size() >> 8));
  return out + checked;
}

// A log may hold the whole configuration, and in it what must not leave the machine.
TEST_F(LogsTest, SecretsOfARunsConfigurationAreWithheld) {
  std::string bytes = std::string("\x3A\x57\x26\x42\xE1\xBE", 6) + std::string(1, '\0');
  const std::string secret = Field(1, "hub_token") + Field(16, "\"hf_PlantedSecretabcdefghijklmnopqr\"");
  bytes += WandbRecord(Field(5, Field(1, Field(1, "lr") + Field(16, "0.25")) + Field(1, secret)));
  bytes += WandbRecord(
      Field(2, Field(1, Field(1, "_step") + Field(16, "1")) + Field(1, Field(1, "loss") + Field(16, "2.5"))));
  fs_.AddFile("/p/run-1.wandb", bytes);
  const auto found = Collect("run-1.wandb");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].run_log().settings_size(), 1);
  EXPECT_EQ(found[0].run_log().settings(0).settings_size(), 2);
  EXPECT_EQ(found[0].SerializeAsString().find("PlantedSecret"), std::string::npos);
}

TEST_F(LogsTest, StandInsAndUnknownFilesAreSaid) {
  fs_.AddFile("/p/lfs.log", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  fs_.AddFile("/p/odd.log", "nothing to see\n");
  EXPECT_EQ(Collect("lfs.log")[0].problem().id(), "source_stand_in");
  EXPECT_EQ(Collect("lfs.log")[0].outcome(), v1::OUTCOME_FAILED);
  EXPECT_EQ(Collect("odd.log")[0].problem().id(), "log_without_records");
  EXPECT_EQ(Collect("gone.log")[0].outcome(), v1::OUTCOME_ABSENT);
  EXPECT_EQ(Collect("gone*.log")[0].problem().id(), "pattern_matches_nothing");
}

TEST_F(LogsTest, AFolderGivesItsLogs) {
  fs_.AddFile("/p/mlruns/0/run/metrics/loss", "1700000000000 3.5 1\n1700000000001 3.25 2\n");
  fs_.AddFile("/p/mlruns/0/run/metrics/lr", "1700000000000 0.5 1\n1700000000001 0.25 2\n");
  fs_.AddFile("/p/mlruns/0/run/tags/name", "x\n");
  const auto found = Collect("mlruns");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].run_log().records_size(), 2);
  EXPECT_EQ(found[0].run_log().records(1).loss(), 3.25);
  EXPECT_EQ(found[0].run_log().records(1).lr(), 0.25);
}

}  // namespace
}  // namespace paritect
