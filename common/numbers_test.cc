#include "common/numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paritect {
namespace {

TEST(ParseDouble, AllSpellingsOfOneValue) {
  for (const char* text : {"1e-4", "0.0001", "1.0E-4", "1.0E-04", "+1e-4", " .0001 ", "1.e-4"}) {
    ASSERT_TRUE(ParseDouble(text).has_value()) << text;
    EXPECT_DOUBLE_EQ(*ParseDouble(text), 1e-4) << text;
  }
}

TEST(ParseDouble, RefusesWhatIsNoNumber) {
  for (const char* text : {"", " ", "1,5", "0x10", "1e", "--1", "+-1", "1 2", "nano", "infinite", "e5", "1_000"}) {
    EXPECT_FALSE(ParseDouble(text).has_value()) << text;
  }
}

TEST(ParseDouble, NonFiniteAndOutOfRange) {
  EXPECT_TRUE(std::isnan(*ParseDouble("NaN")));
  EXPECT_EQ(*ParseDouble("-Infinity"), -HUGE_VAL);
  EXPECT_EQ(*ParseDouble("1e999"), HUGE_VAL);
  EXPECT_EQ(*ParseDouble("1e-999"), 0.0);
}

TEST(ParseDoubleWithCommas, OnlyThousands) {
  EXPECT_EQ(*ParseDoubleWithCommas("12,345.5"), 12345.5);
  EXPECT_EQ(*ParseDoubleWithCommas("1,234,567"), 1234567);
  EXPECT_FALSE(ParseDoubleWithCommas("1,5").has_value());
  EXPECT_FALSE(ParseDoubleWithCommas("1234,567").has_value());
  EXPECT_FALSE(ParseDoubleWithCommas(",123").has_value());
}

TEST(FormatDouble, RoundTrips) {
  EXPECT_EQ(FormatDouble(256), "256");
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(NAN), "nan");
  EXPECT_EQ(FormatDouble(-INFINITY), "-inf");
}

TEST(PrintResolution, HalfAUnitOfTheLastDigit) {
  EXPECT_DOUBLE_EQ(PrintResolution("2.345E-01"), 0.00005);
  EXPECT_DOUBLE_EQ(PrintResolution("9.876"), 0.0005);
  EXPECT_DOUBLE_EQ(PrintResolution("12"), 0.5);
  EXPECT_EQ(PrintResolution("nan"), 0);
}

}  // namespace
}  // namespace paritect
