#include "formats/logs/machinery/log_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paritect {
namespace {

using Kind = LogNumber::Kind;

double Value(absl::string_view text) {
  const LogNumber number = ReadLogNumber(text);
  EXPECT_EQ(number.kind, Kind::kValue) << text;
  return number.value;
}

TEST(LogNumbers, ReadsEverySpelling) {
  EXPECT_EQ(Value(" 2.5 lr"), 2.5);
  EXPECT_EQ(Value("1.5E+03|"), 1500);
  EXPECT_EQ(Value("12,345.5 x"), 12345.5);
  EXPECT_EQ(Value("1_000"), 1000);
  EXPECT_EQ(Value("+2.5"), 2.5);
  EXPECT_EQ(Value(".5,"), .5);
  EXPECT_EQ(Value("7. Then"), 7);
  EXPECT_EQ(Value("3.25. Current"), 3.25);
  EXPECT_EQ(Value("0x1.8p2"), 6);
  EXPECT_EQ(Value("tensor(1.25, device='npu:3')"), 1.25);
  EXPECT_EQ(Value("np.float64(0.5)"), .5);
  EXPECT_EQ(Value("Tensor(shape=[], dtype=Float32, value= 10.5)"), 10.5);
  EXPECT_EQ(Value("[9.5/ 9.9]"), 9.5);
  EXPECT_EQ(Value("'0.25', 'x': 1"), .25);
  EXPECT_EQ(Value("0.75 (nan)"), .75);
  EXPECT_EQ(Value("4e-324"), 4e-324);
}

TEST(LogNumbers, MarksBetweenGroupsOfThree) {
  EXPECT_EQ(Value("1'234.5 x"), 1234.5);
  EXPECT_EQ(Value("12'345'678"), 12345678);
  EXPECT_EQ(Value("-1'234e2"), -123400);
  EXPECT_EQ(Value("'1.5', 'x'"), 1.5);
  for (absl::string_view text : {"1'23", "1'2345", "1'234'5", "1.5'000", "1234'567"}) {
    EXPECT_EQ(ReadLogNumber(text).kind, Kind::kRefused) << text;
  }
}

TEST(LogNumbers, Shares) {
  const auto share = [](absl::string_view text) { return ReadLogShare(text); };
  EXPECT_DOUBLE_EQ(share("9912/10000 (99%)").value, 0.9912);
  EXPECT_FALSE(share("9912/10000 (99%)").percent);
  EXPECT_EQ(share("9912/10000 (99%)").text, "9912/10000");
  EXPECT_TRUE(share("76.1%").percent);
  EXPECT_TRUE(share("76.1 %").percent);
  EXPECT_TRUE(share("76.1\xEF\xBC\x85").percent);
  EXPECT_EQ(share("0.5/0.6").value, 0.5);
  EXPECT_EQ(share("5/3").value, 5);  // no share
  EXPECT_FALSE(share("0.761 (0.75)").percent);
}

TEST(LogNumbers, WholeNumbers) {
  EXPECT_EQ(WholeLogNumber(12), 12);
  for (const double odd : {1.5, 1e19, -1e300, std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_EQ(WholeLogNumber(odd), std::nullopt);
  }
}

TEST(LogNumbers, KnowsNanAndInfinity) {
  for (absl::string_view text : {"nan", "NaN", "-nan", "nan(ind)", "-nan(ind)", "-1.#IND", "1.#QNAN"}) {
    EXPECT_TRUE(std::isnan(Value(text))) << text;
  }
  for (absl::string_view text : {"inf", "Infinity.", "1.#INF", "1e999"}) EXPECT_EQ(Value(text), INFINITY) << text;
  EXPECT_EQ(Value("-Infinity"), -INFINITY);
}

TEST(LogNumbers, MissingIsNotZero) {
  for (absl::string_view text : {"", "N/A", "null", "None", " lr: 1e-4", "-"}) {
    EXPECT_EQ(ReadLogNumber(text).kind, Kind::kMissing) << text;
  }
}

TEST(LogNumbers, RefusesWhatIsAmbiguous) {
  for (absl::string_view text : {"2,3", "1.234,5", "2.3.4", "2.3e", "--2",
                                 "\xE2\x88\x92"
                                 "1.5",
                                 "\xEF\xBC\x91\xEF\xBC\x92"}) {
    EXPECT_EQ(ReadLogNumber(text).kind, Kind::kRefused) << text;
  }
  EXPECT_EQ(ReadLogNumber("2ss=2.2").kind, Kind::kSpliced);
}

TEST(LogNumbers, GivesTheResolution) {
  EXPECT_DOUBLE_EQ(ReadLogNumber("2.4977").resolution, 0.5e-4);
  EXPECT_DOUBLE_EQ(ReadLogNumber("9.876543E+00").resolution, 0.5e-6);
  EXPECT_DOUBLE_EQ(ReadLogNumber("9.87E-02 |").resolution, 0.5e-4);
  EXPECT_DOUBLE_EQ(ReadLogNumber("9.87E+03 |").resolution, 5);
  EXPECT_DOUBLE_EQ(ReadLogNumber("17").resolution, 0.5);
  EXPECT_EQ(ReadLogNumber("nan").resolution, 0);
}

}  // namespace
}  // namespace paritect
