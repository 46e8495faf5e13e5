#include "formats/audit_file.h"

#include <gtest/gtest.h>

#include "common/status_testing.h"
#include "rules/rules.h"

namespace paritect {
namespace {

constexpr absl::string_view kAudit = R"(
audit: resnet50
baseline: {nodes: ["gpu-*"], plans: [{run: gpu-1, logs: [/job/gpu-1/train.log]}]}
migrated: {nodes: ["npu-*"], plans: [{run: npu-1, logs: [/job/npu-1/train.log]}]}
profile: pre-tuning/1
schedule: "6h"
webhook: https://hooks.example/x
)";

std::string ErrorOf(absl::string_view text) {
  return std::string(ParseAuditFile(text).status().message());
}

TEST(ParseAuditFile, ReadsEveryKey) {
  const auto audit = ParseAuditFile(kAudit);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->name(), "resnet50");
  EXPECT_EQ(audit->baseline().nodes(0), "gpu-*");
  EXPECT_EQ(audit->migrated().plans(0).logs(0).file(), "/job/npu-1/train.log");
  EXPECT_EQ(audit->schedule_seconds(), 6 * 3600);
  EXPECT_EQ(audit->source(), kAudit);
  EXPECT_TRUE(ReadAuditProfile(*audit, BuiltInRules().profile).ok());
}

TEST(ParseAuditFile, ARunMayNameItsNodes) {
  const auto audit = ParseAuditFile("audit: a\nbaseline: {runs: [g, {run: x, nodes: [\"gpu-*\", old]}]}");
  ASSERT_TRUE(audit.ok()) << audit.status();
  ASSERT_EQ(audit->baseline().runs_size(), 2);
  EXPECT_EQ(audit->baseline().runs(1), "x");
  ASSERT_EQ(audit->baseline().run_nodes_size(), 1);
  EXPECT_EQ(audit->baseline().run_nodes(0).run(), "x");
  EXPECT_EQ(audit->baseline().run_nodes(0).nodes(1), "old");
  EXPECT_EQ(ErrorOf("audit: a\nbaseline: {runs: [r, r]}"), "2:22: run 'r' stands twice in `runs`");
  EXPECT_NE(ErrorOf("audit: a\nbaseline: {runs: [{run: r}]}").find("needs `nodes:`"), std::string::npos);
  EXPECT_NE(ErrorOf("audit: a\nbaseline: {runs: [{nodes: [r]}]}").find("needs `run:`"), std::string::npos);
  EXPECT_NE(ErrorOf("audit: a\nbaseline: {runs: [{run: r, node: n}]}").find("unknown key 'node'"), std::string::npos);
}

TEST(ParseAuditFile, RefusesWithAPlace) {
  EXPECT_EQ(ErrorOf("audit: a\nbaseline: {nodes: [x]}"), "2:11: `baseline` names nodes but no `plans` to run there");
  EXPECT_EQ(ErrorOf("audit: a\nbaseline: {plans: [{run: r}]}"),
            "2:11: `baseline` has plans but no `nodes` to run them on");
  EXPECT_EQ(ErrorOf("audit: a\nbaseline: {}"), "2:11: `baseline` needs `nodes` with `plans`, or recorded `runs`");
  EXPECT_EQ(ErrorOf("audit: a"), "1:1: an audit file needs `baseline:` or `migrated:`");
  EXPECT_EQ(ErrorOf("baseline: {runs: [r]}"), "1:1: an audit file needs `audit:`, its name");
  EXPECT_NE(ErrorOf("audit: own:a\nbaseline: {runs: [r]}").find("must not begin with 'own:'"), std::string::npos);
  EXPECT_NE(ErrorOf("audit: a/b\nbaseline: {runs: [r]}").find("1:8: `audit` must be a name"), std::string::npos);
  EXPECT_NE(ErrorOf("audit: a\nbaseline: {runs: [r]}\nschedule: 5s").find("3:11: `schedule` must be a minute"),
            std::string::npos);
  EXPECT_NE(ErrorOf("audit: a\nbaseline: {runs: [r]}\nwebhook: ftp://x").find("3:10:"), std::string::npos);
  EXPECT_NE(ErrorOf("audit: a\nbaseline: {nodes: [x], plans: [{logs: [a]}]}").find("needs `run:`"), std::string::npos);
  EXPECT_NE(
      ErrorOf("audit: a\nbaseline: {nodes: [x], plans: [{run: r, logs: [a.log]}]}").find("'a.log' must be an absolute"),
      std::string::npos);
  EXPECT_NE(ErrorOf("audit: a\nbaselin: {}").find("unknown key 'baselin'"), std::string::npos);
}

TEST(ReadAuditProfile, TakesAnInlineProfile) {
  const auto audit = ParseAuditFile(
      "audit: a\nbaseline: {runs: [r]}\n"
      "profile: {profile: mine/1, extends: pre-tuning/1, thresholds: {overflow_rate: 0.01}}");
  ASSERT_TRUE(audit.ok()) << audit.status();
  const auto profile = ReadAuditProfile(*audit, BuiltInRules().profile);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->threshold("overflow_rate"), 0.01);
  const auto other = ParseAuditFile("audit: a\nbaseline: {runs: [r]}\nprofile: none/9");
  EXPECT_EQ(CodeOf(ReadAuditProfile(*other, BuiltInRules().profile)), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paritect
