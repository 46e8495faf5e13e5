#include "rules/phrases.h"

#include <gtest/gtest.h>

#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

Phrases Of(const std::string& yaml) {
  auto root = ParseDocument(yaml);
  EXPECT_TRUE(root.ok());
  auto phrases = Phrases::Read(*root);
  EXPECT_TRUE(phrases.ok()) << phrases.status();
  return *std::move(phrases);
}

TEST(Phrases, TheEmbeddedOnesAreOfTheirForm) {
  for (const char* name : {"phrases.yaml", "value_phrases.yaml"}) {
    auto root = ReadRulesDocument(BytesOfRules(name));
    ASSERT_TRUE(root.ok()) << root.status();
    EXPECT_TRUE(Phrases::Read(*root).ok()) << name << ": " << Phrases::Read(*root).status();
  }
  EXPECT_EQ(BuiltInPhrases().InChinese("print this help"), "打印此帮助");
}

TEST(Phrases, FillsPlaceholdersAndSaysPhrasesWithinThem) {
  const Phrases phrases = Of(
      "phrases:\n"
      "  - {en: \"a plan\", zh: \"计划\"}\n"
      "  - {en: \"unknown key '{key}' in {where}\", zh: \"{where}中没有键“{key}”\"}\n"
      "  - {en: \"unknown key '{key}' in {where}; did you mean '{word}'?\", "
      "zh: \"{where}中没有键“{key}”；是否为“{word}”？\"}\n");
  EXPECT_EQ(phrases.InChinese("unknown key 'log' in a plan; did you mean 'logs'?"),
            "计划中没有键“log”；是否为“logs”？");
}

TEST(Phrases, OfSeveralTheOneWithTheMostWordsOfItsOwn) {
  const Phrases phrases = Of(
      "phrases:\n"
      "  - {en: \"{path}: {why}\", zh: \"{path}：{why}\"}\n"
      "  - {en: \"{path}: not there\", zh: \"{path}不存在\"}\n");
  EXPECT_EQ(phrases.InChinese("a.yaml: not there"), "a.yaml不存在");
}

TEST(Phrases, ANumberBeginsWithADigit) {
  const Phrases phrases = Of("phrases:\n  - {en: \"{number} of {number_all}\", zh: \"{number}，共 {number_all}\"}\n");
  EXPECT_EQ(phrases.InChinese("1.2 GB of 3 GB"), "1.2 GB，共 3 GB");
  EXPECT_EQ(phrases.InChinese("run 3 of audit a"), "run 3 of audit a");
}

TEST(Phrases, WhatHasNoPhraseStaysAsItIs) {
  EXPECT_EQ(BuiltInPhrases().InChinese("something else\nof two lines"), "something else\nof two lines");
  EXPECT_EQ(BuiltInPhrases().InChinese(""), "");
}

TEST(Phrases, OtherPlaceholdersInTheTwoLanguagesAreRefused) {
  auto root = ParseDocument("phrases:\n  - {en: \"a {b}\", zh: \"一 {c}\"}\n");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(Phrases::Read(*root).status().message(), "2:5: `en` and `zh` have other placeholders");
}

}  // namespace
}  // namespace paritect
