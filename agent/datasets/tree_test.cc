#include "agent/datasets/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/datasets/follow_up.h"
#include "agent/datasets/hash.h"
#include "common/digest.h"
#include "common/memory_file_system.h"
#include "formats/datasets/file_hints.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;

v1::FileList Walk(FileSystem& fs, TreeOptions options = {}) {
  auto list = HashDataset(fs, "ds", options, {.threads = 2});
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *std::move(list) : v1::FileList();
}

std::vector<std::string> Names(const v1::FileList& tree) {
  std::vector<std::string> names;
  for (const v1::FileEntry& file : tree.files()) names.push_back(file.path());
  return names;
}

const v1::FileEntry& Entry(const v1::FileList& tree, absl::string_view path) {
  for (const v1::FileEntry& file : tree.files()) {
    if (file.path() == path) return file;
  }
  ADD_FAILURE() << "no entry " << path;
  return v1::FileEntry::default_instance();
}

TEST(WalkTree, SortsByBytesAndHashes) {
  MemoryFileSystem fs;
  fs.AddFile("ds/b", "2");
  fs.AddFile("ds/a-1", "1");
  fs.AddFile("ds/a/x", "3");
  fs.AddFile("ds/\xD6\xD0", "4");
  fs.AddDirectory("ds/empty");
  const v1::FileList tree = Walk(fs);
  EXPECT_THAT(Names(tree), ElementsAre("a-1", "a/x", "b", "empty", "\xD6\xD0"));
  EXPECT_EQ(Entry(tree, "a/x").md5(), Md5("3"));
  EXPECT_EQ(Entry(tree, "empty").type(), v1::FILE_TYPE_DIRECTORY);
  EXPECT_EQ(Entry(tree, "\xD6\xD0").decoded_name(), "中");
  EXPECT_EQ(Entry(tree, "\xD6\xD0").decoded_from(), "GBK");
}

TEST(WalkTree, IncludesAndExcludes) {
  MemoryFileSystem fs;
  for (const char* path : {"ds/a.bin", "ds/s/b.bin", "ds/s/t/c.bin", "ds/s/d.txt", "ds/cache/e.bin"})
    fs.AddFile(path, "x");
  EXPECT_THAT(Names(Walk(fs, {.include = {"**/*.bin"}, .exclude = {"cache"}})),
              ElementsAre("a.bin", "s/b.bin", "s/t/c.bin"));
  EXPECT_THAT(Names(Walk(fs, {.include = {"s/"}})), ElementsAre("s/b.bin", "s/d.txt", "s/t/c.bin"));
  EXPECT_THAT(Names(Walk(fs, {.include = {"*.bin"}})), ElementsAre("a.bin"));
}

TEST(WalkTree, LinksAreFollowedOrNamed) {
  MemoryFileSystem fs;
  fs.AddFile("ds/a", "1");
  fs.AddFile("store/x", "2");
  fs.AddSymlink("ds/file", "a");
  fs.AddSymlink("ds/gone", "nowhere");
  fs.AddSymlink("ds/s/loop", "..");
  fs.AddSymlink("ds/out", "../store");
  const v1::FileList plain = Walk(fs);
  EXPECT_EQ(Entry(plain, "file").md5(), Md5("1"));
  EXPECT_EQ(Entry(plain, "file").link_target(), "a");
  EXPECT_TRUE(HasHint(Entry(plain, "gone"), v1::FILE_HINT_DANGLING_LINK));
  EXPECT_TRUE(HasHint(Entry(plain, "s/loop"), v1::FILE_HINT_LINK_LOOP));
  EXPECT_EQ(Entry(plain, "out").error().id(), "folder_link_not_entered");
  const v1::FileList followed = Walk(fs, {.follow_symlinks = true});
  EXPECT_THAT(Names(followed), ElementsAre("a", "file", "gone", "out/x", "s/loop"));
  EXPECT_EQ(Entry(followed, "out/x").md5(), Md5("2"));
}

TEST(WalkTree, WhatCannotBeReadIsEvidence) {
  MemoryFileSystem fs;
  fs.AddFile("ds/a", "1");
  fs.AddFile("ds/locked/x", "2");
  fs.AddFile("ds/secret", "3");
  fs.AddSpecial("ds/fifo");
  fs.MakeUnreadable("ds/locked");
  fs.MakeUnreadable("ds/secret");
  const v1::FileList tree = Walk(fs);
  EXPECT_EQ(Entry(tree, "a").md5(), Md5("1"));
  EXPECT_EQ(Entry(tree, "secret").md5(), "");
  EXPECT_EQ(Entry(tree, "secret").error().id(), "source_unreadable");
  EXPECT_EQ(Entry(tree, "fifo").type(), v1::FILE_TYPE_SPECIAL);
  ASSERT_EQ(tree.unread_folders_size(), 1);
  EXPECT_EQ(tree.unread_folders(0).path(), "locked");
  fs.MakeUnreadable("ds");
  EXPECT_TRUE(absl::IsPermissionDenied(HashDataset(fs, "ds", {}, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(WalkFolder(fs, "nowhere", {}).status()));
}

TEST(HashTree, ReadsAFileThatChangesOnceMore) {
  MemoryFileSystem fs;
  fs.AddFile("ds/a", "old");
  fs.ChangeWhileRead("ds/a", "newer");
  const v1::FileList tree = Walk(fs);
  EXPECT_EQ(Entry(tree, "a").md5(), Md5("newer"));
  EXPECT_EQ(Entry(tree, "a").size_bytes(), 5);
}

// Its file is written to as fast as it is read.
class EndlessFileSystem : public MemoryFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view) override { return std::make_unique<Endless>(); }

 private:
  class Endless : public File {
   public:
    absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
      std::fill(buffer.begin(), buffer.end(), 'x');
      return buffer.size();
    }
    absl::StatusOr<FileInfo> Info() override { return FileInfo(); }
  };
};

TEST(WalkTree, AFileThatOutgrowsItsSizeIsLeft) {
  EndlessFileSystem fs;
  fs.AddFile("ds/a", "1");
  const v1::FileList tree = Walk(fs);
  EXPECT_EQ(Entry(tree, "a").md5(), "");
  EXPECT_EQ(Entry(tree, "a").error().id(), "file_changes");
}

TEST(WalkTree, ARootMayBeOneFile) {
  MemoryFileSystem fs;
  fs.AddFile("ds", "x");
  EXPECT_THAT(Names(Walk(fs)), ElementsAre("ds"));
}

TEST(WalkTree, StopsAtItsLimitAndSaysSo) {
  MemoryFileSystem fs;
  for (int i = 0; i < 50; ++i) fs.AddFile(absl::StrCat("ds/", i), "x");
  const v1::FileList tree = Walk(fs, {.entries_max = 10});
  EXPECT_EQ(tree.files_size(), 10);
  EXPECT_EQ(tree.incomplete_size(), 1);
}

TEST(AnswerDatasetQuestion, AnswersOnlyOfTheFileAsItWas) {
  MemoryFileSystem fs;
  fs.AddFile("ds/a", "b\r\na\r\n");
  v1::FileList tree = Walk(fs);
  tree.set_root("ds");
  AnswerDatasetQuestion(fs, "a", {"prefix:1", "lf"}, tree);
  ASSERT_EQ(tree.files(0).alternates_size(), 2);
  EXPECT_EQ(tree.files(0).alternates(0).md5(), Md5("b"));
  EXPECT_EQ(tree.files(0).alternates(1).md5(), Md5("b\na\n"));
  fs.AddFile("ds/a", "longer than it was");
  AnswerDatasetQuestion(fs, "a", {"sha256"}, tree);
  EXPECT_EQ(tree.files(0).alternates_size(), 2);
  AnswerDatasetQuestion(fs, "gone", {"sha256"}, tree);
}

TEST(AnswerDatasetQuestion, BlocksZerosCrcAndRecords) {
  MemoryFileSystem fs;
  fs.AddFile("ds/a.jsonl", absl::StrCat("{\"a\": 1}\n{}\n", std::string(600, '\0')));
  v1::FileList tree = Walk(fs);
  tree.set_root("ds");
  AnswerDatasetQuestion(fs, "a.jsonl", {"blocks:512", "zeros", "crc32", "records"}, tree);
  const v1::FileEntry& entry = tree.files(0);
  ASSERT_EQ(entry.alternates_size(), 3);
  EXPECT_EQ(entry.alternates(0).law(), "blocks:512");
  EXPECT_EQ(entry.alternates(0).md5().size(), 32u);
  EXPECT_EQ(entry.alternates(1).law(), "zeros");
  EXPECT_EQ(entry.alternates(1).md5(), std::string("\x0C\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(entry.alternates(2).md5().size(), 4u);
  EXPECT_EQ(entry.record_look().format(), "jsonl");
  EXPECT_EQ(entry.record_look().damage().id(), "record_damaged/garbled");
}

}  // namespace
}  // namespace paritect
