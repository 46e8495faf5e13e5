#include "agent/daemon/own_plans.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OwnPlans, RunAtTheStartAndThenEverySoOften) {
  OwnPlans plans;
  EXPECT_EQ(plans.next_due_ms(), OwnPlans::kNever);
  plans.Set({{"/once", 0}, {"/often", 60}}, 1'000);
  EXPECT_THAT(plans.TakeDue(1'000), ElementsAre("/once", "/often"));
  EXPECT_THAT(plans.TakeDue(60'999), IsEmpty());
  EXPECT_THAT(plans.TakeDue(500'000), ElementsAre("/often")) << "what was missed is not made up for";
  EXPECT_EQ(plans.next_due_ms(), 560'000);
}

TEST(OwnPlans, ANewConfigurationKeepsTheTimesOfWhatStays) {
  OwnPlans plans;
  plans.Set({{"/once", 0}, {"/often", 60}}, 0);
  plans.TakeDue(0);
  plans.Set({{"/often", 60}, {"/new", 0}, {"/once", 0}}, 10'000);
  EXPECT_THAT(plans.TakeDue(10'000), ElementsAre("/new"));
  EXPECT_EQ(plans.next_due_ms(), 60'000);
}

}  // namespace
}  // namespace paritect
