#include "common/duration.h"
#include "common/status_testing.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(ParseDuration, TakesWhatPeopleWrite) {
  EXPECT_EQ(*ParseDuration("90"), 90);
  EXPECT_EQ(*ParseDuration("90s"), 90);
  EXPECT_EQ(*ParseDuration("30m"), 1800);
  EXPECT_EQ(*ParseDuration("6h"), 21600);
  EXPECT_EQ(*ParseDuration("1d"), 86400);
  EXPECT_EQ(*ParseDuration("1h30m"), 5400);
}

TEST(ParseDuration, RefusesTheRest) {
  for (const char* bad : {"", "0", "0s", "-5s", "1.5h", "h", "5x", "1h30", "99999999999999999999", "400000000d"}) {
    EXPECT_EQ(CodeOf(ParseDuration(bad)), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(FormatDuration, GivesTwoUnits) {
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(45), "45s");
  EXPECT_EQ(FormatDuration(5400), "1h30m");
  EXPECT_EQ(FormatDuration(86400 + 61), "1d");
  EXPECT_EQ(FormatDuration(90061), "1d1h");
}

}  // namespace
}  // namespace paritect
