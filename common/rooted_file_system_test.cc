#include "common/rooted_file_system.h"
#include "common/status_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace paritect {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Proof = RootedFileSystem::Proof;

// DIR/in is allowed; DIR/out holds what must not be seen. Both ways of proof must agree.
class RootedFileSystemTest : public ::testing::TestWithParam<Proof> {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/paritect-roots-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = NormalPath(pattern);
    for (const char* folder : {"/in", "/in/sub", "/out", "/also"}) mkdir((dir_ + folder).c_str(), 0755);
    std::ofstream(dir_ + "/in/a") << "inside";
    std::ofstream(dir_ + "/in/sub/b") << "inside too";
    std::ofstream(dir_ + "/out/secret") << "outside";
    std::ofstream(dir_ + "/out/outside") << "";
    std::ofstream(dir_ + "/also/c") << "another root";
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf '" + dir_ + "'").c_str()), 0); }

  std::string Path(absl::string_view name) const { return dir_ + std::string(name); }
  std::string Read(RootedFileSystem& fs, absl::string_view name) {
    auto bytes = ReadWholeFile(fs, Path(name), 1000);
    return bytes.ok() ? *bytes : std::string(bytes.status().message());
  }
  void Link(const std::string& target, absl::string_view name) {
    ASSERT_EQ(symlink(target.c_str(), Path(name).c_str()), 0);
  }
  // Nothing of `name` can be had, and the answer says what to do: another root for a path that is written down, but not
  // for a link's target, which whoever made the link chose.
  void ExpectRefused(RootedFileSystem& fs, absl::string_view name) {
    const std::string path = Path(name);
    for (const absl::Status& status : {fs.Open(path).status(), fs.Stat(path).status(),
                                       fs.List(path, [](const DirectoryEntry& one) { ADD_FAILURE() << one.name; })}) {
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << name << ": " << status;
      EXPECT_THAT(std::string(status.message()),
                  AnyOf(HasSubstr("to roots: in the agent's configuration"),
                        HasSubstr("outside the allowed roots: put the files themselves")));
    }
  }

  std::string dir_;
};

TEST_P(RootedFileSystemTest, ReadsInside) {
  RootedFileSystem fs({Path("/in")}, GetParam());
  EXPECT_EQ(Read(fs, "/in/a"), "inside");
  EXPECT_EQ(Read(fs, "/in/./sub/../sub//b"), "inside too");
  EXPECT_EQ(fs.Stat(Path("/in/a"))->size_bytes, 6u);
  EXPECT_EQ(fs.LStat(Path("/in/sub"))->type, FileInfo::Type::kDirectory);
  std::vector<std::string> names;
  ASSERT_TRUE(fs.List(Path("/in"), [&](const DirectoryEntry& one) { names.push_back(one.name); }).ok());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("a", "sub"));
  EXPECT_TRUE(absl::IsNotFound(fs.Stat(Path("/in/none")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(fs.Open(Path("/in/sub")).status()));
}

TEST_P(RootedFileSystemTest, RefusesOutsideAlikeWhetherItIsThereOrNot) {
  RootedFileSystem fs({Path("/in")}, GetParam());
  for (const char* name :
       {"/out/secret", "/out/none", "/in/../out/secret", "/in/sub/../../out", "/input", "", "/inn"}) {
    ExpectRefused(fs, name);
  }
  const std::string there(fs.Stat(Path("/out/secret")).status().message());
  EXPECT_THAT(there, HasSubstr("add " + dir_ + "/out to roots:"));
  EXPECT_TRUE(absl::IsPermissionDenied(fs.Stat("in/a").status())) << "a relative path";
  const std::string cut = Path("/in/a") + std::string("\0/../../out/secret", 18);
  EXPECT_TRUE(absl::IsPermissionDenied(fs.Open(cut).status())) << "a NUL byte";
}

TEST_P(RootedFileSystemTest, NothingIsAllowedWithoutRoots) {
  RootedFileSystem fs({}, GetParam());
  ExpectRefused(fs, "/in/a");
  RootedFileSystem relative({"in"}, GetParam());
  EXPECT_TRUE(absl::IsPermissionDenied(relative.Stat("in/a").status()));
}

TEST_P(RootedFileSystemTest, LinksDoNotLeadOut) {
  Link("../out/secret", "/in/relative");
  Link(Path("/out"), "/in/folder");
  Link("sub/b", "/in/stays");
  Link("/proc/self/root" + Path("/out/secret"), "/in/magic");
  RootedFileSystem fs({Path("/in")}, GetParam());
  ExpectRefused(fs, "/in/relative");
  ExpectRefused(fs, "/in/folder");
  ExpectRefused(fs, "/in/folder/secret");
  ExpectRefused(fs, "/in/folder/none");
  ExpectRefused(fs, "/in/magic");
  EXPECT_EQ(Read(fs, "/in/stays"), "inside too");
  // The link itself stands inside and may be looked at.
  EXPECT_EQ(fs.ReadLink(Path("/in/relative")).value_or(""), "../out/secret");
  EXPECT_EQ(fs.LStat(Path("/in/relative"))->type, FileInfo::Type::kSymlink);
  EXPECT_TRUE(absl::IsPermissionDenied(fs.LStat(Path("/in/folder/secret")).status()));
  EXPECT_EQ(CodeOf(fs.ReadLink(Path("/in/a"))), absl::StatusCode::kInternal);
}

TEST_P(RootedFileSystemTest, NamesAreBytes) {
  const std::string name = "/in/\xB5\xC4\xFF\n.bin";
  std::ofstream(Path(name)) << "bytes";
  RootedFileSystem fs({Path("/in")}, GetParam());
  EXPECT_EQ(Read(fs, name), "bytes");
  const std::string strange(fs.Stat("/\xFF/x").status().message());
  EXPECT_THAT(strange, HasSubstr("\\xFF"));
}

TEST_P(RootedFileSystemTest, SpecialFilesAreNotOpened) {
  ASSERT_EQ(mkfifo(Path("/in/fifo").c_str(), 0600), 0);
  RootedFileSystem fs({Path("/in")}, GetParam());
  EXPECT_TRUE(absl::IsFailedPrecondition(fs.Open(Path("/in/fifo")).status()));
  EXPECT_EQ(fs.Stat(Path("/in/fifo"))->type, FileInfo::Type::kSpecial);
}

TEST_P(RootedFileSystemTest, ARootMayComeLater) {
  RootedFileSystem fs({Path("/later")}, GetParam());
  EXPECT_TRUE(absl::IsNotFound(fs.Stat(Path("/later/a")).status())) << fs.Stat(Path("/later/a")).status();
  mkdir(Path("/later").c_str(), 0755);
  std::ofstream(Path("/later/a")) << "now";
  EXPECT_EQ(Read(fs, "/later/a"), "now");
}

// While one thread reads, another exchanges a folder for a link that leads out: what is read is the inside or an
// error, never the outside.
TEST_P(RootedFileSystemTest, ExchangedFoldersReadNothingOutside) {
  std::ofstream(Path("/in/sub/secret")) << "inside";
  Link(Path("/out"), "/in/trap");
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      syscall(SYS_renameat2, -100, Path("/in/sub").c_str(), -100, Path("/in/trap").c_str(), 2u);  // RENAME_EXCHANGE
    }
  });
  RootedFileSystem fs({Path("/in")}, GetParam());
  int inside = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = Read(fs, "/in/sub/secret");
    EXPECT_THAT(text, Not(::testing::Eq("outside")));
    inside += text == "inside" ? 1 : 0;
    const auto info = fs.Stat(Path("/in/sub/secret"));
    EXPECT_FALSE(info.ok() && info->size_bytes == 7);
    fs.List(Path("/in/sub"), [](const DirectoryEntry& one) { EXPECT_NE(one.name, "outside"); }).IgnoreError();
  }
  stop = true;
  swapper.join();
  EXPECT_GT(inside, 0);
}

INSTANTIATE_TEST_SUITE_P(Proofs, RootedFileSystemTest, ::testing::Values(Proof::kKernelName, Proof::kBeneath),
                         [](const auto& one) { return one.param == Proof::kKernelName ? "KernelName" : "Beneath"; });

TEST_F(RootedFileSystemTest, ALinkFromRootToRootAndARootThatIsALink) {
  Link(Path("/also/c"), "/in/other");
  Link(Path("/also"), "/alias");
  RootedFileSystem both({Path("/in"), Path("/alias")});
  EXPECT_EQ(Read(both, "/in/other"), "another root");
  EXPECT_EQ(Read(both, "/alias/c"), "another root");
  EXPECT_EQ(Read(both, "/also/c"), "another root");
  RootedFileSystem one({Path("/in")});
  EXPECT_THAT(Read(one, "/in/other"),
              HasSubstr("a link on this path leads to " + dir_ + "/also/c, outside the allowed roots"));
  // The root's link is turned to another folder: the new one counts, the old one no more.
  ASSERT_EQ(unlink(Path("/alias").c_str()), 0);
  Link(Path("/out"), "/alias");
  EXPECT_EQ(Read(both, "/alias/secret"), "outside");
}

TEST_F(RootedFileSystemTest, TheWholeMachine) {
  RootedFileSystem fs({"/"});
  EXPECT_EQ(Read(fs, "/out/secret"), "outside");
}

TEST(NormalPath, IsSpellingOnly) {
  EXPECT_EQ(NormalPath("/a/./b//../c/"), "/a/c");
  EXPECT_EQ(NormalPath("/../.."), "/");
  EXPECT_EQ(NormalPath("/"), "/");
  EXPECT_TRUE(IsBelow("/a/b", "/a"));
  EXPECT_TRUE(IsBelow("/a", "/a"));
  EXPECT_FALSE(IsBelow("/ab", "/a"));
  EXPECT_TRUE(IsBelow("/ab", "/"));
}

}  // namespace
}  // namespace paritect
