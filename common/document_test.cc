#include "common/document.h"
#include "common/status_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(absl::string_view text) {
  auto node = ParseDocument(text);
  return node.ok() ? "" : std::string(node.status().message());
}

TEST(ParseDocument, YamlKeepsPositionsAndQuotes) {
  auto root = ParseDocument("a: 1\nb:\n  - x\n  - \"2\"\n");
  ASSERT_TRUE(root.ok()) << root.status();
  const DocumentNode* b = root->Find("b");
  ASSERT_NE(b, nullptr);
  ASSERT_EQ(b->items.size(), 2u);
  EXPECT_EQ(b->items[1].line, 4);
  EXPECT_EQ(b->items[1].column, 5);
  EXPECT_TRUE(b->items[1].quoted);
  EXPECT_FALSE(root->Find("a")->quoted);
}

TEST(ParseDocument, JsonKeepsPositionsAndSpelling) {
  auto root = ParseDocument("{\n \"lr\": 1.50e-04,\n \"n\": [1, true, null, \"x\\ud83d\\ude00\"]\n}\n");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->Find("lr")->text, "1.50e-04");
  EXPECT_EQ(root->Find("lr")->line, 2);
  EXPECT_EQ(root->Find("lr")->column, 8);
  EXPECT_EQ(root->fields[0].first.column, 2);
  EXPECT_EQ(root->Find("n")->items[1].text, "true");
  EXPECT_TRUE(root->Find("n")->items[2].is_null());
  EXPECT_EQ(root->Find("n")->items[3].text, "x\xF0\x9F\x98\x80");
  EXPECT_EQ(root->Find("n")->items[3].line, 3);
}

TEST(ParseDocument, PythonsNonFiniteNumbers) {
  auto root = ParseDocument("{\"a\": NaN, \"b\": -Infinity, \"c\": \"NaN\"}");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->Find("a")->text, "NaN");
  EXPECT_FALSE(root->Find("a")->quoted);
  EXPECT_EQ(root->Find("b")->text, "-Infinity");
  EXPECT_TRUE(root->Find("c")->quoted);
}

TEST(ParseDocument, RefusesWithAPosition) {
  EXPECT_THAT(ErrorOf("a: 1\nb: 2\na: 3\n"), HasSubstr("3:1: key 'a' stands twice"));
  EXPECT_THAT(ErrorOf("{\"a\": 1,\n \"a\": 2}"), HasSubstr("2:2: key 'a' stands twice"));
  EXPECT_THAT(ErrorOf("a: 1\nb\xFF: 2\n"), HasSubstr("2:2: bytes that are not UTF-8"));
  EXPECT_THAT(ErrorOf("a: [1, 2\n"), HasSubstr(": "));
  EXPECT_THAT(ErrorOf(std::string(100, '[') + std::string(100, ']')), HasSubstr("nested deeper"));
  auto bad_json = ParseJson("{\"a\": 1,\n ]}");
  EXPECT_THAT(std::string(bad_json.status().message()), HasSubstr("2:2: not valid JSON"));
  EXPECT_THAT(ErrorOf("a: 1\n---\nb: 2\n"), HasSubstr("more than one"));
}

TEST(ParseDocument, AliasBombIsBounded) {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string(1, c) + ": &" + std::string(1, c) + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i ? "," : "") + "*" + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("too many values"));
}

TEST(ParseDocument, MergeKeysGiveWayToOwnKeys) {
  auto root = ParseDocument("base: &b {lr: 1, wd: 2}\nrun:\n  <<: *b\n  lr: 3\n");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->Find("run")->Find("lr")->text, "3");
  EXPECT_EQ(root->Find("run")->Find("wd")->text, "2");
}

TEST(ParseDocument, EmptyIsNull) {
  auto root = ParseDocument("");
  ASSERT_TRUE(root.ok());
  EXPECT_TRUE(root->is_null());
}

TEST(ParseYaml, AMapsOwnKeyBeatsAMergedOneOnce) {
  const auto root = ParseYaml("base: &b {a: 1, c: 3}\nuse:\n  <<: *b\n  a: 2\n");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->Find("use")->Find("a")->text, "2");
  EXPECT_EQ(root->Find("use")->Find("c")->text, "3");
  EXPECT_EQ(root->Find("use")->fields.size(), 2u);
  EXPECT_EQ(CodeOf(ParseYaml("base: &b {a: 1}\nuse:\n  <<: *b\n  a: 2\n  a: 3\n")), absl::StatusCode::kInvalidArgument);
}

// Each value costs the same, however many there are in one map or one line; else this takes hours.
TEST(ParseJson, ManyKeysInOneLine) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) absl::StrAppend(&text, "\"k", i, "\": 1, ");
  const auto root = ParseJson(text + "\"end\": 1}");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->fields.size(), 300'001u);
  EXPECT_EQ(root->fields.back().first.line, 1);
  EXPECT_EQ(root->fields.back().first.column, static_cast<int>(text.size()) + 1);
}

TEST(ParseYaml, ManyKeysInOneMap) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) absl::StrAppend(&text, "k", i, ": 1\n");
  const auto root = ParseYaml(text);
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->fields.size(), 300'000u);
}

}  // namespace
}  // namespace paritect
