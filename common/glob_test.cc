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

TEST(ExpandPathPattern, ReadsRankAndNodeOffTheName) {
  MemoryFileSystem fs;
  for (const char* name : {"logs/npu-1/rank_0012.txt", "logs/npu-1/rank_x.txt", "r1/rank2.txt", "r2/rank2.txt"}) {
    fs.AddFile(name, "x");
  }
  const auto named = ExpandPathPattern(fs, "logs/{node}/rank_{rank}.txt");
  ASSERT_TRUE(named.ok()) << named.status();
  ASSERT_EQ(named->size(), 1u) << "a rank is a number";
  EXPECT_EQ((*named)[0].captures.rank, 12);
  EXPECT_EQ((*named)[0].captures.node, "npu-1");
  const auto twice = ExpandPathPattern(fs, "r{rank}/rank{rank}.txt");
  ASSERT_TRUE(twice.ok()) << twice.status();
  ASSERT_EQ(twice->size(), 1u) << "one rank has one number";
  EXPECT_EQ((*twice)[0].path, "r2/rank2.txt");
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
