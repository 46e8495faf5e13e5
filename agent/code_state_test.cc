#include "agent/code_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/memory_file_system.h"
#include "formats/git_objects.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

constexpr char kCommit[] = "0123456789abcdef0123456789abcdef01234567";

std::string BigEndian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return out;
}

std::string Deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  EXPECT_EQ(
      compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size()),
      Z_OK);
  out.resize(size);
  return out;
}

std::string Sha1Of(const std::string& bytes) {
  Digest digest(DigestKind::kSha1);
  digest.Update(bytes);
  return digest.Finish();
}

// Version 2; times are zero, so that every file is read.
std::string IndexOf(const std::vector<GitIndexEntry>& entries) {
  std::string out = absl::StrCat("DIRC", BigEndian(2, 4), BigEndian(entries.size(), 4));
  for (const GitIndexEntry& entry : entries) {
    std::string one = absl::StrCat(std::string(24, '\0'), BigEndian(entry.mode, 4), std::string(8, '\0'),
                                   BigEndian(entry.size, 4), entry.id, BigEndian(entry.path.size(), 2), entry.path);
    one.resize((one.size() + 8) / 8 * 8, '\0');
    out += one;
  }
  return out + Sha1Of(out);
}

class CodeStateTest : public ::testing::Test {
 protected:
  // A repository whose commit holds these files.
  void Commit(const std::vector<std::pair<std::string, std::string>>& files) {
    std::vector<GitIndexEntry> entries;
    for (const auto& [path, content] : files) {
      GitIndexEntry& entry = entries.emplace_back();
      entry.path = path;
      entry.mode = 0100644;
      entry.id = GitBlobId(content);
      fs_.AddFile(absl::StrCat("/w/", path), content);
    }
    const std::string commit =
        absl::StrCat("tree ", ToHex(GitTreeId(entries)), "\nauthor a <a@b> 1 +0000\n\nmessage\n");
    fs_.AddFile("/w/.git/HEAD", "ref: refs/heads/main\n");
    fs_.AddFile("/w/.git/packed-refs", absl::StrCat("# pack-refs\n", kCommit, " refs/heads/main\n"));
    fs_.AddFile(absl::StrCat("/w/.git/objects/01/", absl::string_view(kCommit).substr(2)),
                Deflated(absl::StrCat("commit ", commit.size(), absl::string_view("\0", 1), commit)));
    fs_.AddFile("/w/.git/index", IndexOf(entries));
  }

  MemoryFileSystem fs_;
};

// Of an empty file, and of no files: the ids that git gives.
TEST(GitObjects, IdsAreThoseOfGit) {
  EXPECT_EQ(ToHex(GitBlobId("")), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(ToHex(GitTreeId({})), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

TEST(GitObjects, DamagedIndexesAreRefused) {
  GitIndexEntry entry;
  entry.path = "a/b";
  entry.mode = 0100644;
  entry.id = std::string(20, 'x');
  const std::string whole = IndexOf({entry});
  ASSERT_TRUE(ReadGitIndex(whole).ok());
  EXPECT_EQ((*ReadGitIndex(whole))[0].path, "a/b");
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_TRUE(absl::IsDataLoss(ReadGitIndex(whole.substr(0, cut)).status())) << cut;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(ReadGitIndex(damaged).status())) << at;
  }
}

TEST_F(CodeStateTest, AnUnchangedTreeIsThatOfItsCommit) {
  Commit({{"a.txt", "2\n"}, {"a/b/c", "1\n"}, {"a/z", "3\n"}});
  for (const char* folder : {"/w", "/w/a/b"}) {
    const auto state = ReadCodeState(fs_, folder);
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(state->commit, kCommit);
    EXPECT_EQ(state->dirty, false) << state->unknown;
    EXPECT_EQ(state->tree.size(), 40u);
  }
  EXPECT_FALSE(ReadCodeState(fs_, "/elsewhere").has_value());
}

TEST_F(CodeStateTest, ChangedFilesAreSeen) {
  Commit({{"a.txt", "2\n"}, {"a/z", "3\n"}});
  const std::string before = ReadCodeState(fs_, "/w")->tree;
  fs_.AddFile("/w/untracked", "x");
  EXPECT_EQ(ReadCodeState(fs_, "/w")->dirty, false);
  fs_.AddFile("/w/a.txt", "22\n");
  EXPECT_EQ(ReadCodeState(fs_, "/w")->dirty, true);
  EXPECT_NE(ReadCodeState(fs_, "/w")->tree, before);
}

TEST_F(CodeStateTest, LineEndsAndLfsContentAreNoChange) {
  Commit({{"a.txt", "1\n2\n"}, {"big.bin", GitLfsPointer("content")}});
  fs_.AddFile("/w/a.txt", "1\r\n2\r\n");
  fs_.AddFile("/w/big.bin", "content");
  EXPECT_EQ(ReadCodeState(fs_, "/w")->dirty, false);
}

TEST_F(CodeStateTest, WhatCannotBeReadIsNotKnown) {
  Commit({{"a.txt", "2\n"}});
  fs_.AddFile("/w/.git/index", "no index");
  const auto state = ReadCodeState(fs_, "/w");
  ASSERT_TRUE(state.has_value());
  EXPECT_FALSE(state->dirty.has_value());
  EXPECT_THAT(state->unknown, HasSubstr("git index"));
  fs_.AddFile("/w/.git/HEAD", "ref: ../../etc/passwd\n");
  EXPECT_FALSE(ReadCodeState(fs_, "/w").has_value());
}

}  // namespace
}  // namespace paritect
