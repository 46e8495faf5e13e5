#include "server/shared_mounts.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

KnownNode Node(const std::string& name, const std::string& mount, bool online = true) {
  KnownNode node;
  node.name = name;
  node.online = online;
  if (!mount.empty()) node.mounts["/data"] = mount;
  return node;
}

v1::AuditRun RunOf(int nodes, const std::string& root = "/data/train") {
  v1::AuditRun run;
  v1::DatasetSource& source = *run.mutable_definition()->mutable_baseline()->add_plans()->add_datasets();
  source.set_name("train");
  source.set_root(root);
  for (int i = 0; i < nodes; ++i) run.add_tasks()->set_node("n" + std::to_string(i));
  return run;
}

TEST(ShareMounts, EachNodeOfOneMountTakesAShare) {
  v1::AuditRun run = RunOf(3);
  ShareMounts({Node("n0", "nfs nas:/e /"), Node("n1", "nfs nas:/e /"), Node("n2", "nfs nas:/e /")}, 7, run);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run.tasks(i).share_index(), static_cast<std::uint32_t>(i));
    EXPECT_EQ(run.tasks(i).share_count(), 3u);
    v1::Plan plan = run.definition().baseline().plans(0);
    ApplyShares(run.tasks(i), plan);
    EXPECT_TRUE(plan.datasets(0).part());
    EXPECT_EQ(plan.datasets(0).share_index(), static_cast<std::uint32_t>(i));
    EXPECT_EQ(plan.datasets(0).share_seed(), 7u);
  }
}

TEST(ShareMounts, WhateverIsNotSurelyTheSameIsHashedWhole) {
  const auto shares = [](v1::AuditRun run, const std::vector<KnownNode>& nodes) {
    ShareMounts(nodes, 7, run);
    return run.tasks(0).share_count();
  };
  EXPECT_EQ(shares(RunOf(2), {Node("n0", "nfs nas:/e /"), Node("n1", "nfs other:/e /")}), 0u);
  EXPECT_EQ(shares(RunOf(2), {Node("n0", "nfs nas:/e /"), Node("n1", "")}), 0u);
  EXPECT_EQ(shares(RunOf(2), {Node("n0", "nfs nas:/e /"), Node("n1", "nfs nas:/e /", false)}), 0u);
  EXPECT_EQ(shares(RunOf(2, "/database"), {Node("n0", "nfs nas:/e /"), Node("n1", "nfs nas:/e /")}), 0u);
  v1::AuditRun part = RunOf(2);
  part.mutable_definition()->mutable_baseline()->mutable_plans(0)->mutable_datasets(0)->set_part(true);
  EXPECT_EQ(shares(part, {Node("n0", "nfs nas:/e /"), Node("n1", "nfs nas:/e /")}), 0u);
}

}  // namespace
}  // namespace paritect
