// A function fits on a screen and a file can be read in one sitting: limits, and no list of exceptions.
#include "gtest/gtest.h"
#include "tests/tidy/source_tree.h"

#include "absl/strings/match.h"

namespace paritect::tidy {
namespace {

constexpr int kFunctionLinesMax = 70;
constexpr int kFileLinesMax = 700;
constexpr std::size_t kLineBytesMax = 120;

TEST(TidySize, FunctionsAreShort) {
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file)) continue;
    for (const Function& function : FunctionsOf(file.text)) {
      EXPECT_LE(function.lines, kFunctionLinesMax) << file.path << ":" << function.line << function.name;
    }
  }
}

TEST(TidySize, FilesAreShort) {
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) && !absl::EndsWith(file.path, ".proto") && !absl::EndsWith(file.path, ".c")) continue;
    EXPECT_LE(std::count(file.text.begin(), file.text.end(), '\n'), kFileLinesMax) << file.path;
  }
}

// Columns, not bytes: a continuation byte of UTF-8 takes none. A literal that must be long may stand in a raw string.
TEST(TidySize, LinesAreShort) {
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file)) continue;
    std::size_t columns = 0;
    int line = 1;
    for (const char c : file.text) {
      if (c == '\n') {
        EXPECT_LE(columns, kLineBytesMax) << file.path << ":" << line;
        columns = 0;
        ++line;
      } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
        ++columns;
      }
    }
  }
}

TEST(TidySize, TextFilesEndWithALineEndAndHoldNoTabs) {
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file)) continue;
    EXPECT_TRUE(absl::EndsWith(file.text, "\n")) << file.path;
    EXPECT_FALSE(absl::StrContains(CodeOnly(file.text), "\t")) << file.path;
  }
}

}  // namespace
}  // namespace paritect::tidy
