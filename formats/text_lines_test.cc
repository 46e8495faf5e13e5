#include "formats/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Lines(absl::string_view bytes, std::size_t chunk = 1 << 20,
                               TextEncoding encoding = TextEncoding::kUtf8) {
  std::vector<std::string> out;
  TextLines lines(encoding);
  auto sink = [&](const TextLine& line) {
    std::string shown = absl::StrCat(line.number, line.ended ? ":" : "!", line.text);
    if (line.after_hole) shown += "<hole";
    if (line.too_long) shown = absl::StrCat(line.number, " too long");
    out.push_back(shown);
  };
  for (std::size_t at = 0; at < bytes.size(); at += chunk) lines.Feed(bytes.substr(at, chunk), sink);
  lines.Finish(sink);
  return out;
}

TEST(TextLines, EndsLinesAtLfCrAndBackspace) {
  EXPECT_THAT(Lines("a\nb\r\nc\rd\b\b\be\n\nf"), ElementsAre("1:a", "2:b", "3:c", "3:d", "3:e", "5!f"));
}

TEST(TextLines, TakesOutEscapesAndByteOrderMark) {
  EXPECT_THAT(Lines("\xEF\xBB\xBFstep \x1b[31m1\x1b[0m\x1b]0;title\a loss\n"), ElementsAre("1:step 1 loss"));
}

TEST(TextLines, ReadsUtf16AndGbk) {
  const std::string utf16("\xFF\xFEs\0t\0\n\0\x16\x4E\n\0", 12);
  EXPECT_EQ(DetectTextEncoding(utf16), TextEncoding::kUtf16Le);
  EXPECT_THAT(Lines(utf16, 1, TextEncoding::kUtf16Le), ElementsAre("1:st", "2:\xE4\xB8\x96"));
  EXPECT_THAT(Lines("\xCB\xF0\xCA\xA7 loss: 2.5\n"), ElementsAre("1:\xE6\x8D\x9F\xE5\xA4\xB1 loss: 2.5"));
}

TEST(TextLines, GuessesUtf16WithoutMarkOnlyFromText) {
  std::string wide;
  for (char c : std::string("step 1 loss 2.5, step 2 loss 2.4")) wide += std::string(1, c) + '\0';
  EXPECT_EQ(DetectTextEncoding(wide), TextEncoding::kUtf16Le);
  EXPECT_EQ(DetectTextEncoding(std::string(4096, '\0')), TextEncoding::kUtf8);
}

TEST(TextLines, CutsLinesAtHoles) {
  const std::string text = "a\nbcd" + std::string(10000, '\0') + "ef\ng\n";
  EXPECT_THAT(Lines(text), ElementsAre("1:a", "2!bcd", "2:ef<hole", "3:g"));
  TextLines lines;
  lines.Feed(text, [](const TextLine&) {});
  EXPECT_EQ(lines.nul_bytes(), 10000);
  EXPECT_EQ(lines.longest_hole(), 10000);
  EXPECT_EQ(lines.first_hole_line(), 2);
}

TEST(TextLines, AHoleBetweenLinesCutsNone) {
  EXPECT_THAT(Lines("a\n" + std::string(300, '\0') + "b\n"), ElementsAre("1:a", "2:b"));
}

TEST(TextLines, BoundsTheLength) {
  const std::string fine(60000, 'x');
  EXPECT_THAT(Lines(fine + "\n" + std::string(kTextLineBytesMax + 1, 'y') + "\nz\n", 4096),
              ElementsAre("1:" + fine, "2 too long", "3:z"));
}

TEST(TextLines, ChunkBordersChangeNothing) {
  const std::string text =
      "one\r\ntw\xC3\xB6 \x1b[1mbold\x1b[0m\n\bthree\b\b" + std::string(9, '\0') + "four\n\xCB\xF0 five\nsix";
  const std::vector<std::string> whole = Lines(text);
  for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) EXPECT_EQ(Lines(text, chunk), whole) << chunk;
}

}  // namespace
}  // namespace paritect
