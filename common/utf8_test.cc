#include "common/utf8.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(Utf8, ValidAndInvalid) {
  EXPECT_TRUE(IsValidUtf8("caf\xC3\xA9 \xE4\xB8\xAD"));
  EXPECT_FALSE(IsValidUtf8("\xC3"));              // cut
  EXPECT_FALSE(IsValidUtf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(IsValidUtf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(IsValidUtf8("\xF4\x90\x80\x80"));  // above U+10FFFF
}

TEST(Utf8, DisplayShowsWhatIsNotText) {
  EXPECT_EQ(DisplayBytes("a\xFF\n\xE4\xB8\xAD"), "a\\xFF\\x0A\xE4\xB8\xAD");
  EXPECT_EQ(DisplayBytes(""), "");
}

TEST(Utf8, Normalisation) {
  EXPECT_EQ(*NormalizeNfc("e\xCC\x81"), "\xC3\xA9");
  EXPECT_FALSE(NormalizeNfc("\xFF").has_value());
  EXPECT_EQ(FoldCase("Straße"), FoldCase("STRASSE"));
  EXPECT_EQ(FoldCase("\xFF"), "\xFF");
}

TEST(Utf8, WidthOfWideAndCombining) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("\xE9\x80\x9A\xE8\xBF\x87"), 4u);  // two CJK characters
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1u);
  EXPECT_EQ(TruncateToWidth("\xE9\x80\x9A\xE8\xBF\x87", 3), "\xE9\x80\x9A");
}

TEST(Utf8, DecodesGbk) {
  EXPECT_EQ(*DecodeCharset("\xD6\xD0\xCE\xC4", "GBK"), "中文");
  EXPECT_FALSE(DecodeCharset("\xFF\xFF", "GBK").has_value());
  EXPECT_FALSE(DecodeCharset("a", "NO-SUCH-CHARSET").has_value());
}

// C1 controls, overrides of direction, marks and line separators: a terminal or a reader obeys them.
TEST(Utf8, WhatIsObeyedIsShown) {
  for (const char* text :
       {"\u009b31m", "\u0085", "a\u202eb", "\u2066x\u2069", "\u200f", "\u061c", "\u2028", "\ufeff"}) {
    const std::string shown = DisplayBytes(text);
    EXPECT_EQ(DisplayBytes(shown), shown);
    EXPECT_EQ(shown.find(text), std::string::npos) << shown;
    EXPECT_NE(shown.find("\\x"), std::string::npos) << shown;
    EXPECT_EQ(JsonText(text), text);  // JSON loses nothing ...
  }
  EXPECT_EQ(JsonEscapes("{\"a\": \"x\u202ey\u009bz\u6570\"}"),
            "{\"a\": \"x\\u202ey\\u009bz\u6570\"}");  // ... and obeys nothing
  EXPECT_EQ(DisplayBytes("数据 é \u200b"), "数据 é \u200b");
}

}  // namespace
}  // namespace paritect
