#include "checks/scripts/shapes.h"

#include "gtest/gtest.h"

namespace paritect {
namespace {

using Constants = std::vector<std::pair<std::string, std::string>>;

TEST(OtherConstants, AreTheNumbersInWhichTwoExpressionsDiffer) {
  EXPECT_EQ(OtherConstants("ce(out) + 0.4 * aux(out)", "ce(out)+0.5*aux(out)"), (Constants{{"0.4", "0.5"}}));
  EXPECT_EQ(OtherConstants("a.mul_(0.99.).add_(b,alpha=1e-3)", "a.mul_(0.9.).add_(b,alpha=1e-2)"),
            (Constants{{"0.99", "0.9"}, {"0.001", "0.01"}}));
}

TEST(OtherConstants, SayNothingOfWhatIsWrittenInAnotherWay) {
  EXPECT_FALSE(OtherConstants("0.5 * loss", "0.50 * loss"));         // the same number
  EXPECT_FALSE(OtherConstants("0.5 * loss", "loss / 2"));            // the same in other words
  EXPECT_FALSE(OtherConstants("0.5 * loss", "weight * loss"));       // a number against a name
  EXPECT_FALSE(OtherConstants("0.5 * loss", "0.4 * loss + extra"));  // and more besides
  EXPECT_FALSE(OtherConstants("f(x[0])", "f(x[1])"));                // another part of a sample
  EXPECT_FALSE(OtherConstants("f('0.1')", "f('0.2')"));              // in a text
  EXPECT_FALSE(OtherConstants("conv1(x)", "conv2(x)"));              // in a name
  EXPECT_FALSE(OtherConstants("f(each of loader(32))", "f(each of loader(64))"));
  EXPECT_FALSE(OtherConstants("", ""));
  EXPECT_FALSE(OtherConstants("x[0", "x["));
}

TEST(TurnsOf, IsToldByConstantsAlone) {
  EXPECT_EQ(TurnsOf("range(90)"), 90);
  EXPECT_EQ(TurnsOf("range(1, 91)"), 90);
  for (const char* over : {"range(option:epochs)", "range(0,90,2)", "range(9,0)", "range()", "range", "loader", "",
                           "range(1e3)", "range(-9223372036854775807,9223372036854775807)"}) {
    EXPECT_FALSE(TurnsOf(over)) << over;
  }
}

TEST(AddConstants, TakesNumbersAndOptions) {
  std::multiset<std::string> constants;
  AddConstants("(0.5*f(each of loader(32)[0]))+option:alpha*2", constants);
  EXPECT_EQ(constants, (std::multiset<std::string>{"0.5", "2", "option alpha"}));
}

}  // namespace
}  // namespace paritect
