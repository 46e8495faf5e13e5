#include "report/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/nearest.h"
#include "common/utf8.h"
#include "report/language.h"

namespace paritect {
namespace {

using testing::ElementsAre;

std::map<std::string, std::string>& Environment() {
  static auto& environment = *new std::map<std::string, std::string>();
  return environment;
}
std::string FakeGetEnv(absl::string_view name) {
  return Environment()[std::string(name)];
}

TEST(TerminalSafe, DisarmsWhatATerminalObeys) {
  EXPECT_EQ(TerminalSafe("a\x1b[31mred\nb"), "a\\x1B[31mred\\x0Ab");
  EXPECT_EQ(TerminalSafe("\xff\xfe"), "\\xFF\\xFE");
  EXPECT_EQ(TerminalSafe("\xc2\x9b"
                         "31m"),
            "\\xC2\\x9B31m");  // C1 control sequence introducer
  EXPECT_EQ(TerminalSafe("a\xe2\x80\xae"
                         "b"),
            "a\\xE2\\x80\\xAEb");  // right-to-left override
  EXPECT_EQ(TerminalSafe("数据 ok"), "数据 ok");
}

TEST(Shorten, CountsCjkAsTwoColumns) {
  EXPECT_EQ(Shorten("abcdef", 6, false), "abcdef");
  EXPECT_EQ(Shorten("abcdef", 5, false), "abcd…");
  EXPECT_EQ(Shorten("abcdef", 5, true), "ab...");
  EXPECT_EQ(Shorten("数据集一致", 6, false), "数据…");
  EXPECT_LE(DisplayWidth(Shorten("数据集一致", 6, false)), 6u);
}

TEST(Pad, FillsToColumns) {
  EXPECT_EQ(Pad("通过", 6), "通过  ");
  EXPECT_EQ(Pad("not performed", 4), "not performed");
}

TEST(Wrap, BreaksAtBlanksAndBetweenCjk) {
  EXPECT_THAT(Wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrap("", 7), ElementsAre(""));
  EXPECT_THAT(Wrap("abcdefghij", 4), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(Wrap("训练数据集不完整", 8), ElementsAre("训练数据", "集不完整"));
  EXPECT_THAT(Wrap("数据，集", 4), ElementsAre("数", "据，", "集"));  // a comma does not begin a line
  EXPECT_THAT(Wrap("检查 rank 次序", 9), ElementsAre("检查 rank", "次序"));
}

TEST(ChooseColour, FollowsOptionThenEnvironmentThenTerminal) {
  Environment().clear();
  EXPECT_TRUE(*ChooseColour("auto", true, &FakeGetEnv));
  EXPECT_FALSE(*ChooseColour("auto", false, &FakeGetEnv));
  Environment()["NO_COLOR"] = "1";
  EXPECT_FALSE(*ChooseColour("auto", true, &FakeGetEnv));
  EXPECT_TRUE(*ChooseColour("always", false, &FakeGetEnv));
  EXPECT_TRUE(absl::IsInvalidArgument(ChooseColour("red", true, &FakeGetEnv).status()));
}

TEST(Language, ComesFromOptionThenEnvironment) {
  Environment().clear();
  EXPECT_EQ(LanguageFromEnvironment(&FakeGetEnv), Language::kEnglish);
  Environment()["LANG"] = "zh_CN.UTF-8";
  EXPECT_EQ(LanguageFromEnvironment(&FakeGetEnv), Language::kChinese);
  EXPECT_TRUE(LocaleIsUtf8(&FakeGetEnv));
  Environment()["LC_ALL"] = "C";
  EXPECT_EQ(LanguageFromEnvironment(&FakeGetEnv), Language::kEnglish);
  EXPECT_FALSE(LocaleIsUtf8(&FakeGetEnv));
  EXPECT_THAT(*ChooseLanguages("zh,en", &FakeGetEnv), ElementsAre(Language::kChinese, Language::kEnglish));
  for (const char* word : {"zh_CN", "zh-CN", "zh_CN.UTF-8", "ZH"}) {
    EXPECT_THAT(*ChooseLanguages(word, &FakeGetEnv), ElementsAre(Language::kChinese)) << word;
  }
  EXPECT_THAT(*ChooseLanguages("en_US,zh_CN", &FakeGetEnv), ElementsAre(Language::kEnglish, Language::kChinese));
  for (const char* bad : {"de", "en,", "en,en", "en,zh,en", "english"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ChooseLanguages(bad, &FakeGetEnv).status())) << bad;
  }
}

TEST(NearestWord, FindsTypingErrorsAndTails) {
  const std::vector<std::string> known = {"data.dataset", "data.sharding", "data.dataset.content",
                                          "data.dataset.files"};
  EXPECT_EQ(NearestWord("data.datset", known), "data.dataset");
  EXPECT_EQ(NearestWord("content", known), "data.dataset.content");
  EXPECT_EQ(NearestWord("unrelated", known), "");
  EXPECT_EQ(NearestWord("", known), "");
  EXPECT_EQ(DidYouMean("data.shardin", known), "; did you mean 'data.sharding'?");
}

}  // namespace
}  // namespace paritect
