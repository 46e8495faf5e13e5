#include "common/build_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/version.h"

namespace paritect {
namespace {

TEST(BuildText, BeginsWithTheVersionAndTellsWhereTheProgramComesFrom) {
  const std::vector<std::string> lines = absl::StrSplit(BuildText("paritect"), '\n');
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], absl::StrCat("paritect ", kProgramVersion));
  EXPECT_THAT(lines[1], testing::MatchesRegex("commit: ([0-9a-f]{40}( with changes)?|not known.*)"));
  EXPECT_THAT(lines[2], testing::MatchesRegex("built for: [a-z0-9_]+, by: .+ [0-9.]+"));
  EXPECT_THAT(lines[3], testing::HasSubstr("gRPC "));
  // No library without its version.
  for (const absl::string_view one : absl::StrSplit(lines[3].substr(12), ", ")) {
    EXPECT_THAT(std::string(one), testing::MatchesRegex("[A-Za-z0-9-]+ [0-9][0-9A-Za-z.]*"));
  }
}

}  // namespace
}  // namespace paritect
