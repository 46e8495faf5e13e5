// Help and mistakes in the user's language.
#include "client/localise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command.h"
#include "client/localised_lines.h"
#include "common/arguments.h"
#include "common/language_testing.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;

class LocaliseTest : public testing::Test {
 protected:
  // Both streams, as a user of a Chinese locale sees them.
  std::string Call(const std::vector<std::string>& args) {
    std::ostringstream out;
    CommandEnv env = {.fs = fs_,
                      .out = out,
                      .err = out,
                      .rules = BuiltInRules(),
                      .host_name = "here",
                      .today = "2026-06-15",
                      .getenv = [](absl::string_view n) { return std::string(n == "LANG" ? "zh_CN.UTF-8" : ""); }};
    (void)RunCommandLine(env, args);
    return out.str();
  }

  MemoryFileSystem fs_;
};

void ExpectChinese(const std::string& text, const std::string& of) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_EQ(EnglishSentenceIn(line), "") << of << ": " << line;
  }
}

TEST_F(LocaliseTest, HelpOfEveryCommandAndVerbIsChinese) {
  ExpectChinese(Call({"help"}), "paritect help");
  int verbs = 0;
  for (const Command* command : AllCommands()) {
    const std::string name(command->name);
    ExpectChinese(Call({name, "--help"}), name);
    for (absl::string_view line : absl::StrSplit(Call({name, std::string(kListOptions)}), '\n', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(line, '\t');
      if (absl::StartsWith(parts[0], "-") || absl::StrContains(parts[0], ' ')) continue;
      ++verbs;
      ExpectChinese(Call({name, parts[0], "--help"}), absl::StrCat(name, " ", parts[0]));
    }
  }
  EXPECT_GT(verbs, 15);
}

TEST_F(LocaliseTest, MistakesAreChineseAndKeepTheirPlace) {
  EXPECT_THAT(Call({"chek"}), HasSubstr("没有命令“chek”；是否为“check”？"));
  EXPECT_THAT(Call({"check"}), HasSubstr("没有给出训练"));
  EXPECT_THAT(Call({"check", "--baseline", "/a", "--item", "data.datasett"}), HasSubstr("没有该检查项；是否为“data.dataset”？"));
  fs_.AddFile("/a/plan.yaml", "run: a\nlog: [x]\n");
  EXPECT_THAT(Call({"check", "--baseline", "/a"}), HasSubstr("/a/plan.yaml:2:1: 计划中没有键“log”"));
}

TEST_F(LocaliseTest, LangOverTheEnvironmentBeforeAndBehindTheVerb) {
  const auto english = [](absl::string_view) { return std::string(); };
  EXPECT_EQ(LanguageOfCommandLine({"check", "--lang", "zh"}, english), Language::kChinese);
  EXPECT_EQ(LanguageOfCommandLine({"--lang=zh", "check"}, english), Language::kChinese);
  EXPECT_EQ(LanguageOfCommandLine({"run", "--", "--lang", "zh"}, english), Language::kEnglish);
  const auto chinese = [](absl::string_view) { return std::string("zh_CN.UTF-8"); };
  EXPECT_EQ(LanguageOfCommandLine({"check"}, chinese), Language::kChinese);
  EXPECT_EQ(LanguageOfCommandLine({"check", "--lang", "en"}, chinese), Language::kEnglish);
}

// Every command takes it, also one that has no use for it; what stands behind `--` is another program's.
TEST_F(LocaliseTest, HowThingsAreShownMayBeSaidBehindAnyVerb) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{{"version", "--lang", "en"},
                                                                                    {"version", "--lang=en"},
                                                                                    {"version", "--color", "never"},
                                                                                    {"--lang", "en", "version"}}) {
    EXPECT_EQ(Call(args), Call({"version"})) << args[1];
  }
  EXPECT_THAT(Call({"node", "ls", "--lang", "en", "--stat", "x"}), HasSubstr("--stat"));
  EXPECT_THAT(Call({"diff", "settings", "a", "b", "--lang", "xx"}), HasSubstr("xx")) << "a command that uses it looks";
}

// What a command writes piece by piece is turned line by line; who says it and the place in a file stay.
TEST(LocalisedLinesTest, WholeLinesAreTurned) {
  std::ostringstream out;
  out << std::unitbuf;
  {
    const LocalisedLines lines(Language::kChinese, out);
    out << "paritect manifest: "
        << "no digest "
        << "on one side"
        << "\n";
    out << "/a/plan.yaml:2:1: "
        << "`run` must be a text"
        << "\n{\"event\": \"no digest on one side\"}\n";
    out << "\r50 %" << std::flush;
    EXPECT_THAT(out.str(), HasSubstr("\r50 %")) << "a bar is drawn at once";
    out << "\n"
        << "no digest on one side";
  }
  EXPECT_EQ(
      out.str(),
      "paritect manifest: 一侧没有摘要\n/a/plan.yaml:2:1: `run` 须为文本\n{\"event\": \"no digest on one side\"}\n"
      "\r50 %\nno digest on one side");
  out << "no digest on one side\n";
  EXPECT_THAT(out.str(), HasSubstr("one sideno digest on one side\n")) << "behind it the stream is as before";
}

TEST_F(LocaliseTest, NamesOfOptionsStay) {
  const std::string help = Call({"check", "--help"});
  EXPECT_THAT(help, HasSubstr("--migrated TEXT"));
  EXPECT_THAT(help, HasSubstr("用法：paritect check [选项]"));
  EXPECT_THAT(help, Not(HasSubstr("OPTIONS")));
}

}  // namespace
}  // namespace paritect
