#include "server/byte_budget.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(ByteBudget, ABurstAndThenARate) {
  ByteBudget budget(1000, 10);
  EXPECT_TRUE(budget.Take(900, 1'000'000));
  EXPECT_FALSE(budget.Take(101, 1'000'000));
  EXPECT_TRUE(budget.Take(100, 1'000'000)) << "what was refused was not taken";
  EXPECT_FALSE(budget.Take(11, 1'001'000));
  EXPECT_TRUE(budget.Take(10, 1'001'000));
  EXPECT_FALSE(budget.Take(10, 1'000'000)) << "the clock stepped back";
  EXPECT_FALSE(budget.Take(1001, 9'000'000'000)) << "never more than the burst";
  EXPECT_TRUE(budget.Take(1000, 9'000'000'000));
}

}  // namespace
}  // namespace paritect
