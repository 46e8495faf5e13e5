#include "common/read_head.h"

#include <gtest/gtest.h>

#include "common/memory_file_system.h"

namespace paritect {
namespace {

TEST(ReadHead, AtMostSoManyBytesOfWhatIsThere) {
  MemoryFileSystem fs;
  std::string text(100, 'a');
  text.push_back('b');
  fs.AddFile("/long", text);
  fs.AddFile("/short", "abc");
  EXPECT_EQ(ReadHead(fs, "/long", 100).value(), text.substr(0, 100));
  EXPECT_EQ(ReadHead(fs, "/short", 100).value(), "abc");
  EXPECT_TRUE(absl::IsNotFound(ReadHead(fs, "/none", 100).status()));
}

}  // namespace
}  // namespace paritect
