#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/collect.h"
#include "common/digest.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {


v1::Plan PlanOf(const v1::DatasetSource& source) {
  v1::Plan plan;
  plan.mutable_info()->set_run("r");
  plan.mutable_info()->set_live(false);
  plan.set_base("/");
  *plan.add_datasets() = source;
  return plan;
}

v1::FileList Collected(FileSystem& fs, const v1::DatasetSource& source) {
  const v1::Bundle bundle = CollectPlan({.fs = fs, .rules = BuiltInRules()}, PlanOf(source));
  EXPECT_EQ(bundle.evidence_size(), 1);
  return bundle.evidence_size() == 1 ? bundle.evidence(0).files() : v1::FileList();
}

v1::DatasetSource Root(std::uint32_t index, std::uint32_t count) {
  v1::DatasetSource source;
  source.set_name("train");
  source.set_root("/ds");
  source.set_part(true);
  source.set_share_index(index);
  source.set_share_count(count);
  source.set_share_seed(99);
  return source;
}

TEST(DatasetsCollector, SharesOfAMountAreItsUnion) {
  MemoryFileSystem fs;
  constexpr int kFiles = 3000;
  for (int i = 0; i < kFiles; ++i) fs.AddFile(absl::StrFormat("/ds/%04d", i), absl::StrCat(i));
  fs.AddDirectory("/ds/empty");
  std::map<std::string, int> holders;
  int files = 0;
  for (std::uint32_t index = 0; index < 3; ++index) {
    const v1::FileList list = Collected(fs, Root(index, 3));
    EXPECT_TRUE(list.part());
    EXPECT_LT(list.files_size(), kFiles / 2) << "a third and the sample";
    files += list.files_size();
    for (const v1::FileEntry& file : list.files()) {
      ++holders[file.path()];
      EXPECT_EQ(file.md5().empty(), file.type() != v1::FILE_TYPE_REGULAR) << file.path();
    }
  }
  EXPECT_EQ(holders.size(), kFiles + 1u);
  const auto sampled = std::count_if(holders.begin(), holders.end(), [](const auto& one) { return one.second == 3; });
  EXPECT_GT(sampled, kFiles / 64);
  EXPECT_LT(sampled, kFiles / 16);
  EXPECT_EQ(files, kFiles + 1 + 2 * sampled);
}

TEST(DatasetsCollector, ASmallSetIsNotShared) {
  MemoryFileSystem fs;
  for (int i = 0; i < 50; ++i) fs.AddFile(absl::StrFormat("/ds/%04d", i), absl::StrCat(i));
  const v1::FileList list = Collected(fs, Root(1, 3));
  EXPECT_FALSE(list.part());
  EXPECT_EQ(list.files_size(), 50);
}

TEST(DatasetsCollector, SaysWhereDigestsComeFromOnceAndForAll) {
  MemoryFileSystem fs;
  fs.AddFile("/ds/a", "1");
  fs.AddFile("/ds/b", "2");
  v1::DatasetSource source;
  source.set_name("train");
  source.set_root("/ds");
  const v1::FileList list = Collected(fs, source);
  EXPECT_EQ(list.digests().files_now(), 2u);
  EXPECT_EQ(list.digests().bytes_now(), 2u);
  EXPECT_EQ(list.digests().files_cached(), 0u);
  for (const v1::FileEntry& file : list.files()) EXPECT_EQ(file.hashed_at_unix_ms(), 0);
}

TEST(DatasetsCollector, StatesOfLargeFilesTravelBounded) {
  MemoryFileSystem fs;
  const std::string large(9 << 20, 'x');
  fs.AddFile("/ds/large", large);
  fs.AddFile("/ds/small", "2");
  v1::DatasetSource source;
  source.set_name("train");
  source.set_root("/ds");
  const v1::FileList list = Collected(fs, source);
  ASSERT_EQ(list.states_size(), 1);
  EXPECT_EQ(list.states(0).path(), "large");
  EXPECT_EQ(list.states(0).block_bytes(), 4u << 20);
  EXPECT_EQ(list.states(0).states().size(), 2 * 16u);
}

TEST(DatasetsCollector, PatternsHoldForListsToo) {
  MemoryFileSystem fs;
  fs.AddFile("/l.md5", absl::StrCat(ToHex(Md5("1")), "  a.csv\n", ToHex(Md5("2")), "  sub/b.csv\n"));
  v1::DatasetSource source;
  source.set_name("train");
  source.set_manifest("/l.md5");
  source.add_exclude("sub");
  const v1::FileList list = Collected(fs, source);
  ASSERT_EQ(list.files_size(), 1);
  EXPECT_EQ(list.files(0).path(), "a.csv");
}

}  // namespace
}  // namespace paritect
