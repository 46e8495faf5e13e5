#include "checks/datasets/follow_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/datasets/test_util.h"

namespace paritect {
namespace {

using dataset_test::OneSide;
using ::testing::ElementsAre;

TEST(AnsweredEvidence, HoldsWhatWasAnsweredAndLeavesTheRest) {
  std::vector<std::string> asked;
  const std::unique_ptr<EvidenceSet> evidence =
      AnsweredEvidence({OneSide("g").File("a", "12345").File("b", "1").bundle()},
                       {OneSide("n").File("a", "123").File("b", "1").bundle()}, {.record_files_max = 0},
                       [&](const DatasetQuestion& question, const v1::FileList&, OwnList own) {
                         asked.push_back(absl::StrCat(SideName(question.side), " ", question.path));
                         if (question.side == Side::kMigrated) own().mutable_files(0)->set_records(3);
                       });
  EXPECT_THAT(asked, ElementsAre("baseline a", "migrated a"));
  ASSERT_EQ(evidence->bundles(Side::kMigrated).size(), 1u);
  EXPECT_EQ(evidence->bundles(Side::kMigrated)[0].evidence(0).files().files(0).records(), 3);
  ASSERT_EQ(evidence->bundles(Side::kBaseline).size(), 1u);
  EXPECT_FALSE(evidence->bundles(Side::kBaseline)[0].evidence(0).files().files(0).has_records());
  EXPECT_EQ(evidence->fleet(), nullptr);
}

}  // namespace
}  // namespace paritect
