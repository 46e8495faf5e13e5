#include "server/agent_says.h"

#include <limits>

#include "common/utf8.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(AgentSays, CountsCanBeReckonedWith) {
  EXPECT_EQ(PlausibleCount(kLeast), 0);
  EXPECT_EQ(PlausibleCount(-1), 0);
  EXPECT_EQ(PlausibleCount(7), 7);
  EXPECT_EQ(PlausibleCount(kMost), std::int64_t{1} << 53);
  v1::SpoolState spool;
  spool.set_bytes(kLeast);
  spool.set_records(kMost);
  EXPECT_EQ(Plausible(spool).bytes(), 0);
  EXPECT_LT(Plausible(spool).records(), kMost / 1000);
}

TEST(AgentSays, ClocksAreOfYearsThatCanBeWritten) {
  EXPECT_EQ(PlausibleClock(0), 0) << "none was told";
  EXPECT_EQ(PlausibleClock(kLeast), 1);
  EXPECT_EQ(PlausibleClock(kMost), 253'402'300'799'999);
  EXPECT_EQ(PlausibleClock(1'800'000'000'000), 1'800'000'000'000);
}

// Cut within a character it would be no text any more, and no watcher could read the message.
TEST(AgentSays, TextsAreALineOfWholeCharacters) {
  v1::TaskProgress told;
  std::string text = "x";
  for (int i = 0; i < 10'000; ++i) text += "检";
  told.set_stage(text);
  told.set_current("\x1b[2J" + text);
  told.set_task_id(text);
  told.set_bytes_total(kLeast);
  const v1::TaskProgress taken = Plausible(told);
  for (const std::string& one : {taken.stage(), taken.current(), taken.task_id()}) {
    EXPECT_TRUE(IsValidUtf8(one)) << one;
    EXPECT_LT(one.size(), 4200u);
    EXPECT_EQ(one.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(taken.bytes_total(), 0);
  v1::TaskProgress plain;
  plain.set_task_id("a.1.b0");
  plain.set_stage("datasets");
  EXPECT_EQ(Plausible(plain).task_id(), "a.1.b0");
  EXPECT_EQ(Plausible(plain).stage(), "datasets");
}

}  // namespace
}  // namespace paritect
