// cluster.coverage and evidence.integrity in an audit of a server: what it knows beyond the bundles.
#include <gtest/gtest.h>

#include "checks/runner.h"

namespace paritect {
namespace {

v1::Bundle RunOn(absl::string_view node) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run("r");
  bundle.mutable_plan()->set_node(std::string(node));
  return bundle;
}

FleetFacts TwoNodes() {
  FleetFacts fleet;
  fleet.nodes = {{Side::kBaseline, "gpu-01", true, "now", 3, 0}, {Side::kMigrated, "npu-01", true, "now", -4, 0}};
  fleet.records_checked = 7;
  fleet.log_entries = 12;
  return fleet;
}

v1::CheckResult Judge(absl::string_view id, FleetFacts fleet) {
  const EvidenceSet evidence({RunOn("gpu-01")}, {RunOn("npu-01")}, std::move(fleet));
  const v1::Report report = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), {.today = "2026-01-01"});
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() == id) return check;
    }
  }
  ADD_FAILURE() << "no check " << id;
  return {};
}

TEST(FleetCoverage, AllReported) {
  EXPECT_EQ(Judge("cluster.coverage.nodes", TwoNodes()).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Judge("cluster.coverage.records", TwoNodes()).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Judge("evidence.integrity.records", TwoNodes()).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Judge("evidence.integrity.audit-log", TwoNodes()).verdict(), v1::VERDICT_PASS);
}

TEST(FleetCoverage, ASilentNodeIsNamedAndNothingPasses) {
  FleetFacts fleet = TwoNodes();
  fleet.nodes[1].reported = false;
  fleet.nodes.push_back({Side::kMigrated, "npu-02", false, "", std::nullopt, 0});
  const v1::CheckResult result = Judge("cluster.coverage.nodes", fleet);
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_EQ(result.missing_size(), 2);
  EXPECT_EQ(result.missing(0).from(), "npu-01");
  EXPECT_EQ(result.missing(1).from(), "npu-02");
}

TEST(FleetCoverage, ANodeThatWasStillAtWorkIsToldApart) {
  FleetFacts fleet = TwoNodes();
  fleet.nodes[1].reported = false;
  fleet.nodes[1].unfinished = true;
  const v1::CheckResult result = Judge("cluster.coverage.nodes", fleet);
  ASSERT_EQ(result.missing_size(), 1);
  EXPECT_NE(result.missing(0).what().en().find("still at work"), std::string::npos);
}

TEST(FleetCoverage, ARevokedNodeIsToldHowToComeBackOrGo) {
  FleetFacts fleet = TwoNodes();
  fleet.nodes[1].reported = false;
  fleet.nodes[1].revoked = true;
  const v1::CheckResult result = Judge("cluster.coverage.nodes", fleet);
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_EQ(result.missing_size(), 1);
  EXPECT_NE(result.missing(0).what().en().find("was revoked"), std::string::npos);
  EXPECT_NE(result.missing(0).how().en().find("--node npu-01"), std::string::npos) << result.missing(0).how().en();
}

TEST(FleetCoverage, AnIdentityOfTwoAgentsFails) {
  FleetFacts fleet = TwoNodes();
  fleet.nodes[1].contested = true;
  const v1::CheckResult result = Judge("cluster.coverage.nodes", fleet);
  EXPECT_EQ(result.verdict(), v1::VERDICT_FAIL);
  ASSERT_GE(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).kind(), "identity_contested");
  EXPECT_EQ(result.findings(0).subject(), "npu-01");
}

TEST(FleetCoverage, ASkewedClockIsAWarning) {
  FleetFacts fleet = TwoNodes();
  fleet.nodes[0].clock_offset_ms = -90'000;
  const v1::CheckResult result = Judge("cluster.coverage.nodes", fleet);
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  ASSERT_GE(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).kind(), "clock_offset");
}

TEST(FleetCoverage, LostRecordsFail) {
  FleetFacts fleet = TwoNodes();
  fleet.nodes[1].lost_records = 5;
  EXPECT_EQ(Judge("cluster.coverage.records", fleet).verdict(), v1::VERDICT_FAIL);
}

TEST(FleetCoverage, OfARecordedRunTheNodesAreNotKnown) {
  FleetFacts fleet;
  fleet.recorded = {{Side::kBaseline, "r"}, {Side::kMigrated, "r"}};
  const v1::CheckResult nodes = Judge("cluster.coverage.nodes", fleet);
  EXPECT_EQ(nodes.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(nodes.missing_size(), 1);  // both sides name their run alike
  const v1::CheckResult records = Judge("cluster.coverage.records", fleet);
  ASSERT_EQ(records.findings_size(), 1);
  EXPECT_NE(records.findings(0).message().en().find("does not apply"), std::string::npos);
}

TEST(FleetCoverage, WhatIsLeftOutOfARunIsTold) {
  FleetFacts fleet = TwoNodes();
  fleet.recorded = {{Side::kMigrated, "other", 2, {"npu-09"}}};
  const v1::CheckResult strange = Judge("cluster.coverage.nodes", fleet);
  EXPECT_EQ(strange.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_EQ(strange.missing_size(), 1);
  EXPECT_EQ(strange.missing(0).from(), "npu-09");
  fleet.recorded[0].nodes_named = true;  // as the audit wants it
  const v1::CheckResult named = Judge("cluster.coverage.nodes", fleet);
  EXPECT_EQ(named.verdict(), v1::VERDICT_PASS);
  bool again = false;
  bool told = false;
  for (const v1::Finding& note : named.findings()) {
    again = again || note.message().en().find("collected again") != std::string::npos;
    told = told || note.message().en().find("npu-09") != std::string::npos;
  }
  EXPECT_TRUE(again);
  EXPECT_TRUE(told);
}

TEST(EvidenceIntegrity, DamageFails) {
  FleetFacts fleet = TwoNodes();
  fleet.damaged_records = {"piece 3 of gpu-01"};
  fleet.log_fault = "entry 7 does not follow entry 6";
  EXPECT_EQ(Judge("evidence.integrity.records", fleet).verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Judge("evidence.integrity.audit-log", fleet).verdict(), v1::VERDICT_FAIL);
}

}  // namespace
}  // namespace paritect
