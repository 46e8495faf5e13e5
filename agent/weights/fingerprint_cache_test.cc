#include "agent/weights/fingerprint_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace paritect {
namespace {

class FingerprintCacheTest : public ::testing::Test {
 protected:
  FingerprintCacheTest() {
    std::string name = ::testing::TempDir() + "/fingerprints_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FingerprintCacheTest() override {
    for (const std::string& path : Entries()) unlink(path.c_str());
    rmdir(JoinPath(folder_, "weights").c_str());
    rmdir(folder_.c_str());
  }

  // A file that was last changed an hour before it is read.
  static FileInfo FileOf(std::uint64_t inode) {
    FileInfo info;
    info.device = 1;
    info.inode = inode;
    info.size_bytes = 100;
    info.mtime_ns = info.ctime_ns = absl::ToUnixNanos(Began() - absl::Hours(1));
    return info;
  }
  static absl::Time Began() { return absl::FromUnixSeconds(1'700'000'000); }
  static CachedFingerprints Fingerprints(std::size_t name_bytes = 4) {
    CachedFingerprints one;
    one.weights.set_format("safetensors");
    one.weights.add_tensors()->set_name(std::string(name_bytes, 'w'));
    one.values["w"] = {1.5, -2};
    one.has_values = true;
    return one;
  }

  std::vector<std::string> Entries() const {
    std::vector<std::string> paths;
    (void)PosixFileSystem().List(JoinPath(folder_, "weights"), [&](const DirectoryEntry& entry) {
      paths.push_back(JoinPath(JoinPath(folder_, "weights"), entry.name));
    });
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  std::string folder_;
};

TEST_F(FingerprintCacheTest, FindsWhatWasKeptOfAnUnchangedFile) {
  const FingerprintCache cache(folder_, true);
  EXPECT_FALSE(cache.Find({FileOf(1)}).has_value());
  cache.Add({FileOf(1)}, Fingerprints(), Began());
  const auto found = cache.Find({FileOf(1)});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->weights.tensors(0).name(), "wwww");
  EXPECT_EQ(found->values.at("w"), (std::vector<double>{1.5, -2}));
  FileInfo changed = FileOf(1);
  ++changed.ctime_ns;
  EXPECT_FALSE(cache.Find({changed}).has_value());
  EXPECT_FALSE(cache.Find({FileOf(1), FileOf(2)}).has_value()) << "a checkpoint is all of its files";
  EXPECT_FALSE(FingerprintCache(folder_, false).Find({FileOf(1)}).has_value());
}

TEST_F(FingerprintCacheTest, KeepsNothingOfAFileThatMayStillChange) {
  const FingerprintCache cache(folder_, true);
  FileInfo young = FileOf(1);
  young.mtime_ns = absl::ToUnixNanos(Began());
  cache.Add({young}, Fingerprints(), Began());
  EXPECT_TRUE(Entries().empty());
}

TEST_F(FingerprintCacheTest, ADamagedEntryIsNone) {
  const FingerprintCache cache(folder_, true);
  cache.Add({FileOf(1)}, Fingerprints(), Began());
  ASSERT_EQ(Entries().size(), 1U);
  const std::string whole = ReadWholeFile(PosixFileSystem(), Entries()[0], 1 << 20).value();
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    ASSERT_TRUE(WriteFileAtomically(Entries()[0], damaged).ok());
    EXPECT_FALSE(cache.Find({FileOf(1)}).has_value()) << at;
    ASSERT_TRUE(WriteFileAtomically(Entries()[0], whole.substr(0, at)).ok());
    EXPECT_FALSE(cache.Find({FileOf(1)}).has_value()) << at;
  }
}

TEST_F(FingerprintCacheTest, TheOldestGoesFirst) {
  constexpr std::size_t kNameBytes = 1000;  // of an entry: what stands beside it is small
  const FingerprintCache cache(folder_, true, 5 * kNameBytes / 2);
  const auto age = [&](const std::vector<std::string>& before, std::int64_t seconds) {
    for (const std::string& path : Entries()) {
      if (std::find(before.begin(), before.end(), path) != before.end()) continue;
      const timeval times[2] = {{seconds, 0}, {seconds, 0}};
      ASSERT_EQ(utimes(path.c_str(), times), 0);
    }
  };
  for (std::uint64_t inode : {1, 2}) {
    const std::vector<std::string> before = Entries();
    cache.Add({FileOf(inode)}, Fingerprints(kNameBytes), Began());
    age(before, inode == 1 ? 2000 : 1000);
  }
  cache.Add({FileOf(3)}, Fingerprints(kNameBytes), Began());
  EXPECT_TRUE(cache.Find({FileOf(1)}).has_value());
  EXPECT_FALSE(cache.Find({FileOf(2)}).has_value()) << "the oldest";
  EXPECT_TRUE(cache.Find({FileOf(3)}).has_value());
}

}  // namespace
}  // namespace paritect
