#include "formats/logs/machinery/rank_prefix.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

// What stands behind the prefixes, with the rank in front where there is one.
std::string Rest(absl::string_view line) {
  const std::optional<std::int32_t> rank = StripRankPrefix(line);
  return (rank.has_value() ? std::to_string(*rank) + ">" : "") + std::string(line);
}

TEST(RankPrefix, OfLaunchers) {
  EXPECT_EQ(Rest("[rank3]: step 5"), "3> step 5");
  EXPECT_EQ(Rest("[default1]:step 5"), "1>step 5");
  EXPECT_EQ(Rest("[1,2]<stdout>:step 5"), "2>step 5");
  EXPECT_EQ(Rest("7: step 5"), "7>step 5");
  EXPECT_EQ(Rest("(main_task pid=17) step 5"), " step 5");
}

TEST(RankPrefix, OfNodesAndContainers) {
  EXPECT_EQ(Rest("2026-01-01T00:00:07.123456789Z [5/200] loss 2.5"), "[5/200] loss 2.5");
  EXPECT_EQ(Rest("2026-01-01T00:00:07+08:00     loss=2.5"), "    loss=2.5");
  EXPECT_EQ(Rest("2026-01-01T00:00:07.5Z stdout F step 5"), "step 5");
  EXPECT_EQ(Rest("2026-01-01T00:00:07.5Z [rank3]: step 5"), "3> step 5");
  EXPECT_EQ(Rest("[pod/train-worker-0/pytorch] [5/200] loss 2.5"), "[5/200] loss 2.5");
  EXPECT_EQ(Rest("worker-0: [5/200] loss 2.5"), "[5/200] loss 2.5");
  EXPECT_EQ(Rest("gpu.cluster-17: [rank3]: step 5"), "3> step 5");
  EXPECT_EQ(Rest("10.0.0.7: step 5"), "step 5");
  EXPECT_EQ(Rest("trainer-1  | step 5"), "step 5");
}

TEST(RankPrefix, WhatIsNone) {
  for (const char* line :
       {"loss: 2.5", "step-5: loss 2.5", "epoch-5: loss 2.5", "val-0: loss 2.5", "test-set-1: loss 2.5", "acc-1: 0.5",
        "top-5: 93.1%", "2026-01-01T00:00:07 loss 2.5", "2026-01-01T00:00:07.123 loss 2.5", "2026-01-01 00:00:07Z x",
        "worker-0:loss 2.5", "worker: loss 2.5", "1.5: loss 2.5", "[pod/x", "worker-0", "2026-01-01T00:00:07Z", "-",
        ""}) {
    EXPECT_EQ(Rest(line), line);
  }
}

}  // namespace
}  // namespace paritect
