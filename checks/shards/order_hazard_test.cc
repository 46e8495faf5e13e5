// data.sharding.order-hazard where the order of the folder was read live: it warns, and never passes on a difference.
#include <gtest/gtest.h>

#include "checks/runner.h"

namespace paritect {
namespace {

v1::Bundle Node(absl::string_view run, absl::string_view node, const std::vector<std::string>& names) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(std::string(run));
  bundle.mutable_plan()->set_node(std::string(node));
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_LISTING);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.mutable_listing()->set_dataset("train");
  evidence.mutable_listing()->add_notes()->set_kind("live");
  for (const std::string& name : names) evidence.mutable_listing()->add_names(name);
  return bundle;
}

v1::CheckResult Judge(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated) {
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  const v1::Report report = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), {});
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() == "data.sharding.order-hazard") return check;
    }
  }
  return {};
}

TEST(OrderHazardLive, ADifferenceWarnsAndLeavesTheQuestionOpen) {
  const v1::CheckResult result = Judge({Node("gpu", "g0", {"a", "b"}), Node("gpu", "g1", {"a", "b"})},
                                       {Node("npu", "n0", {"a", "b"}), Node("npu", "n1", {"b", "a"})});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).kind(), "node_order");
  EXPECT_EQ(result.findings(0).severity(), v1::SEVERITY_WARNING);
}

TEST(OrderHazardLive, AlikeOnAllNodesPasses) {
  EXPECT_EQ(Judge({Node("gpu", "g0", {"b", "a"}), Node("gpu", "g1", {"b", "a"})},
                  {Node("npu", "n0", {"a", "b"}), Node("npu", "n1", {"a", "b"})})
                .verdict(),
            v1::VERDICT_PASS);
}

TEST(OrderHazardLive, OneNodeShowsNothing) {
  EXPECT_EQ(Judge({Node("gpu", "g0", {"a"})}, {Node("npu", "n0", {"a"}), Node("npu", "n0", {"a"})}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
}

}  // namespace
}  // namespace paritect
