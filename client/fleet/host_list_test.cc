#include "client/fleet/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/node_names.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HostList, RangesStandForEachNumberAndZerosCount) {
  EXPECT_THAT(*ExpandHosts({"npu-[08-10,2].rack1", "root@gpu-1", "npu-2.rack1"}),
              ElementsAre("npu-08.rack1", "npu-09.rack1", "npu-10.rack1", "npu-2.rack1", "root@gpu-1"));
  EXPECT_THAT(*ExpandHosts({"r[1-2]n[1-2]"}), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(HostList, WhatIsPrintedFoldedIsReadAgain) {
  std::vector<std::string> names = *ExpandHosts({"npu-[001-064]"});
  names.erase(names.begin() + 2);
  std::string folded = FoldNodeNames(names);
  folded.erase(folded.find(" ("));
  EXPECT_EQ(*ExpandHosts({folded}), names);
}

TEST(HostList, NothingThatAShellOrSshWouldObey) {
  for (const std::string bad :
       {"-oProxyCommand=x", "root@-oProxyCommand=x", "a;b", "a b", "$(x)", "", "a'b", "n[1-", "n[]", "n[2-1]", "n[a-b]",
        "n[1-999999999]", "n[1-99999]x[1-99999]", "../x", "@x", "n[-1]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ExpandHosts({bad}).status())) << bad;
  }
  EXPECT_THAT(std::string(ExpandHosts({}).status().message()), HasSubstr("no host"));
  EXPECT_EQ(ExpandHosts({std::string(300, 'a')}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostList, AFileHoldsWordsAndComments) {
  EXPECT_THAT(WordsOfHostFile("# rack 1\nnpu-[1-2]  gpu-1 # spare\r\n\n"), ElementsAre("npu-[1-2]", "gpu-1"));
}

TEST(HostList, ThePatternFitsAllOfTheNames) {
  EXPECT_EQ(PatternOfNames({"npu-1"}), "npu-1");
  EXPECT_EQ(PatternOfNames({"npu-01", "npu-12"}), "npu-*");
  EXPECT_EQ(PatternOfNames({"npu-1.x", "npu-22.x"}), "npu-*.x");
  EXPECT_EQ(PatternOfNames({"aa", "aaa"}), "aa*");
  EXPECT_EQ(PatternOfNames({"a", "b"}), "*");
  EXPECT_EQ(PatternOfNames({}), "");
}

}  // namespace
}  // namespace paritect
