#include "common/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "common/memory_file_system.h"
#include "common/status_testing.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PosixFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/paritect-fs-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf '" + root_ + "'").c_str()), 0); }
  std::string Path(absl::string_view name) const { return JoinPath(root_, name); }

  std::string root_;
};

TEST_F(PosixFileSystemTest, ReadsAFileWhole) {
  std::ofstream(Path("a")) << "hello";
  auto bytes = ReadWholeFile(PosixFileSystem(), Path("a"), 100);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, "hello");
}

TEST_F(PosixFileSystemTest, LimitIsTold) {
  std::ofstream(Path("a")) << "hello";
  auto bytes = ReadWholeFile(PosixFileSystem(), Path("a"), 4);
  EXPECT_TRUE(absl::IsResourceExhausted(bytes.status()));
  EXPECT_THAT(std::string(bytes.status().message()), HasSubstr("5 bytes found, at most 4"));
}

TEST_F(PosixFileSystemTest, FifoIsNeverOpenedForReading) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(PosixFileSystem().Open(Path("fifo")).status()));
  EXPECT_EQ(PosixFileSystem().LStat(Path("fifo"))->type, FileInfo::Type::kSpecial);
}

TEST_F(PosixFileSystemTest, NamesAreBytes) {
  const std::string name = "\xB5\xC4\xFF\n.bin";
  std::ofstream(Path(name)) << "x";
  std::vector<std::string> names;
  ASSERT_TRUE(PosixFileSystem().List(root_, [&](const DirectoryEntry& e) { names.push_back(e.name); }).ok());
  EXPECT_THAT(names, ElementsAre(name));
  EXPECT_TRUE(PosixFileSystem().Open(Path(name)).ok());
}

TEST_F(PosixFileSystemTest, ErrorsNameThePathAndTheirKind) {
  EXPECT_TRUE(absl::IsNotFound(PosixFileSystem().Open(Path("none")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(PosixFileSystem().Open(root_).status()));
  EXPECT_THAT(std::string(PosixFileSystem().Open(Path("no\xFF")).status().message()), HasSubstr("no\\xFF"));
}

TEST_F(PosixFileSystemTest, WritesInFullOrNotAtAll) {
  ASSERT_TRUE(WriteFileAtomically(Path("out"), "first").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("out"), "second").ok());
  EXPECT_EQ(*ReadWholeFile(PosixFileSystem(), Path("out"), 100), "second");
  EXPECT_EQ(CodeOf(WriteFileAtomically(Path("no/such/out"), "x")), absl::StatusCode::kNotFound);
  std::vector<std::string> names;
  ASSERT_TRUE(PosixFileSystem().List(root_, [&](const DirectoryEntry& e) { names.push_back(e.name); }).ok());
  EXPECT_THAT(names, ElementsAre("out"));  // no temporary file left behind
}

TEST(MemoryFileSystem, FollowsLinksAndFindsLoops) {
  MemoryFileSystem fs;
  fs.AddFile("d/a", "x");
  fs.AddSymlink("l", "d");
  fs.AddSymlink("loop", "loop");
  EXPECT_TRUE(fs.Open("l/a").ok());
  EXPECT_EQ(fs.LStat("l")->type, FileInfo::Type::kSymlink);
  EXPECT_EQ(fs.Stat("l")->type, FileInfo::Type::kDirectory);
  EXPECT_TRUE(absl::IsFailedPrecondition(fs.Stat("loop").status()));
  EXPECT_EQ(*fs.ReadLink("l"), "d");
}

TEST(MemoryFileSystem, ChangesWhileRead) {
  MemoryFileSystem fs;
  fs.AddFile("a", "old");
  fs.ChangeWhileRead("a", "longer");
  auto file = fs.Open("a");
  ASSERT_TRUE(file.ok());
  const std::int64_t before = (*file)->Info()->mtime_ns;
  char buffer[2];
  ASSERT_TRUE((*file)->Read(absl::MakeSpan(buffer)).ok());
  EXPECT_NE((*file)->Info()->mtime_ns, before);
}

TEST(Paths, JoinBaseDir) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(JoinPath(".", "b"), "b");
  EXPECT_EQ(BaseName("a/b"), "b");
  EXPECT_EQ(DirName("a/b"), "a");
  EXPECT_EQ(DirName("b"), ".");
  EXPECT_EQ(DirName("/b"), "/");
}

}  // namespace
}  // namespace paritect
