#include "report/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/status_testing.h"
#include "report/json.h"

namespace paritect {
namespace {

OrderedJson Text(int i) {
  return {{"en", absl::StrCat("part-", i, " is cut off")}, {"zh", absl::StrCat("文件 part-", i, " 被截断 𝄞", i % 3)}};
}

OrderedJson Rows(int count) {
  OrderedJson rows = OrderedJson::array();
  for (int i = 0; i < count; ++i) {
    OrderedJson row = {
        {"severity", "error"}, {"subject", absl::StrCat("数据/part-", i, "é.bin")}, {"message", Text(i)}};
    if (i % 7 == 3) row["subject_b64"] = "/w==";
    row["facts"] = OrderedJson::object();
    if (i % 2 == 0) row["facts"]["total"] = i * 1.5;
    row["evidence"] = OrderedJson::array();
    for (int k = 0; k < i % 4; ++k) row["evidence"].push_back(absl::StrCat("npu.md5:", i + k));
    row["waived"] = i % 5 == 0 ? OrderedJson({{"by", "x"}}) : OrderedJson(nullptr);
    row["nodes"] = {"npu-1", absl::StrCat("npu-", i % 3)};
    row["mixed"] = i % 2 == 0 ? OrderedJson(i) : OrderedJson("x");
    rows.push_back(row);
  }
  return rows;
}

OrderedJson Unpacked(const OrderedJson& json) {
  const auto made = UnpackAll(json);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *made : OrderedJson();
}

TEST(PackRows, LosesNothing) {
  for (const int count : {0, 1, 15, 16, 17, 100, 1000}) {
    const OrderedJson rows = Rows(count);
    const OrderedJson packed = PackRows(rows);
    EXPECT_EQ(packed.is_object(), count >= 16);
    // Through text, as a file holds it; nested in what is not packed.
    const OrderedJson read = OrderedJson::parse(DumpJson({{"items", {{{"findings", packed}}}}}, -1), nullptr, false);
    EXPECT_EQ(Unpacked(read)["items"][0]["findings"], rows) << count;
  }
}

TEST(PackRows, SaysOnceWhatIsShared) {
  const std::size_t plain = DumpJson(Rows(1000), -1).size();
  EXPECT_LT(DumpJson(PackRows(Rows(1000)), -1).size() * 4, plain);
}

// Texts of every kind behind each other: what they share ends at a character, never within one.
TEST(PackRows, TextsShareWholeCharacters) {
  OrderedJson rows = OrderedJson::array();
  const std::string texts[] = {
      "",    "é",  "è",    "aé", "bé",   "𝄞",    "𝄟",      "𝄞𝄞", "\xe4\xb8\x80", "\xe4\xb8\x81", "\xe5\xb8\x81",
      "aaa", "aa", "aaaa", "a",  "x\"y", "x\ny", "\u2028", "",   "ab",           "aab",          "aabb",
      "b"};
  for (const std::string& text : texts) rows.push_back({{"text", text}});
  EXPECT_EQ(Unpacked(OrderedJson::parse(DumpJson(PackRows(rows), -1))), rows);
}

// Bytes that are no UTF-8 reach no report; were they there, they would be replaced as in every JSON.
TEST(PackRows, BytesThatAreNoTextAreReplacedAsElsewhere) {
  OrderedJson rows = OrderedJson::array();
  for (int i = 0; i < 20; ++i) rows.push_back({{"text", absl::StrCat("\xff", i, "\xc3")}});
  EXPECT_EQ(DumpJson(Unpacked(PackRows(rows))), DumpJson(rows));
}

TEST(PackRows, ListsOfOtherThingsStayAsTheyAre) {
  OrderedJson rows = Rows(20);
  rows.push_back(1);
  EXPECT_EQ(PackRows(rows), rows);
  EXPECT_EQ(PackRows("text"), OrderedJson("text"));
}

TEST(UnpackAll, RefusesWhatDoesNotFit) {
  for (
      const char* const text :
      {R"({"packed_rows": 3, "columns": 1})", R"({"packed_rows": -1, "columns": {}})", R"({"packed_rows": 3, "x": {}})",
       R"({"packed_rows": 1, "columns": {"a": {}}})", R"({"packed_rows": 1, "columns": {"a": {"plain": [1, 2]}}})",
       R"({"packed_rows": 2, "columns": {"a": {"of": [0, 7], "values": {"plain": [1]}}}})",
       R"({"packed_rows": 2, "columns": {"a": {"of": [0, 1], "values": {"plain": [1]}}}})",
       R"({"packed_rows": 1, "columns": {"a": {"texts": "\t5,0\nx"}}})",
       R"({"packed_rows": 1, "columns": {"a": {"texts": "\t0"}}})",
       R"({"packed_rows": 2, "columns": {"a": {"texts": "𝄞\n\t1,0\nx"}}})",
       R"({"packed_rows": 1, "columns": {"a": {"counts": {"all": 2}, "items": {"plain": [1]}}}})",
       R"({"packed_rows": 1, "columns": {"a": {"counts": {"all": 99999999999}, "items": {"all": 1}}}})",
       R"({"packed_rows": 2, "columns": {"a": {"runs": [0, 3], "present": {"all": 1}}}})",
       R"({"packed_rows": 2, "columns": {"a": {"runs": [1], "present": {"all": 1}}}})",
       R"({"packed_rows": 99999999999, "columns": {"a": {"all": 1}}})",
       R"({"packed_rows": 9000000, "columns": {"a": {"all": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}})"}) {
    const OrderedJson json = OrderedJson::parse(text, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << text;
    EXPECT_EQ(CodeOf(UnpackAll(json)), absl::StatusCode::kInvalidArgument) << text;
  }
}

// A short file that would become a long one.
TEST(UnpackAll, IsBounded) {
  const std::string texts = absl::StrCat(std::string(1000, 'x'), "\n\t1000,0", std::string(1000, '\n'));
  const OrderedJson json = {{"packed_rows", 1001U}, {"columns", {{"a", {{"texts", texts}}}}}};
  EXPECT_TRUE(UnpackAll(json).ok());
  EXPECT_EQ(CodeOf(UnpackAll(json, {.bytes = 500'000})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(UnpackAll(json, {.values = 1000})), absl::StatusCode::kInvalidArgument);
  OrderedJson deep = 1;
  for (int i = 0; i < 1000; ++i) deep = {{"columns", {{"a", deep}}}};
  EXPECT_EQ(CodeOf(UnpackAll({{"packed_rows", 1U}, {"columns", {{"a", deep}}}})), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paritect
