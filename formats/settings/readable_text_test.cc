#include "formats/settings/readable_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

std::string Utf16(absl::string_view text) {
  std::string out = "\xFF\xFE";
  for (char c : text) {
    out.push_back(c);
    out.push_back('\0');
  }
  return out;
}

// "format key=value ... !note" of the first document, or the error.
std::string Read(absl::string_view text, absl::string_view kind = "") {
  const auto documents = ReadSettings(text, "f", kind);
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].format();
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, " ", one.raw_key(), "=", ValueToText(one.value()));
  }
  for (const v1::Note& note : (*documents)[0].notes()) absl::StrAppend(&out, " !", note.kind(), ":", note.line());
  return out;
}

TEST(ReadableText, GbkCommentsAndStrayBytesAreReadAndNoted) {
  EXPECT_EQ(Read("# \xD1\xA7\xCF\xB0\xC2\xCA\nlr: 0.1\nname: x\n"), "yaml lr=0.1 name=x !not_utf8:1");
  EXPECT_EQ(Read("{\"lr\": 0.1, \"name\": \"caf\xE9\"}"), "json lr=0.1 name=caf\xEF\xBF\xBD !not_utf8:1");
  EXPECT_EQ(Read("torch==2.1.0\n# \xFF\xFF\nnumpy==1.26\n"),
            "packages package.torch=2.1.0 package.numpy=1.26 !not_utf8:2");
  EXPECT_EQ(Read("# \xB2\xE2\xCA\xD4\n[optimizer]\nlr = 0.1\n"), "toml optimizer.lr=0.1 !not_utf8:1");
  EXPECT_EQ(Read("A=1\nB=\xFF\xFE!\nC=2\n", "environment"),
            "environment A=1 B=\xEF\xBF\xBD\xEF\xBF\xBD! C=2 !not_utf8:2");
  EXPECT_EQ(Read("#!/bin/bash\n# \xB2\xE2\xCA\xD4\npython a.py --lr 1\n"),
            "launch-script launch.command=python launch.entry=a.py launch.alone=python a.py lr=1 !not_utf8:2");
  EXPECT_THAT(Read("\xB2\xE2\xCA\xD4\n---- arguments ----\n  lr .... 1\n- end of arguments -\n"),
              HasSubstr("megatron-args lr=1"));
}

// A GBK pair may begin in a byte of another character set and take the quote behind it along.
TEST(ReadableText, AGuessThatBreaksTheSyntaxIsGivenUp) {
  EXPECT_EQ(Read("{\"lr\": 0.1, \"a\": {\"b\": \"\xE9\"}, \"c\": [\"\xE9]\", 1]}"),
            "json lr=0.1 a.b=\xEF\xBF\xBD c=[\xEF\xBF\xBD], 1] !not_utf8:1");
}

TEST(ReadableText, MarksAndUtf16) {
  EXPECT_EQ(Read("\xEF\xBB\xBFlr: 0.1\nb: 2\n"), "yaml lr=0.1 b=2");
  EXPECT_EQ(Read("\xEF\xBB\xBF#!/bin/bash\r\npython a.py --lr 1\r\n"),
            "launch-script launch.command=python launch.entry=a.py launch.alone=python a.py lr=1");
  EXPECT_EQ(Read("\xEF\xBB\xBF[a]\nb = 1\n"), "toml a.b=1");
  EXPECT_EQ(Read("\xEF\xBB\xBFtorch==2.1.0\r\n"), "packages package.torch=2.1.0");
  EXPECT_EQ(Read(Utf16("torch==2.1.0\r\nnumpy==1.26\r\n")),
            "packages package.torch=2.1.0 package.numpy=1.26 !not_utf8:1");
}

TEST(ReadableText, BinaryFilesAreLeftAlone) {
  const std::string zip("PK\x03\x04\xFF\xFE", 6);
  EXPECT_EQ(ReadableText(zip, StrayBytes::kGbk).view(), zip);
  EXPECT_TRUE(ReadableText(zip, StrayBytes::kGbk).note().empty());
}

}  // namespace
}  // namespace paritect
