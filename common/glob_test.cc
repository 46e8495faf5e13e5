#include "common/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/memory_file_system.h"

namespace paritect {
namespace {

TEST(GlobMatch, StarStaysWithinAFolder) {
  EXPECT_TRUE(GlobMatch("*.bin", "a.bin"));
  EXPECT_FALSE(GlobMatch("*.bin", "sub/a.bin"));
  EXPECT_TRUE(GlobMatch("sub/*.bin", "sub/a.bin"));
}

TEST(GlobMatch, DoubleStarAlsoMatchesNoFolder) {
  EXPECT_TRUE(GlobMatch("**/*.bin", "a.bin"));
  EXPECT_TRUE(GlobMatch("**/*.bin", "x/y/a.bin"));
  EXPECT_TRUE(GlobMatch("**", "x/y/a.bin"));
  EXPECT_TRUE(GlobMatch("x/**", "x/y/a.bin"));
  EXPECT_FALSE(GlobMatch("x/**", "x"));
  EXPECT_FALSE(GlobMatch("x/**", "z/a"));
}

TEST(GlobMatch, SetsAndHostilePatternsEnd) {
  EXPECT_TRUE(GlobMatch("r[0-3].txt", "r2.txt"));
  EXPECT_FALSE(GlobMatch("r[!0-3].txt", "r2.txt"));
  EXPECT_FALSE(GlobMatch("*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

TEST(MatchPathPattern, ReadsRankAndNodeOffTheName) {
  auto captures = MatchPathPattern("logs/{node}/rank_{rank}.txt", "logs/npu-1/rank_0012.txt");
  ASSERT_TRUE(captures.has_value());
  EXPECT_EQ(captures->rank, 12);
  EXPECT_EQ(captures->node, "npu-1");
  EXPECT_FALSE(MatchPathPattern("rank_{rank}.txt", "rank_x.txt").has_value());
  EXPECT_FALSE(MatchPathPattern("r{rank}/rank{rank}.txt", "r1/rank2.txt").has_value());
}

TEST(ExpandPathPattern, SortsByRankNotByText) {
  MemoryFileSystem fs;
  for (const char* name : {"s/rank10.txt", "s/rank9.txt", "s/rank0.txt", "s/other"}) fs.AddFile(name, "x");
  auto matches = ExpandPathPattern(fs, "s/rank{rank}.txt");
  ASSERT_TRUE(matches.ok()) << matches.status();
  ASSERT_EQ(matches->size(), 3u);
  EXPECT_EQ((*matches)[1].path, "s/rank9.txt");
  EXPECT_EQ((*matches)[2].captures.rank, 10);
}

TEST(ExpandPathPattern, PlainPathMustBeThere) {
  MemoryFileSystem fs;
  fs.AddFile("a", "x");
  EXPECT_TRUE(ExpandPathPattern(fs, "a").ok());
  EXPECT_TRUE(absl::IsNotFound(ExpandPathPattern(fs, "b").status()));
  auto none = ExpandPathPattern(fs, "b*");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace paritect
