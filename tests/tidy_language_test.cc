// One language at a time, and one word a concept: what rules/data says in Chinese is Chinese, in the glossary's words.
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/language_testing.h"
#include "gtest/gtest.h"
#include "rules/rules.h"
#include "tests/tidy/source_tree.h"

namespace paritect::tidy {
namespace {

// Every pair of texts of the catalogue and the messages, by where it stands.
std::map<std::string, v1::Text> AllTexts() {
  std::map<std::string, v1::Text> texts;
  for (const auto& [id, entry] : BuiltInRules().messages.all()) {
    texts[id] = entry->message().text;
    texts[id + " (fix)"] = entry->message().fix;
  }
  for (const CatalogueItem& item : BuiltInRules().catalogue.items) {
    texts[item.id] = item.title;
    texts[item.id + " (about)"] = item.about;
    for (const CatalogueCheck& check : item.checks) {
      texts[check.id] = check.title;
      texts[check.id + " (asks)"] = check.asks;
      texts[check.id + " (rule)"] = check.rule;
      texts[check.id + " (fix)"] = check.fix;
    }
  }
  return texts;
}

// The last column of docs/glossary.zh.md: words that no Chinese text uses, with the term to use.
std::map<std::string, std::string> WordsNotUsed() {
  std::map<std::string, std::string> words;
  for (absl::string_view line : absl::StrSplit(TextOf("docs/glossary.zh.md"), '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    if (cells.size() != 6 || cells[1].find("---") != absl::string_view::npos) continue;
    for (absl::string_view word : absl::StrSplit(absl::StripAsciiWhitespace(cells[4]), "、", absl::SkipEmpty())) {
      if (word != "不用") words[std::string(word)] = std::string(absl::StripAsciiWhitespace(cells[1]));
    }
  }
  return words;
}

TEST(TidyLanguage, NoSentenceOfTheOtherLanguage) {
  for (const auto& [where, text] : AllTexts()) {
    EXPECT_EQ(EnglishSentenceIn(text.zh()), "") << where;
    EXPECT_FALSE(HoldsChinese(text.en())) << where << ": " << text.en();
  }
}

TEST(TidyLanguage, OneTermAConcept) {
  const std::map<std::string, std::string> not_used = WordsNotUsed();
  EXPECT_GT(not_used.size(), 20u);
  for (const auto& [where, text] : AllTexts()) {
    for (const auto& [word, term] : not_used) {
      EXPECT_EQ(text.zh().find(word), std::string::npos) << where << ": use " << term << " in place of " << word;
    }
  }
}

TEST(TidyLanguage, ASentenceIsToldFromNames) {
  EXPECT_EQ(EnglishSentenceIn("给出 global batch size，或 Loss Scale"), "");
  EXPECT_EQ(EnglishSentenceIn("中止：“Minimum loss scale reached by this run”"), "");
  EXPECT_EQ(EnglishSentenceIn("原因：no script below it was seen to train"), "no script below it was seen to train");
}

}  // namespace
}  // namespace paritect::tidy
