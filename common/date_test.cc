#include "common/date.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(Date, DaysThatExist) {
  for (const char* day : {"2026-12-31", "2024-02-29", "2000-02-29", "0001-01-01"}) EXPECT_TRUE(IsDate(day)) << day;
  for (const char* none :
       {"", "zzzz", "zzzz-zz-zz", "2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "2026-1-1",
        " 2026-01-01", "2026-01-01 ", "2026-01-01T00:00:00Z", "+026-01-01"}) {
    EXPECT_FALSE(IsDate(none)) << none;
  }
}

}  // namespace
}  // namespace paritect
