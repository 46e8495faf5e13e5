#include "server/audits/new_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/audit_file.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::AuditDefinition Definition(const std::string& baseline, const std::string& migrated) {
  auto parsed = ParseAuditFile("audit: a\nbaseline: " + baseline + "\nmigrated: " + migrated + "\n");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *std::move(parsed);
}

KnownNode Node(const std::string& name, bool revoked = false) {
  KnownNode node;
  node.name = name;
  node.online = true;
  node.revoked = revoked;
  return node;
}

std::vector<std::string> TasksOf(const v1::AuditRun& run) {
  std::vector<std::string> tasks;
  for (const v1::NodeTask& task : run.tasks()) tasks.push_back(task.node() + " " + task.task_id());
  return tasks;
}

constexpr char kGpu[] = "{nodes: [\"gpu-*\"], plans: [{run: g, logs: [/l]}]}";

TEST(NewRun, EachPlanOfEachNodeIsATaskAndNamedNodesAreNeverDropped) {
  const auto definition =
      Definition(kGpu, "{nodes: [npu-1, npu-9], plans: [{run: n, logs: [/l]}, {run: n, logs: [/k]}]}");
  NewRunOptions options;
  options.number = 7;
  options.by = "operator/o";
  options.timeout_ms = 1000;
  const auto run = NewRun(definition, {Node("gpu-1"), Node("npu-1"), Node("other")}, options);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(TasksOf(*run),
              ElementsAre("gpu-1 a.7.b0", "npu-1 a.7.m0", "npu-1 a.7.m1", "npu-9 a.7.m0", "npu-9 a.7.m1"));
  EXPECT_EQ(run->state(), v1::AUDIT_RUN_STATE_COLLECTING);
  EXPECT_EQ(run->started_by(), "operator/o");
  EXPECT_EQ(run->timeout_ms(), 1000);
}

TEST(NewRun, RevokedNodesThatAPatternFitsAreKept) {
  const auto definition = Definition(kGpu, "{nodes: [npu-1], plans: [{run: n, logs: [/l]}]}");
  const auto run = NewRun(definition, {Node("gpu-1"), Node("gpu-2", true), Node("npu-1")}, {});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->revoked_nodes(), ElementsAre("gpu-2"));
}

TEST(NewRun, APlanThatNoNodeRunsIsRefused) {
  const auto definition = Definition(kGpu, "{nodes: [npu-1], plans: [{run: n, node: npu-2, logs: [/l]}]}");
  const auto run = NewRun(definition, {Node("gpu-1"), Node("npu-1"), Node("npu-2")}, {});
  EXPECT_TRUE(absl::IsInvalidArgument(run.status())) << run.status();
  EXPECT_THAT(std::string(run.status().message()), HasSubstr("none of that side's nodes"));
}

TEST(RequireNodes, TellsWhoIsEnrolledAndWhoWasRevoked) {
  const auto definition = Definition(kGpu, kGpu);
  EXPECT_TRUE(RequireNodes(definition, {Node("gpu-1")}).ok());
  const absl::Status nobody = RequireNodes(definition, {Node("npu-1")});
  EXPECT_TRUE(absl::IsInvalidArgument(nobody)) << nobody;
  EXPECT_THAT(std::string(nobody.message()), HasSubstr("enrolled: npu-1"));
  const absl::Status revoked = RequireNodes(definition, {Node("gpu-1", true)});
  EXPECT_TRUE(absl::IsFailedPrecondition(revoked)) << revoked;
}

}  // namespace
}  // namespace paritect
