#include "rules/message_pattern.h"

#include <gtest/gtest.h>

#include "common/document.h"

namespace paritect {
namespace {

class MessagePatternTest : public ::testing::Test {
 protected:
  MessagePatternTest() {
    const auto root = ParseDocument(
        "plain: {en: \"no names (a+b)\", zh: \"无\"}\n"
        "named: {en: \"{count|file|files} of {side}: {what}, see {side}\", zh: \"{side} {what} {count|个|个}\","
        " fix: {en: \"give {key}\", zh: \"给 {key}\"}}\n"
        "odd: {en: \"{Not} {} {a\", zh: \"无\"}\n");
    EXPECT_EQ(messages_.Add(*root, false), absl::OkStatus());
  }

  bool Matches(absl::string_view id, absl::string_view text, absl::string_view fix = "", const MessageArgs& args = {}) {
    return MessagePattern(messages_, id, args).Matches(text, fix);
  }

  Messages messages_;
};

TEST_F(MessagePatternTest, ATextWithoutPlaceholdersIsItself) {
  EXPECT_TRUE(Matches("plain", "no names (a+b)"));
  EXPECT_FALSE(Matches("plain", "no names (a+b) "));
  EXPECT_FALSE(Matches("plain", "no names (aab)"));
  EXPECT_FALSE(Matches("plain", "no names (a+b)", "a remedy"));
  EXPECT_TRUE(Matches("odd", "{Not} {} {a"));
}

TEST_F(MessagePatternTest, PlaceholdersStandForAnything) {
  EXPECT_TRUE(Matches("named", "3 files of gpu: lost\nand, see me, see gpu", "give all"));
  EXPECT_TRUE(Matches("named", " of : , see ", "give "));
  EXPECT_FALSE(Matches("named", "3 files of gpu: lost", "give all"));
  EXPECT_FALSE(Matches("named", "3 files of gpu: lost, see", "give all"));
  EXPECT_FALSE(Matches("named", "3 files of gpu: lost, see npu", "take all"));
}

TEST_F(MessagePatternTest, OnesThatAreFilledDoNot) {
  const MessageArgs args = {{"key", "scripts"}, {"what", "a"}};
  EXPECT_TRUE(Matches("named", "1 file of gpu: a, see gpu", "give scripts", args));
  EXPECT_FALSE(Matches("named", "1 file of gpu: b, see gpu", "give scripts", args));
  EXPECT_FALSE(Matches("named", "1 file of gpu: a, see gpu", "give logs", args));
}

// What begins and what ends a text may not be the same bytes.
TEST_F(MessagePatternTest, PiecesDoNotOverlap) {
  const auto root = ParseDocument("ab: {en: \"aba{x}ba\", zh: \"{x}\"}");
  EXPECT_EQ(messages_.Add(*root, false), absl::OkStatus());
  EXPECT_FALSE(Matches("ab", "aba"));
  EXPECT_TRUE(Matches("ab", "ababa"));
}

}  // namespace
}  // namespace paritect
