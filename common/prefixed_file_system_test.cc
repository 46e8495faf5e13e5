#include "common/prefixed_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/memory_file_system.h"

namespace paritect {
namespace {

class PrefixedFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    base_.AddFile("/box/etc/conf", "in the box");
    base_.AddFile("/etc/conf", "of the machine");
    base_.AddSymlink("/box/absolute", "/etc/conf");
    base_.AddSymlink("/box/relative", "../../etc/conf");
    base_.AddSymlink("/box/loop", "loop");
    base_.AddSymlink("/box/opt", "/etc");
  }
  std::string Read(absl::string_view path) {
    auto bytes = ReadWholeFile(fs_, path, 100);
    return bytes.ok() ? *bytes : bytes.status().ToString();
  }
  MemoryFileSystem base_;
  PrefixedFileSystem fs_{base_, "/box/"};
};

TEST_F(PrefixedFileSystemTest, LinksStayInTheBox) {
  for (const char* path : {"/etc/conf", "/absolute", "/relative", "/../etc/conf", "/opt/conf", "/opt/../etc/./conf"}) {
    EXPECT_EQ(Read(path), "in the box") << path;
  }
  EXPECT_EQ(fs_.RealPath("/opt/conf").value_or(""), "/etc/conf");
  EXPECT_EQ(fs_.LStat("/opt")->type, FileInfo::Type::kSymlink);
  EXPECT_EQ(fs_.Stat("/opt")->type, FileInfo::Type::kDirectory);
  EXPECT_EQ(fs_.ReadLink("/opt").value_or(""), "/etc");
  std::vector<std::string> names;
  ASSERT_TRUE(fs_.List("/opt", [&](const DirectoryEntry& one) { names.push_back(one.name); }).ok());
  EXPECT_THAT(names, ::testing::ElementsAre("conf"));
}

TEST_F(PrefixedFileSystemTest, SaysWhatIsNotThere) {
  EXPECT_TRUE(absl::IsNotFound(fs_.Open("/none/x").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(fs_.Open("/loop").status()));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "/x";
  EXPECT_TRUE(absl::IsFailedPrecondition(fs_.Open(deep).status()));
  EXPECT_EQ(fs_.RealPath("/none/./x/../y").value_or(""), "/none/y");
}

}  // namespace
}  // namespace paritect
