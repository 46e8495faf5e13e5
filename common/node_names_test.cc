#include "common/node_names.h"

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"

namespace paritect {
namespace {

TEST(FoldNodeNames, FoldsWhatDiffersInOneNumberAlone) {
  std::vector<std::string> names = {"npu-64", "head"};
  for (int i = 1; i <= 63; ++i) {
    if (i != 3) names.push_back(absl::StrFormat("npu-%02d", i));
  }
  EXPECT_EQ(FoldNodeNames(names), "head, npu-[01-02,04-64] (63)");
}

TEST(FoldNodeNames, FewNamesStayAsTheyAre) {
  EXPECT_EQ(FoldNodeNames({"gpu-2", "gpu-1", "gpu-1"}), "gpu-1, gpu-2");
  EXPECT_EQ(FoldNodeNames({}), "");
}

TEST(FoldNodeNames, NeverMixesWidthsOrWhatStandsBehindTheNumber) {
  EXPECT_EQ(FoldNodeNames({"n1", "n2", "n3", "n01", "n02", "n03"}, 2), "n[1-3] (3), n[01-03] (3)");
  EXPECT_EQ(FoldNodeNames({"n1.a", "n2.a", "n3.b", "n4.b"}, 1), "n[1-2].a (2), n[3-4].b (2)");
}

TEST(FoldNodeNames, ANumberThatNoIntegerHoldsIsPartOfTheName) {
  EXPECT_EQ(FoldNodeNames({"n1234567890123456789012", "n1234567890123456789013"}),
            "n1234567890123456789012, n1234567890123456789013");
}

}  // namespace
}  // namespace paritect
