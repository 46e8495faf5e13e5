#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

#include "agent/collect.h"
#include "common/memory_file_system.h"
#include "formats/archives/zip_fixture.h"

namespace paritect {

namespace {

class SettingsCollectorTest : public ::testing::Test {
 protected:
  std::vector<v1::Evidence> Collect(const std::vector<std::string>& settings, const std::vector<std::string>& logs) {
    v1::Plan plan;
    plan.set_base("/p");
    for (const std::string& file : settings) plan.add_settings()->set_file(file);
    for (const std::string& file : logs) plan.add_logs()->set_file(file);
    std::vector<v1::Evidence> out;
    const CollectorEnv env = {.fs = fs_, .rules = BuiltInRules(), .redaction_key = "key of the audit"};
    CollectPlanInto(env, plan, [&](v1::Evidence evidence) {
      if (evidence.kind() == v1::EVIDENCE_KIND_SETTINGS) out.push_back(std::move(evidence));
    });
    return out;
  }

  MemoryFileSystem fs_;
};

constexpr char kLog[] = "---- arguments ----\n  lr .... 0.1\n- end of arguments -\nstep 1 loss 2.5\n";

TEST_F(SettingsCollectorTest, ALogUnderBothListsIsScannedOnce) {
  fs_.AddFile("/p/train.log", kLog);
  for (const auto& found : {Collect({"train.log"}, {"train.log"}), Collect({}, {"train.log"}),
                            Collect({"*.log"}, {"train.log", "train*.log"})}) {
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].settings().kind(), "printed");
    EXPECT_EQ(found[0].settings().settings(0).origin(), "train.log:2");
  }
}

TEST_F(SettingsCollectorTest, ALogUnderSettingsThatPrintsNoneIsSaid) {
  fs_.AddFile("/p/train.log", "step 1 loss 2.5\n");
  EXPECT_EQ(Collect({}, {"train.log"}).size(), 0u);
  const auto found = Collect({"train.log"}, {"train.log"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome(), v1::OUTCOME_ABSENT);
}

TEST_F(SettingsCollectorTest, AConfigurationUnderLogsStaysAConfiguration) {
  fs_.AddFile("/p/ds.json", R"({"train_batch_size": 8, "zero_optimization": {"stage": 2}})");
  const auto found = Collect({"ds.json"}, {"ds.json"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].settings().format(), "deepspeed-json");
}

TEST_F(SettingsCollectorTest, BytesThatAreNoUtf8HideNoSettings) {
  fs_.AddFile("/p/train.log", absl::StrCat("\xB2\xE2\xCA\xD4 \xFF\n", kLog));
  const auto found = Collect({}, {"train.log"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].settings().settings(0).raw_value(), "0.1");
}

// The peer packs the whole environment as it is; what is imported leaves no secret behind.
TEST_F(SettingsCollectorTest, AnImportedEnvironmentIsRedacted) {
  fs_.AddFile("/p/pack.zip",
              MakeZip({{"env", R"({"HCCL_INTRA_PCIE_ENABLE": "1", "NVIDIA_TF32_OVERRIDE": "0", "MY_TOKEN": "abc"})"}}));
  const auto found = Collect({"pack.zip"}, {});
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].settings().settings_size(), 3);
  for (const v1::Setting& setting : found[0].settings().settings()) {
    EXPECT_EQ(setting.has_value(), setting.raw_key() != "env.MY_TOKEN");
    EXPECT_EQ(setting.keyed_hash().empty(), setting.raw_key() != "env.MY_TOKEN");
  }
  EXPECT_EQ(found[0].SerializeAsString().find("abc"), std::string::npos);
}

TEST_F(SettingsCollectorTest, AHostileArchiveIsAFailure) {
  fs_.AddFile("/p/pack.zip", MakeZip({{"env", "{}"}, {"../../etc/x", "1"}}));
  const auto found = Collect({"pack.zip"}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome(), v1::OUTCOME_FAILED);
}

}  // namespace
}  // namespace paritect
