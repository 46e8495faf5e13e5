#include "rules/prepared_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

constexpr absl::string_view kYaml =
    "list: [1, \"2\", ~, {a: b}]\n"
    "text: |\n"
    "  two\n"
    "  lines\n"
    "tagged: !!python/tuple [x]\n"
    "中文: 值\n"
    "nothing:\n";

void ExpectSame(const DocumentNode& a, const DocumentNode& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.quoted, b.quoted);
  EXPECT_EQ(a.tag, b.tag);
  EXPECT_EQ(a.line, b.line);
  EXPECT_EQ(a.column, b.column);
  ASSERT_EQ(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) ExpectSame(a.items[i], b.items[i]);
  ASSERT_EQ(a.fields.size(), b.fields.size());
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    ExpectSame(a.fields[i].first, b.fields[i].first);
    ExpectSame(a.fields[i].second, b.fields[i].second);
  }
}

TEST(PreparedDocument, HoldsWhatTheYamlHolds) {
  const auto parsed = ParseDocument(kYaml);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto read = ReadRulesDocument(PrepareDocument(*parsed));
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(*parsed, *read);
}

TEST(PreparedDocument, OtherBytesAreYaml) {
  const auto read = ReadRulesDocument("a: b\n");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Find("a")->text, "b");
  EXPECT_THAT(std::string(ReadRulesDocument("a: [\n").status().message()), HasSubstr(":"));
}

std::string FieldsOf(absl::string_view bytes, absl::Status& status) {
  std::string out;
  status = ForEachPreparedField(bytes, [&](absl::string_view key, absl::string_view node) {
    const auto value = ReadPreparedNode(node);
    if (!value.ok()) return value.status();
    absl::StrAppend(&out, key, "@", value->line, " ");
    return absl::OkStatus();
  });
  return out;
}

TEST(PreparedDocument, FieldsCanBeReadOneByOne) {
  const std::string whole = PrepareDocument(*ParseDocument(kYaml));
  absl::Status status;
  EXPECT_EQ(FieldsOf(whole, status), "list@1 text@2 tagged@5 中文@6 nothing@8 ");
  EXPECT_EQ(status, absl::OkStatus());
  const auto list = ForEachPreparedField(whole, [](absl::string_view, absl::string_view node) {
    const auto value = ReadPreparedNode(node);
    return absl::AlreadyExistsError(absl::StrCat(value->items.size()));
  });
  EXPECT_EQ(list, absl::AlreadyExistsError("4"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    FieldsOf(whole.substr(0, size), status);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
  }
  FieldsOf(whole + "x", status);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  FieldsOf(PrepareDocument(*ParseDocument("[1]")), status);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(PreparedDocument, OneThatIsCutOrGoesOnIsRefused) {
  const std::string whole = PrepareDocument(*ParseDocument(kYaml));
  const std::size_t mark = whole.find('\n') + 1;
  for (std::size_t size = mark; size < whole.size(); ++size) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadRulesDocument(whole.substr(0, size)).status())) << size;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ReadRulesDocument(whole + "x").status()));
}

// Counts and sizes beyond what follows must not be believed, and nothing may go deeper than a parsed document.
TEST(PreparedDocument, DamagedOnesAreReadOrRefused) {
  const std::string whole = PrepareDocument(*ParseDocument(kYaml));
  const std::size_t mark = whole.find('\n') + 1;
  int refused = 0;
  for (std::size_t at = mark; at < whole.size(); ++at) {
    for (const char byte : {'\0', '\x03', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = byte;
      refused += ReadRulesDocument(damaged).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 0);
  std::string deep = whole.substr(0, mark);
  for (int i = 0; i < 1000; ++i) deep += std::string("\x02\x01\x01\x01", 4);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadRulesDocument(deep + std::string(5000, '\0')).status()));
}

// What the programs hold is what stands in the source.
TEST(PreparedDocument, EmbeddedFilesKeepTheirPlaces) {
  ASSERT_FALSE(EmbeddedRules().empty());
  for (const RulesFile& file : EmbeddedRules()) {
    const auto root = ReadRulesDocument(file.bytes);
    ASSERT_TRUE(root.ok()) << file.name << ": " << root.status();
    ASSERT_TRUE(root->is_map()) << file.name;
    ASSERT_FALSE(root->fields.empty()) << file.name;
    EXPECT_GE(root->fields.front().first.line, 1) << file.name;
  }
}

}  // namespace
}  // namespace paritect
