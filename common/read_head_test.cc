#include "common/read_head.h"

#include <gtest/gtest.h>

#include "common/memory_file_system.h"

namespace paritect {
namespace {

TEST(ReadHead, AtMostSoManyBytesOfWhatIsThere) {
  MemoryFileSystem fs;
  fs.AddFile("/long", std::string(100, 'a') + "b");
  fs.AddFile("/short", "abc");
  EXPECT_EQ(ReadHead(fs, "/long", 100).value(), std::string(100, 'a'));
  EXPECT_EQ(ReadHead(fs, "/short", 100).value(), "abc");
  EXPECT_TRUE(absl::IsNotFound(ReadHead(fs, "/none", 100).status()));
}

}  // namespace
}  // namespace paritect
