// The hashing engine on the machine's own disk: large files, holes, files that shrink or change, links, the cache.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/datasets/block_reader.h"
#include "agent/datasets/hash.h"
#include "agent/datasets/lane_hasher.h"
#include "common/digest.h"
#include "formats/datasets/file_hints.h"

namespace paritect {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Noise(std::size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string text(bytes + 8, '\0');
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&text[i], &word, sizeof(word));
  }
  text.resize(bytes);
  return text;
}

class HashDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/hash_disk_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    root_ = base_ + "/data";
    mkdir(root_.c_str(), 0755);
  }
  void TearDown() override { EXPECT_EQ(system(absl::StrCat("rm -rf '", base_, "'").c_str()), 0); }

  std::string At(absl::string_view name) const { return absl::StrCat(root_, "/", name); }
  void Write(absl::string_view name, absl::string_view bytes) const {
    const int fd = open(At(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(fd);
  }
  // Long enough ago for the cache's racy-clean rule: ctime cannot be set, so only the rule's own tests wait.
  v1::FileList Hash(HashOptions options = {}) const {
    auto list = HashDataset(PosixFileSystem(), root_, {}, options);
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? *std::move(list) : v1::FileList();
  }
  static const v1::FileEntry& Entry(const v1::FileList& list, absl::string_view path) {
    for (const v1::FileEntry& file : list.files()) {
      if (file.path() == path) return file;
    }
    ADD_FAILURE() << "no entry " << path;
    return v1::FileEntry::default_instance();
  }

  std::string base_;
  std::string root_;
};

TEST_F(HashDisk, AllSizesInAllWays) {
  std::map<std::string, std::string> digests;
  unsigned seed = 0;
  // About the buffer, the mapping threshold, the window and the step of states.
  for (const std::size_t size : {0, 1, 63, 64, 65, 4096, 32767, 32768, 32769, 65536, 196607, 196608, 200001, 2097152,
                                 2097153, 4194303, 4194304, 4194305, 9000001}) {
    const std::string name = absl::StrCat("f", size);
    const std::string bytes = Noise(size, ++seed);
    Write(name, bytes);
    digests[name] = ToHex(Md5(bytes));
  }
  for (const int threads : {1, 2, 5}) {
    for (const bool past_cache : {false, true}) {
      const v1::FileList list = Hash({.threads = threads, .past_cache = past_cache});
      ASSERT_EQ(list.files_size(), static_cast<int>(digests.size()));
      for (const v1::FileEntry& file : list.files()) {
        EXPECT_EQ(ToHex(file.md5()), digests[file.path()]) << file.path() << " " << threads << " " << past_cache;
        EXPECT_FALSE(file.from_cache());
      }
    }
  }
}

TEST_F(HashDisk, StatesAreThoseOfThePrefix) {
  const std::string bytes = Noise(9'000'001, 1);
  Write("big", bytes);
  auto table = HashFolder(PosixFileSystem(), root_, {}, {});
  ASSERT_TRUE(table.ok());
  ASSERT_THAT(table->states[0], SizeIs(2));
  EXPECT_EQ(StateStepBytes(bytes.size()), 4u << 20);
  Md5Lane lane = {.state = {}, .data = reinterpret_cast<const unsigned char*>(bytes.data())};
  Md5RunScalar(lane, (4 << 20) / kMd5BlockBytes);
  EXPECT_EQ(table->states[0][0], lane.state);
}

TEST_F(HashDisk, HolesCountAsZeros) {
  std::string whole(12'345'678, '\0');
  const std::string part = Noise(100'000, 4);
  whole.replace(5'000'000, part.size(), part);
  const int fd = open(At("sparse").c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(pwrite(fd, part.data(), part.size(), 5'000'000), static_cast<ssize_t>(part.size()));
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(whole.size())), 0);
  close(fd);
  ASSERT_EQ(truncate(At("sparse").c_str(), static_cast<off_t>(whole.size())), 0);
  EXPECT_EQ(ToHex(Entry(Hash(), "sparse").md5()), ToHex(Md5(whole)));
}

TEST_F(HashDisk, HardLinksAreReadOnceAndBothListed) {
  Write("a", "same");
  ASSERT_EQ(link(At("a").c_str(), At("b").c_str()), 0);
  ASSERT_EQ(symlink("a", At("c").c_str()), 0);
  HashProgress last;
  const v1::FileList list = Hash({.progress = [&last](const HashProgress& now) { last = now; }});
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(Entry(list, name).md5(), Md5("same")) << name;
  EXPECT_EQ(Entry(list, "c").link_target(), "a");
  EXPECT_EQ(last.files_total, 1);
  EXPECT_EQ(last.files_done, 1);
  EXPECT_FALSE(last.walking);
}

TEST_F(HashDisk, SpecialFilesAreNamedAndNeverOpened) {
  ASSERT_EQ(mkfifo(At("fifo").c_str(), 0644), 0);
  Write("a", "1");
  const v1::FileList list = Hash();
  EXPECT_EQ(Entry(list, "fifo").type(), v1::FILE_TYPE_SPECIAL);
  EXPECT_FALSE(Entry(list, "fifo").has_error());
}

TEST_F(HashDisk, NamesAreBytesAndPathsOfAnyLength) {
  Write("\xFF\xFE\n", "1");
  Write("e\xCC\x81", "2");
  const std::string name(200, 'd');
  int folder = open(root_.c_str(), O_RDONLY | O_DIRECTORY);
  std::string path;
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(mkdirat(folder, name.c_str(), 0755), 0);
    const int below = openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY);
    close(folder);
    folder = below;
    path += name + "/";
  }
  const int fd = openat(folder, "deep", O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(write(fd, "3", 1), 1);
  close(fd);
  close(folder);
  const v1::FileList list = Hash();
  EXPECT_EQ(Entry(list, "\xFF\xFE\n").md5(), Md5("1"));
  EXPECT_EQ(Entry(list, "e\xCC\x81").md5(), Md5("2"));
  EXPECT_EQ(Entry(list, path + "deep").md5(), Md5("3"));
  EXPECT_THAT(list.unread_folders(), IsEmpty());
}

// A file system whose files change in a way of the test's choice just after they were opened.
class Meddling : public FileSystem {
 public:
  explicit Meddling(std::function<void(absl::string_view)> meddle) : meddle_(std::move(meddle)) {}
  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override {
    auto file = PosixFileSystem().Open(path);
    meddle_(path);
    return file;
  }
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override { return PosixFileSystem().Stat(path); }
  absl::StatusOr<FileInfo> LStat(absl::string_view path) override { return PosixFileSystem().LStat(path); }
  absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) override {
    return PosixFileSystem().List(path, entry);
  }
  absl::StatusOr<std::string> ReadLink(absl::string_view path) override { return PosixFileSystem().ReadLink(path); }

 private:
  const std::function<void(absl::string_view)> meddle_;
};

TEST_F(HashDisk, AFileCutWhileItIsReadHasNoDigest) {
  Write("big", Noise(6'000'000, 2));
  Write("small", Noise(100'000, 3));
  Write("whole", "1");
  Meddling fs([](absl::string_view path) {
    if (absl::EndsWith(path, "whole")) return;
    struct stat st;
    ASSERT_EQ(stat(std::string(path).c_str(), &st), 0);
    ASSERT_EQ(truncate(std::string(path).c_str(), st.st_size / 2), 0);
  });
  auto list = HashDataset(fs, root_, {}, {});
  ASSERT_TRUE(list.ok());
  for (const char* name : {"big", "small"}) {
    EXPECT_EQ(Entry(*list, name).error().id(), "file_changes") << name;
    EXPECT_EQ(Entry(*list, name).md5(), "") << name;
    EXPECT_TRUE(HasHint(Entry(*list, name), v1::FILE_HINT_CHANGED_WHILE_READ)) << name;
  }
  EXPECT_EQ(Entry(*list, "whole").md5(), Md5("1"));
}

TEST_F(HashDisk, AFileWrittenToOnceWhileItIsReadIsReadAgain) {
  Write("a", "old");
  int opened = 0;
  Meddling fs([&](absl::string_view) {
    if (++opened == 1) Write("a", "newer");
  });
  auto list = HashDataset(fs, root_, {}, {.threads = 1});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(Entry(*list, "a").md5(), Md5("newer"));
  EXPECT_EQ(opened, 2);
}

TEST_F(HashDisk, AFileGoneIsSaid) {
  Write("a", "1");
  Meddling fs([](absl::string_view) {});
  auto table = HashFolder(fs, root_, {}, {});
  ASSERT_TRUE(table.ok());
  class Vanishing : public Meddling {
   public:
    Vanishing() : Meddling([](absl::string_view) {}) {}
    absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view) override { return absl::NotFoundError("gone"); }
  } vanishing;
  auto list = HashDataset(vanishing, root_, {}, {});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(Entry(*list, "a").error().id(), "file_vanished");
}

TEST_F(HashDisk, AStoppedWorkEndsSoon) {
  for (int i = 0; i < 200; ++i) Write(absl::StrCat("f", i), "x");
  class Stopped : public Meddling {
   public:
    Stopped() : Meddling([](absl::string_view) {}) {}
    absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override {
      if (++opened > 5) return absl::CancelledError("stopped");
      return Meddling::Open(path);
    }
    std::atomic<int> opened = 0;
  } fs;
  EXPECT_TRUE(absl::IsCancelled(HashFolder(fs, root_, {}, {}).status()));
  EXPECT_LT(fs.opened, 100);
}

class HashCache : public HashDisk {
 protected:
  void SetUp() override {
    HashDisk::SetUp();
    if (!PosixFileSystem().Disk(root_).stable_numbers) {
      GTEST_SKIP() << "no digests are kept of the temporary folder's disk";
    }
  }
  // Times cannot be set back, so the tests of hits make files and wait for the margin once.
  static void Wait() { usleep(2'200'000); }
  std::unique_ptr<DigestCache> Cache(bool read = true, bool resume = true) const {
    return DigestCache::Open({.folder = base_ + "/cache", .read = read, .resume = resume});
  }
  v1::FileList HashWith(DigestCache& cache) const { return Hash({.cache = &cache}); }
};

TEST_F(HashCache, UnchangedFilesAreNotReadAgain) {
  Write("a", "1");
  Write("sub", Noise(300'000, 1));
  Wait();
  {
    auto cache = Cache();
    EXPECT_FALSE(Entry(HashWith(*cache), "a").from_cache());
  }
  {
    auto cache = Cache();
    const v1::FileList list = HashWith(*cache);
    EXPECT_TRUE(Entry(list, "a").from_cache());
    EXPECT_EQ(Entry(list, "a").md5(), Md5("1"));
    EXPECT_GT(Entry(list, "a").hashed_at_unix_ms(), 0);
    EXPECT_THAT(cache->warnings(), IsEmpty());
  }
  // A new name is the same file; another content is not, whatever its times say.
  ASSERT_EQ(rename(At("sub").c_str(), At("other").c_str()), 0);
  struct stat before;
  ASSERT_EQ(stat(At("a").c_str(), &before), 0);
  Write("a", "2");
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, At("a").c_str(), times, 0), 0);
  auto cache = Cache();
  const v1::FileList list = HashWith(*cache);
  EXPECT_FALSE(Entry(list, "a").from_cache());
  EXPECT_EQ(Entry(list, "a").md5(), Md5("2"));
  auto fresh = Cache(false, false);
  EXPECT_FALSE(Entry(HashWith(*fresh), "other").from_cache());
}

// The kernel stamps a file when a mapped page becomes dirty, not at each store into it.
TEST_F(HashCache, AStoreIntoAPageThatWasDirtyIsSeen) {
  Write("a", Noise(300'000, 1));
  const int fd = open(At("a").c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  void* mapped = mmap(nullptr, 300'000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  ASSERT_NE(mapped, MAP_FAILED);
  volatile char* bytes = static_cast<volatile char*>(mapped);
  bytes[0] = static_cast<char>(bytes[0] + 1);
  Wait();
  std::string before;
  {
    auto cache = Cache();
    before = Entry(HashWith(*cache), "a").md5();
  }
  bytes[0] = static_cast<char>(bytes[0] + 1);
  auto cache = Cache();
  const v1::FileList list = HashWith(*cache);
  EXPECT_FALSE(Entry(list, "a").from_cache());
  EXPECT_NE(Entry(list, "a").md5(), before);
  munmap(mapped, 300'000);
}

TEST_F(HashCache, AFileJustWrittenIsNotKept) {
  Write("a", "1");
  { HashWith(*Cache()); }
  auto cache = Cache();
  EXPECT_FALSE(Entry(HashWith(*cache), "a").from_cache());
}

// What a content says beside its digest is no less said the second time.
TEST_F(HashCache, FilesWithSomethingToRemarkAreReadAgain) {
  Write("page", "<!doctype html><html></html>");
  Wait();
  { HashWith(*Cache()); }
  auto cache = Cache();
  EXPECT_TRUE(HasHint(Entry(HashWith(*cache), "page"), v1::FILE_HINT_HTML_PAGE));
}

TEST_F(HashCache, ADamagedCacheIsSaidAndLeftOut) {
  Write("a", "1");
  Wait();
  { HashWith(*Cache()); }
  const std::string file = base_ + "/cache/digests";
  const int fd = open(file.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "\x55\x55\x55", 3, 64 + 45), 3);  // in the first record's digest
  close(fd);
  {
    auto cache = Cache();
    const v1::FileList list = HashWith(*cache);
    EXPECT_FALSE(Entry(list, "a").from_cache());
    EXPECT_EQ(Entry(list, "a").md5(), Md5("1"));
    EXPECT_THAT(cache->warnings(), SizeIs(1));
  }
  ASSERT_EQ(truncate(file.c_str(), 70), 0);
  auto cache = Cache();
  EXPECT_EQ(Entry(HashWith(*cache), "a").md5(), Md5("1"));
  EXPECT_THAT(cache->warnings(), SizeIs(1));
}

TEST_F(HashCache, WithoutAFolderItDoesNothing) {
  Write("a", "1");
  ASSERT_EQ(symlink("/proc/version", (base_ + "/cache").c_str()), 0);
  auto cache = Cache();
  EXPECT_EQ(Entry(HashWith(*cache), "a").md5(), Md5("1"));
  EXPECT_THAT(cache->warnings(), SizeIs(1));
}

// Journals of a run that was killed, and a large file in its middle.
TEST_F(HashCache, GoesOnWhereAStoppedRunWas) {
  const std::string bytes = Noise(9'000'000, 6);
  Write("big", bytes);
  struct stat st;
  ASSERT_EQ(stat(At("big").c_str(), &st), 0);
  auto info = PosixFileSystem().Stat(At("big"));
  ASSERT_TRUE(info.ok());
  const DiskInfo disk = PosixFileSystem().Disk(root_);
  if (!disk.stable_numbers) GTEST_SKIP() << "the temporary folder's disk has no stable numbers";
  Md5Lane lane = {.data = reinterpret_cast<const unsigned char*>(bytes.data())};
  Md5RunScalar(lane, (4 << 20) / kMd5BlockBytes);
  const pid_t child = fork();
  ASSERT_NE(child, -1) << strerror(errno);
  if (child == 0) {
    auto cache = Cache();
    cache->AddStates(disk, *info, {lane.state}, info->ctime_ns + 10'000'000'000);
    _exit(0);  // as if killed: nothing is put in order
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  auto cache = Cache(false, true);
  EXPECT_THAT(cache->FindStates(disk, *info), SizeIs(1));
  EXPECT_EQ(Entry(HashWith(*cache), "big").md5(), Md5(bytes));
  EXPECT_THAT(Cache(false, false)->FindStates(disk, *info), IsEmpty());
}

TEST_F(HashCache, KeepsNoMoreThanItsLimit) {
  auto cache = DigestCache::Open({.folder = base_ + "/cache", .records_max = 100});
  const DiskInfo disk = {.id = 1, .stable_numbers = true};
  unsigned char md5[kMd5Bytes] = {};
  const std::int64_t second = 1'000'000'000;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    cache->Add(disk, {.size_bytes = 1, .inode = i}, md5, LookedAt::kNot, static_cast<std::int64_t>(1000 + i) * second);
  }
  cache->Close();
  struct stat st;
  ASSERT_EQ(stat((base_ + "/cache/digests").c_str(), &st), 0);
  EXPECT_LE(st.st_size, 64 * 102);
  auto again = Cache();
  EXPECT_TRUE(again->Find(disk, {.size_bytes = 1, .inode = 300}).has_value());
  EXPECT_FALSE(again->Find(disk, {.size_bytes = 1, .inode = 1}).has_value());
}

TEST(FileTable, VisitsByTheBytesOfWholePaths) {
  FileTable table;
  table.AddFolder(0, "");
  const std::uint32_t a = table.AddFolder(0, "a");
  const std::uint32_t ab = table.AddFolder(0, "a.b");
  const std::uint32_t deep = table.AddFolder(a, "z");
  table.Add(a, "x");
  table.Add(0, "a-1");
  table.Add(ab, "y");
  table.Add(0, "a0");
  table.Add(deep, "w");
  table.Add(0, "\xFF");
  std::vector<std::string> paths;
  table.ForEachSorted([&](std::uint32_t at, const std::string& path) {
    EXPECT_EQ(table.PathOf(at), path);
    paths.push_back(path);
  });
  EXPECT_THAT(paths, testing::ElementsAre("a-1", "a.b/y", "a/x", "a/z/w", "a0", "\xFF"));
}

}  // namespace
}  // namespace paritect
