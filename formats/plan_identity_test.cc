#include "formats/plan_identity.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(PlanKey, OtherPartsGiveAnotherKey) {
  EXPECT_EQ(PlanKey({"file", "/job/plan.yaml"}), PlanKey({"file", "/job/plan.yaml"}));
  EXPECT_EQ(PlanKey({"file", "/a"}).size(), 32u);
  EXPECT_NE(PlanKey({"file", "/a"}), PlanKey({"file", "/b"}));
  EXPECT_NE(PlanKey({"file", "/a"}), PlanKey({"audit", "/a"}));
  EXPECT_NE(PlanKey({"command", "a", "bc"}), PlanKey({"command", "ab", "c"}));
  EXPECT_NE(PlanKey({"command", "a", ""}), PlanKey({"command", "a"}));
}

}  // namespace
}  // namespace paritect
