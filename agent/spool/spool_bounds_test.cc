// Room, age and disks that are full or read-only.
#include "absl/strings/str_cat.h"
#include "agent/spool/fault_disk.h"
#include "agent/spool/spool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kDayMs = 86'400'000;

class SpoolBoundsTest : public testing::Test {
 protected:
  SpoolBoundsTest() { options_.max_bytes = 64 << 10; }

  void Open() {
    spool_.reset();
    auto spool = Spool::Open(
        "spool", options_, [this] { return now_ms_; }, disk_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    spool_ = *std::move(spool);
  }

  absl::Status Append(RecordClass record_class, std::size_t bytes = 3000) {
    return spool_->Append(record_class, {{std::string(bytes, 'x'), now_ms_}}).status();
  }

  std::vector<SpoolEntry> All() {
    auto entries = spool_->Read(0, 1 << 30, 10'000);
    EXPECT_TRUE(entries.ok()) << entries.status();
    return entries.ok() ? *std::move(entries) : std::vector<SpoolEntry>();
  }

  // Numbers of records by class, and numbers told as dropped.
  struct Counts {
    std::uint64_t critical = 0, bulk = 0, full = 0, age = 0, other = 0;
  };
  Counts Count() {
    Counts counts;
    for (const SpoolEntry& entry : All()) {
      const std::uint64_t numbers = entry.last_sequence - entry.sequence + 1;
      if (entry.gap == GapReason::kDroppedFull) counts.full += numbers;
      if (entry.gap == GapReason::kDroppedAge) counts.age += numbers;
      if (entry.gap != GapReason::kNone && entry.gap != GapReason::kDroppedFull &&
          entry.gap != GapReason::kDroppedAge) {
        counts.other += numbers;
      }
      if (!entry.is_gap()) ++(entry.record_class == RecordClass::kBulk ? counts.bulk : counts.critical);
    }
    return counts;
  }

  FaultDisk disk_{1};
  SpoolOptions options_;
  std::int64_t now_ms_ = 1'700'000'000'000;
  std::unique_ptr<Spool> spool_;
};

TEST_F(SpoolBoundsTest, OldBulkGivesWayToNewRecordsAndCriticalOnesStay) {
  Open();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Append(RecordClass::kBulk).ok());
    if (i % 10 == 0) {
      ASSERT_TRUE(Append(RecordClass::kCritical, 100).ok());
    }
    EXPECT_LE(spool_->Stats().bytes, options_.max_bytes);
  }
  const Counts counts = Count();
  EXPECT_EQ(counts.critical, 10u);
  EXPECT_GT(counts.bulk, 5u);
  EXPECT_EQ(counts.bulk + counts.full, 100u);
  EXPECT_EQ(counts.other, 0u);
  EXPECT_EQ(spool_->Stats().dropped_records, counts.full);
  EXPECT_EQ(All().back().record_class, RecordClass::kBulk) << "the newest stays";
  Open();
  EXPECT_EQ(Count().full, counts.full) << "what was dropped is told after a restart too";
}

TEST_F(SpoolBoundsTest, WhenOnlyCriticalRecordsAreLeftTheCallerWaits) {
  Open();
  ASSERT_TRUE(Append(RecordClass::kBulk).ok());
  absl::Status status;
  std::uint64_t critical = 0;
  while ((status = Append(RecordClass::kCritical)).ok()) ASSERT_LT(++critical, 100u);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("critical records are not dropped"));
  EXPECT_TRUE(absl::IsResourceExhausted(Append(RecordClass::kBulk)));
  EXPECT_EQ(Count().critical, critical);
  ASSERT_TRUE(spool_->Acknowledge(spool_->Stats().accepted_sequence).ok());
  EXPECT_TRUE(Append(RecordClass::kCritical).ok());
  EXPECT_TRUE(Append(RecordClass::kBulk).ok());
}

TEST_F(SpoolBoundsTest, BulkRecordsGrowTooOldAndCriticalOnesDoNot) {
  options_.max_age_ms = 8 * kDayMs;
  Open();
  ASSERT_TRUE(Append(RecordClass::kBulk, 10).ok());
  ASSERT_TRUE(Append(RecordClass::kCritical, 10).ok());
  now_ms_ += 5 * kDayMs;
  ASSERT_TRUE(Append(RecordClass::kBulk, 10).ok());
  EXPECT_EQ(spool_->Stats().oldest_age_ms, 5 * kDayMs);
  now_ms_ += 5 * kDayMs;
  ASSERT_TRUE(spool_->Expire().ok());
  const Counts counts = Count();
  EXPECT_EQ(counts.age, 1u);
  EXPECT_EQ(counts.critical, 1u);
  EXPECT_EQ(counts.bulk, 1u);
  now_ms_ -= 100 * kDayMs;  // a clock that steps back drops nothing
  ASSERT_TRUE(spool_->Expire().ok());
  EXPECT_EQ(Count().bulk, 1u);
}

TEST_F(SpoolBoundsTest, AFullDiskRefusesAndTheSpoolGoesOnWhenThereIsSpace) {
  options_.max_bytes = 10 << 20;
  Open();
  ASSERT_TRUE(Append(RecordClass::kBulk).ok());
  disk_.SetCapacity(20'000);
  absl::Status status;
  std::uint64_t accepted = 1;
  while ((status = Append(RecordClass::kBulk)).ok()) ASSERT_LT(++accepted, 100u);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(absl::IsResourceExhausted(Append(RecordClass::kCritical)));
  EXPECT_EQ(Count().bulk, accepted) << "what was accepted can be read";
  EXPECT_LE(disk_.Files().size(), 6u) << "attempts leave no files behind";
  disk_.SetCapacity(UINT64_MAX);
  ASSERT_TRUE(Append(RecordClass::kCritical).ok());
  Counts counts = Count();
  EXPECT_EQ(counts.bulk, accepted);
  EXPECT_EQ(counts.critical, 1u);
  EXPECT_EQ(counts.full + counts.age, 0u);
  Open();
  counts = Count();
  EXPECT_EQ(counts.bulk, accepted);
  EXPECT_EQ(counts.critical, 1u);
}

TEST_F(SpoolBoundsTest, AFullDiskIsFreedByAcknowledging) {
  Open();
  ASSERT_TRUE(Append(RecordClass::kBulk).ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Append(RecordClass::kBulk).ok());
  disk_.SetCapacity(0);  // nothing may grow
  EXPECT_TRUE(absl::IsResourceExhausted(Append(RecordClass::kBulk)));
  ASSERT_TRUE(spool_->Acknowledge(spool_->Stats().accepted_sequence).ok());
  EXPECT_EQ(spool_->Stats().segments, 0u);
}

TEST_F(SpoolBoundsTest, AFailedSyncNeverCountsAsAccepted) {
  Open();
  ASSERT_TRUE(Append(RecordClass::kBulk, 10).ok());
  disk_.FailAt(2, FaultDisk::Fault::kIoError);  // 1 writes the records, 2 syncs them
  const absl::Status status = Append(RecordClass::kBulk, 11);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  ASSERT_TRUE(Append(RecordClass::kBulk, 12).ok());
  const std::vector<SpoolEntry> entries = All();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[1].gap, GapReason::kNotWritten);
  EXPECT_EQ(entries[1].sequence, 2u);
  EXPECT_EQ(entries[2].sequence, 3u);
  EXPECT_EQ(entries[2].payload.size(), 12u);
}

TEST_F(SpoolBoundsTest, UnreadableDiskIsNoLossUntilItIsCertain) {
  Open();
  ASSERT_TRUE(Append(RecordClass::kBulk, 10).ok());
  disk_.FailAt(1, FaultDisk::Fault::kIoError, 1'000'000);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(absl::IsUnavailable(spool_->Read(0, 1000, 10).status()));
  disk_.FailNever();
  EXPECT_EQ(Count().bulk, 1u);
}

TEST_F(SpoolBoundsTest, ManyDropsTakeFewFiles) {
  Open();
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(Append(RecordClass::kBulk).ok());
  EXPECT_LE(disk_.Files().size(), 20u);
  EXPECT_EQ(Count().full + Count().bulk, 2000u);
}

}  // namespace
}  // namespace paritect
