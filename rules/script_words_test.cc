#include "rules/script_words.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

absl::StatusOr<ScriptWords> Read(const std::string& text) {
  const auto document = ParseDocument(text);
  EXPECT_TRUE(document.ok()) << text;
  return document.ok() ? ReadScriptWords(*document) : document.status();
}

std::string Refusal(const std::string& text) {
  const auto words = Read(text);
  return words.ok() ? "read" : std::string(words.status().message());
}

TEST(ScriptWords, ComparedFactsAreReadWhole) {
  const auto words = Read(
      "compared:\n"
      "  - {check: a.b, kind: clip, passed_over: [parameters], across: {norm: [max_norm, clip_norm]}}\n"
      "  - {check: a.c, kind: seed, arguments: [seed], by_value: true}\n");
  ASSERT_TRUE(words.ok()) << words.status();
  ASSERT_EQ(words->compared.size(), 2u);
  const ComparedFacts& clip = words->compared[0];
  EXPECT_EQ(clip.check, "a.b");
  EXPECT_EQ(clip.kind, "clip");
  EXPECT_EQ(clip.passed_over, std::vector<std::string>{"parameters"});
  EXPECT_EQ(clip.across.at("norm").size(), 2u);
  EXPECT_FALSE(clip.by_value);
  EXPECT_EQ(words->compared[1].arguments, std::vector<std::string>{"seed"});
  EXPECT_TRUE(words->compared[1].by_value);
}

TEST(ScriptWords, WhatATrainingHasOneOf) {
  const auto words = Read("made:\n  - {check: a.b, kind: schedule, passed_over: [optimizer]}\n");
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_TRUE(words->compared.empty());
  EXPECT_EQ(words->MadeOf("schedule").passed_over, std::vector<std::string>{"optimizer"});
  EXPECT_EQ(words->MadeOf("optimizer").kind, "optimizer");
  EXPECT_TRUE(words->MadeOf("optimizer").passed_over.empty());
  for (const char* kind : {"schedule", "optimizer"})
    EXPECT_FALSE(BuiltInScriptWords().MadeOf(kind).passed_over.empty()) << kind;
}

TEST(ScriptWords, WhatIsNoComparisonIsRefusedWithItsPlace) {
  const char* const kBad[] = {
      "compared: [{kind: clip}]",
      "compared: [{check: a.b}]",
      "compared: [{check: '', kind: clip}]",
      "compared: [{check: a.b, kind: ''}]",
      "compared: [{check: [a.b], kind: clip}]",
      "compared: [{check: a.b, kind: {clip: 1}}]",
      "compared: [{check: a.b, kind: clip, arguments: max_norm}]",
      "compared: [{check: a.b, kind: clip, arguments: ['']}]",
      "compared: [{check: a.b, kind: clip, arguments: [[max_norm]]}]",
      "compared: [{check: a.b, kind: clip, passed_over: {a: b}}]",
      "compared: [{check: a.b, kind: clip, by_value: perhaps}]",
      "compared: [{check: a.b, kind: clip, by_value: [true]}]",
      "compared: [{check: a.b, kind: clip, across: [max_norm]}]",
      "compared: [{check: a.b, kind: clip, across: {norm: max_norm}}]",
      "compared: [{check: a.b, kind: clip, across: {norm: ['']}}]",
      "compared: [{check: a.b, kind: clip, argument: [max_norm]}]",
      "compared: [clip]",
      "compared: clip",
      "compared: {check: a.b, kind: clip}",
      "made: [{kind: schedule}]",
      "made: schedule",
      "comparing: []",
  };
  for (const char* text : kBad) {
    const std::string refusal = Refusal(text);
    EXPECT_TRUE(absl::StartsWith(refusal, "1:")) << text << ": " << refusal;
  }
}

TEST(ScriptWords, ListsOfWordsAreListsOfWords) {
  for (absl::string_view list : {"told", "moves", "shows", "libraries", "own_modules"}) {
    EXPECT_EQ(Refusal(absl::StrCat(list, ": [a, b]")), "read") << list;
    for (absl::string_view bad : {"a", "{a: b}", "[[a]]", "['']"}) {
      EXPECT_NE(Refusal(absl::StrCat(list, ": ", bad)), "read") << list << " " << bad;
    }
  }
  EXPECT_EQ(Refusal("devices: {npu: cuda}"), "read");
  EXPECT_NE(Refusal("devices: {npu: [cuda]}"), "read");
  EXPECT_NE(Refusal("devices: [npu]"), "read");
}

TEST(ScriptWords, TheEmbeddedWordsSayAllThatTheyCompare) {
  const ScriptWords& words = BuiltInScriptWords();
  EXPECT_FALSE(words.compared.empty());
  for (const ComparedFacts& one : words.compared) EXPECT_TRUE(words.told.contains(one.kind)) << one.kind;
  EXPECT_TRUE(words.libraries.contains("torch"));
}

}  // namespace
}  // namespace paritect
