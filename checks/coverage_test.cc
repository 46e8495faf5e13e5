#include "checks/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using ::testing::ElementsAre;

v1::Bundle Node(std::vector<int> ranks, int world_size) {
  v1::Bundle bundle;
  if (world_size > 0) bundle.mutable_plan()->set_world_size(world_size);
  for (int rank : ranks) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_rank(rank);
  }
  return bundle;
}

TEST(CoverRanks, UnitesNodesAndNamesTheSilent) {
  const v1::Bundle a = Node({0, 1}, 4);
  const v1::Bundle b = Node({3}, 4);
  const RankCoverage coverage = CoverRanks({"r", v1::ROLE_RUN, {&a, &b}});
  EXPECT_THAT(coverage.Silent(), ElementsAre(2));
  EXPECT_FALSE(coverage.complete());
}

TEST(CoverRanks, UnknownWorldSizeIsNeverComplete) {
  const v1::Bundle a = Node({0, 1}, 0);
  EXPECT_FALSE(CoverRanks({"r", v1::ROLE_RUN, {&a}}).complete());
}

TEST(CoverRanks, FailedEvidenceDoesNotCount) {
  v1::Bundle a = Node({0}, 1);
  a.mutable_evidence(0)->set_outcome(v1::OUTCOME_FAILED);
  EXPECT_FALSE(CoverRanks({"r", v1::ROLE_RUN, {&a}}).complete());
}

TEST(FormatRanks, RangesAndCap) {
  EXPECT_EQ(FormatRanks({0, 1, 2, 5}), "0-2,5");
  EXPECT_EQ(FormatRanks({}), "");
  EXPECT_EQ(FormatRanks({0, 2, 4}, 2), "0,2,...");
}

}  // namespace
}  // namespace paritect
