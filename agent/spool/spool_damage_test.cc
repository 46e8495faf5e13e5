// Damage at every byte of a small spool of several segments: never a crash, never a wrong record, only what was damaged
// is lost, and what is lost shows as a gap.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/spool/fault_disk.h"
#include "agent/spool/spool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using Files = std::map<std::string, std::string>;

class SpoolDamageTest : public testing::Test {
 protected:
  // Two segments of bulk, one of critical records; closed, so that the state names the end.
  void SetUp() override {
    options_.max_bytes = 64 << 10;
    options_.max_age_ms = 0;
    auto spool = Open();
    epoch_ = spool->epoch();
    for (int i = 0; i < 6; ++i) {
      Append(*spool, RecordClass::kBulk, std::string(i == 3 ? 7800 : 40, static_cast<char>('a' + i)));
      // A record whose payload looks like records of this very spool.
      if (i == 2) Append(*spool, RecordClass::kBulk, disk_.Files().at("spool/bulk-0000000000000001.seg"));
      if (i % 2 == 0) Append(*spool, RecordClass::kCritical, absl::StrCat("critical ", i));
    }
    spool.reset();
    files_ = disk_.Files();
    ASSERT_GE(files_.size(), 5u);  // state, mark, three segments or more
  }

  void Append(Spool& spool, RecordClass record_class, const std::string& payload) {
    const auto last = spool.Append(record_class, {{payload, 0}});
    ASSERT_TRUE(last.ok()) << last.status();
    records_[*last] = payload;
  }

  std::unique_ptr<Spool> Open() {
    auto spool = Spool::Open(
        "spool", options_, [] { return std::int64_t{1}; }, disk_);
    EXPECT_TRUE(spool.ok()) << spool.status();
    return spool.ok() ? *std::move(spool) : nullptr;
  }

  // Opens the spool over `files` and reads it. Every number up to the end is a record as it was, or in a gap; returns
  // how many records are missing. What follows is appended under new numbers.
  std::size_t Missing(const Files& files) {
    disk_.SetFiles(files);
    auto spool = Open();
    if (spool == nullptr) return records_.size();
    const bool same_epoch = spool->epoch() == epoch_;
    std::size_t missing = records_.size();
    std::uint64_t position = 1;
    while (true) {
      const auto entries = spool->Read(position, 1 << 20, 100);
      EXPECT_TRUE(entries.ok()) << entries.status();
      if (!entries.ok() || entries->empty()) break;
      for (const SpoolEntry& entry : *entries) {
        EXPECT_TRUE(entry.sequence == position || position == 1) << "a jump at " << position;
        position = entry.last_sequence + 1;
        if (entry.is_gap()) continue;
        EXPECT_TRUE(same_epoch) << "a record of an epoch that is not known";
        EXPECT_TRUE(records_.contains(entry.sequence)) << entry.sequence;
        EXPECT_EQ(entry.payload, records_[entry.sequence]) << entry.sequence;
        --missing;
      }
    }
    const auto next = spool->Append(RecordClass::kBulk, {{"later", 0}});
    EXPECT_TRUE(next.ok()) << next.status();
    if (same_epoch && next.ok()) {
      EXPECT_GT(*next, records_.rbegin()->first) << "a number is used again";
    }
    return missing;
  }

  FaultDisk disk_{1};
  SpoolOptions options_;
  Files files_;
  std::uint64_t epoch_ = 0;
  std::map<std::uint64_t, std::string> records_;
};

TEST_F(SpoolDamageTest, WithoutDamageNothingIsMissing) {
  EXPECT_EQ(Missing(files_), 0u);
}

TEST_F(SpoolDamageTest, AnyByteMayBeWrong) {
  for (const auto& [name, content] : files_) {
    for (std::size_t at = 0; at < content.size(); ++at) {
      SCOPED_TRACE(absl::StrCat(name, " byte ", at));
      Files files = files_;
      const int bit = static_cast<int>(at % 8);
      files[name][at] = static_cast<char>(files[name][at] ^ (at % 9 == 8 ? 0xFF : 1 << bit));
      ASSERT_LE(Missing(files), absl::EndsWith(name, ".seg") ? 1u : 0u) << "more is lost than the damaged record";
      if (HasFailure()) return;
    }
  }
}

TEST_F(SpoolDamageTest, AnyFileMayEndAnywhere) {
  for (const auto& [name, content] : files_) {
    for (std::size_t size = 0; size < content.size(); ++size) {
      SCOPED_TRACE(absl::StrCat(name, " cut to ", size));
      Files files = files_;
      files[name].resize(size);
      const std::size_t missing = Missing(files);
      if (!absl::EndsWith(name, ".seg")) {
        ASSERT_EQ(missing, 0u);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(SpoolDamageTest, AnyFileMayBeGone) {
  for (const auto& [name, content] : files_) {
    SCOPED_TRACE(name);
    Files files = files_;
    files.erase(name);
    const bool segment = absl::EndsWith(name, ".seg");
    EXPECT_EQ(Missing(files) > 0, segment);
  }
}

TEST_F(SpoolDamageTest, FilesMayBeExchanged) {
  for (const auto& [a, content_a] : files_) {
    for (const auto& [b, content_b] : files_) {
      SCOPED_TRACE(absl::StrCat(a, " under the name of ", b));
      Files files = files_;
      files[b] = content_a;
      (void)Missing(files);
    }
  }
}

TEST_F(SpoolDamageTest, ForeignFilesAreLeftAlone) {
  Files files = files_;
  files["spool/notes.txt"] = "hello";
  files["spool/bulk-1.seg"] = "not a number of 16 digits";
  files["spool/bulk-0000000000000fff.seg"] = "garbage far behind the end";
  files["spool/bulk-ffffffffffffffff.seg"] = "";
  files["spool/critical-0000000000000003.seg"] = "";
  EXPECT_EQ(Missing(files), 0u);
  auto spool = Open();
  EXPECT_GE(spool->Stats().foreign_files, 4u);
  EXPECT_EQ(disk_.Files().at("spool/notes.txt"), "hello");
  EXPECT_EQ(disk_.Files().at("spool/bulk-0000000000000fff.seg"), "garbage far behind the end");
}

TEST_F(SpoolDamageTest, AnotherSpoolsSegmentIsForeign) {
  const Files mine = files_;
  disk_.SetFiles({});
  auto other = Open();
  ASSERT_NE(other->epoch(), epoch_);
  ASSERT_TRUE(other->Append(RecordClass::kBulk, {{"theirs", 0}}).ok());
  other.reset();
  Files files = mine;
  files["spool/bulk-0000000000000001.seg"] = disk_.Files().at("spool/bulk-0000000000000001.seg");
  EXPECT_GT(Missing(files), 0u);
}

TEST_F(SpoolDamageTest, WithoutItsStateTheSpoolLeavesAWideGap) {
  Files files = files_;
  files.erase("spool/state");
  files.erase("spool/mark");
  EXPECT_EQ(Missing(files), 0u);
  auto spool = Open();
  EXPECT_EQ(spool->epoch(), epoch_);
  EXPECT_GT(spool->Stats().accepted_sequence, std::uint64_t{1} << 48);
}

TEST_F(SpoolDamageTest, ALostTailIsAGapAtOnce) {
  Files files = files_;
  for (auto& [name, content] : files) {
    if (absl::EndsWith(name, ".seg")) content.resize(std::min<std::size_t>(content.size(), 192));
  }
  disk_.SetFiles(files);
  auto spool = Open();
  const auto entries = spool->Read(0, 1000, 100);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().sequence, 1u);
  EXPECT_EQ(entries->front().last_sequence, records_.rbegin()->first);
  EXPECT_EQ(entries->front().gap, GapReason::kDamaged);
  EXPECT_TRUE(spool->Acknowledge(entries->front().last_sequence).ok());
}

}  // namespace
}  // namespace paritect
