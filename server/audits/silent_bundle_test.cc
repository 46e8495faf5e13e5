#include "server/audits/silent_bundle.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(SilentBundle, NamesEverySourceAsFailed) {
  v1::Plan plan;
  plan.mutable_info()->set_run("r");
  plan.add_datasets()->set_root("/data");
  plan.add_shards()->set_list("s");
  plan.add_settings()->set_file("a");
  plan.add_logs()->set_file("l");
  plan.add_weights()->set_file("w");
  plan.add_tensors()->set_file("t");
  plan.add_scripts()->set_path("p");
  plan.mutable_info()->set_live(true);
  const v1::Bundle bundle = SilentBundle(plan, "npu-01", "");
  EXPECT_EQ(bundle.plan().node(), "npu-01");
  ASSERT_EQ(bundle.evidence_size(), 8);
  for (const v1::Evidence& evidence : bundle.evidence()) {
    EXPECT_EQ(evidence.outcome(), v1::OUTCOME_FAILED);
    EXPECT_EQ(evidence.problem().id(), "node_silent_evidence");
  }
  EXPECT_EQ(SilentBundle(plan, "npu-01", "not allowed").evidence(0).problem().id(), "node_refused_plan");
}

}  // namespace
}  // namespace paritect
