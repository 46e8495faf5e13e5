#include "agent/harmless.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "absl/time/clock.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

// Priorities are a thread's, so that a thread of its own can be made harmless without harm to the other tests.
TEST(Harmless, LowersTheThreadAndWhatItStarts) {
  std::thread([] {
    EXPECT_THAT(BecomeHarmless(), ::testing::IsEmpty());
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 19);
    std::thread([] {
      EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 19);
      EXPECT_EQ(syscall(SYS_ioprio_get, 1, 0) >> 13, 3) << "the idle class";
    }).join();
  }).join();
}

TEST(Harmless, ReadsBandwidths) {
  EXPECT_EQ(*ParseBandwidth("200M"), 200u << 20);
  EXPECT_EQ(*ParseBandwidth(" 200 MiB "), 200u << 20);
  EXPECT_EQ(*ParseBandwidth("200mb"), 200'000'000u);
  EXPECT_EQ(*ParseBandwidth("1.5K"), 1536u);
  EXPECT_EQ(*ParseBandwidth("1G"), 1u << 30);
  EXPECT_EQ(*ParseBandwidth("65536"), 65536u);
  EXPECT_EQ(*ParseBandwidth("0"), 0u);
  EXPECT_EQ(*ParseBandwidth("none"), 0u);
  for (const char* bad : {"", "M", "fast", "200X", "-5M", "1e9", "200MM", "1..5M", "3", "nan", "9999999T"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseBandwidth(bad).status())) << bad;
  }
}

// A clock that only sleeping moves.
class FakeTime {
 public:
  BandwidthLimit::Clock Seam() {
    return {[this] { return now_; }, [this](absl::Duration time) { now_ += time; }};
  }
  void Pass(absl::Duration time) { now_ += time; }
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
};

TEST(Harmless, TheRateHoldsOverTime) {
  FakeTime time;
  BandwidthLimit limit(1 << 20, time.Seam());
  const absl::Time start = time.now_;
  for (int i = 0; i < 1000; ++i) limit.Take(64 << 10);
  const double seconds = absl::ToDoubleSeconds(time.now_ - start);
  EXPECT_NEAR(seconds, 1000.0 * (64 << 10) / (1 << 20), 0.26);
}

TEST(Harmless, APauseSavesLittle) {
  FakeTime time;
  BandwidthLimit limit(1000, time.Seam());
  time.Pass(absl::Hours(1));
  const absl::Time start = time.now_;
  limit.Take(250);
  EXPECT_EQ(time.now_, start);
  limit.Take(1000);
  EXPECT_NEAR(absl::ToDoubleSeconds(time.now_ - start), 1.0, 1e-6);
}

TEST(Harmless, AClockSetBackNeitherGivesNorHangs) {
  FakeTime time;
  BandwidthLimit limit(1000, time.Seam());
  time.Pass(-absl::Hours(1));
  limit.Take(100);
  const absl::Time start = time.now_;
  limit.Take(1000);
  EXPECT_LT(time.now_ - start, absl::Seconds(2));
}

TEST(Harmless, NoLimitNeverWaits) {
  FakeTime time;
  BandwidthLimit limit(0, time.Seam());
  limit.Take(1ull << 50);
  EXPECT_EQ(time.now_, absl::FromUnixSeconds(1'000'000));
}

TEST(Harmless, EveryByteReadCounts) {
  MemoryFileSystem memory;
  memory.AddFile("/data/a", std::string(300'000, 'x'));
  FakeTime time;
  BandwidthLimit limit(100'000, time.Seam());
  LimitedFileSystem fs(memory, limit);
  const absl::Time start = time.now_;
  auto bytes = ReadWholeFile(fs, "/data/a", 1 << 20);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->size(), 300'000u);
  EXPECT_NEAR(absl::ToDoubleSeconds(time.now_ - start), 2.75, 0.01);
  EXPECT_TRUE(absl::IsNotFound(fs.Open("/data/b").status()));
}

TEST(Harmless, ThreadsShareTheRate) {
  BandwidthLimit limit(4 << 20);
  const absl::Time start = absl::Now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 8; ++j) limit.Take(64 << 10);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // 2 MiB at 4 MiB a second, of which a quarter of a second's bytes are free.
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(240));
}

}  // namespace
}  // namespace paritect
