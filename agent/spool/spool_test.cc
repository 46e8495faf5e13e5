#include "agent/spool/spool.h"

#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/spool/fault_disk.h"
#include "common/crc.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using testing::HasSubstr;

std::vector<NewRecord> Batch(std::initializer_list<std::string> payloads) {
  std::vector<NewRecord> batch;
  for (const std::string& payload : payloads) batch.push_back({payload, 1'700'000'000'000});
  return batch;
}

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() { options_.max_bytes = 1 << 20; }

  absl::StatusOr<std::unique_ptr<Spool>> TryOpen() {
    return Spool::Open(
        "spool", options_, [this] { return now_ms_; }, disk_);
  }
  std::unique_ptr<Spool> Open() {
    auto spool = TryOpen();
    EXPECT_TRUE(spool.ok()) << spool.status();
    return *std::move(spool);
  }

  // "1 b:payload", "2-4 gap 1"
  static std::vector<std::string> All(Spool& spool, std::uint64_t from = 0) {
    std::vector<std::string> texts;
    while (true) {
      const auto entries = spool.Read(from, 1 << 20, 3);
      EXPECT_TRUE(entries.ok()) << entries.status();
      if (!entries.ok() || entries->empty()) return texts;
      for (const SpoolEntry& entry : *entries) {
        texts.push_back(
            entry.is_gap()
                ? absl::StrCat(entry.sequence, "-", entry.last_sequence, " gap ", static_cast<int>(entry.gap))
                : absl::StrCat(entry.sequence,
                               entry.record_class == RecordClass::kBulk ? " b:" : " c:", entry.payload));
      }
      from = entries->back().last_sequence + 1;
    }
  }

  FaultDisk disk_{1};
  SpoolOptions options_;
  std::int64_t now_ms_ = 1'700'000'000'000;
};

TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(Crc32c(0, "123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(0, std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(Crc32c(0, "1234"), "56789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(0, ""), 0u);
}

TEST_F(SpoolTest, ReadsInOrderWhatWasAppended) {
  auto spool = Open();
  EXPECT_EQ(*spool->Append(RecordClass::kBulk, Batch({"a", "b"})), 2u);
  EXPECT_EQ(*spool->Append(RecordClass::kCritical, Batch({"c"})), 3u);
  EXPECT_EQ(*spool->Append(RecordClass::kBulk, Batch({"d", ""})), 5u);
  EXPECT_THAT(All(*spool), testing::ElementsAre("1 b:a", "2 b:b", "3 c:c", "4 b:d", "5 b:"));
  EXPECT_THAT(All(*spool, 4), testing::ElementsAre("4 b:d", "5 b:"));
  EXPECT_EQ(*spool->Append(RecordClass::kCritical, Batch({"e"})), 6u);
  EXPECT_THAT(All(*spool, 6), testing::ElementsAre("6 c:e"));
}

TEST_F(SpoolTest, GoesOnAfterACleanEndWithoutLeavingOutANumber) {
  std::uint64_t epoch = 0;
  {
    auto spool = Open();
    epoch = spool->epoch();
    ASSERT_TRUE(spool->Append(RecordClass::kBulk, Batch({"a", "b"})).ok());
  }
  auto spool = Open();
  EXPECT_EQ(spool->epoch(), epoch);
  EXPECT_EQ(*spool->Append(RecordClass::kBulk, Batch({"c"})), 3u);
  EXPECT_THAT(All(*spool), testing::ElementsAre("1 b:a", "2 b:b", "3 b:c"));
}

TEST_F(SpoolTest, AcknowledgedRecordsAreGoneAndStayGone) {
  {
    auto spool = Open();
    ASSERT_TRUE(spool->Append(RecordClass::kBulk, Batch({"a", "b", "c"})).ok());
    ASSERT_TRUE(spool->Acknowledge(2).ok());
    EXPECT_THAT(All(*spool), testing::ElementsAre("3 b:c"));
    EXPECT_EQ(spool->Stats().records, 1u);
    EXPECT_EQ(spool->Acknowledge(4).code(), absl::StatusCode::kInvalidArgument);
  }
  auto spool = Open();
  EXPECT_THAT(All(*spool), testing::ElementsAre("3 b:c"));
  ASSERT_TRUE(spool->Acknowledge(3).ok());
  EXPECT_THAT(All(*spool), testing::IsEmpty());
  EXPECT_EQ(spool->Stats().segments, 0u);
  EXPECT_EQ(*spool->Append(RecordClass::kBulk, Batch({"d"})), 4u);
}

TEST_F(SpoolTest, ALostSpoolGetsANewEpoch) {
  const std::uint64_t epoch = Open()->epoch();
  disk_.SetFiles({});
  EXPECT_NE(Open()->epoch(), epoch);
}

TEST_F(SpoolTest, RefusesWhatIsTooLarge) {
  options_.max_record_bytes = 10;
  auto spool = Open();
  EXPECT_EQ(spool->Append(RecordClass::kBulk, Batch({std::string(11, 'x')})).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spool->Append(RecordClass::kBulk, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(spool->Append(RecordClass::kBulk, Batch({std::string(10, 'x')})).ok());
}

TEST_F(SpoolTest, OneProcessASpool) {
  char folder[] = "/tmp/spool_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string directory = absl::StrCat(folder, "/spool");
  auto clock = [] { return std::int64_t{1}; };
  auto first = Spool::Open(directory, options_, clock);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE((*first)->Append(RecordClass::kBulk, Batch({"a"})).ok());
  const auto second = Spool::Open(directory, options_, clock);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat("in use by process ", getpid())));
  first->reset();
  auto third = Spool::Open(directory, options_, clock);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_THAT(All(**third), testing::ElementsAre("1 b:a"));
}

TEST_F(SpoolTest, ThreadsShareCommits) {
  auto spool = Open();
  constexpr int kThreads = 8;
  constexpr int kEach = 200;
  absl::Mutex mutex;
  std::uint64_t appended = 0;  // under the mutex; as many numbers at least are there
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto record_class = i % 5 == 0 ? RecordClass::kCritical : RecordClass::kBulk;
        EXPECT_TRUE(spool->Append(record_class, Batch({absl::StrCat(t, "/", i)})).ok());
        absl::MutexLock lock(&mutex);
        ++appended;
      }
    });
  }
  std::map<std::string, int> next;
  std::uint64_t from = 1;
  while (from <= kThreads * kEach) {
    {
      absl::MutexLock lock(&mutex);
      const auto more = [&] { return appended >= from; };
      mutex.Await(absl::Condition(&more));
    }
    const auto entries = spool->Read(from, 1 << 20, 7);
    ASSERT_TRUE(entries.ok());
    ASSERT_FALSE(entries->empty());
    for (const SpoolEntry& entry : *entries) {
      ASSERT_FALSE(entry.is_gap()) << entry.sequence;
      const std::vector<std::string> parts = absl::StrSplit(entry.payload, '/');
      EXPECT_EQ(parts[1], absl::StrCat(next[parts[0]]++));
      from = entry.last_sequence + 1;
    }
    ASSERT_TRUE(spool->Acknowledge(from - 1).ok());
  }
  for (std::thread& thread : threads) thread.join();
  const auto rest = spool->Read(from, 1 << 20, 1);
  ASSERT_TRUE(rest.ok());
  EXPECT_TRUE(rest->empty());
}

}  // namespace
}  // namespace paritect
