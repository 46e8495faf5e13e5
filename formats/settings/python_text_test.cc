#include "formats/settings/python_text.h"

#include "gtest/gtest.h"

namespace paritect {
namespace {

TEST(PythonText, CommentsBecomeBlanksAndPositionsStay) {
  EXPECT_EQ(WithoutPythonComments("a = 1  # b = 2\nc"), "a = 1         \nc");
  EXPECT_EQ(WithoutPythonComments("a = '# no' # yes"), "a = '# no'      ");
  EXPECT_EQ(WithoutPythonComments("a = '\\' # in'"), "a = '\\' # in'");
}

TEST(PythonText, TextsInThreeQuotesBecomeBlanks) {
  EXPECT_EQ(WithoutPythonComments("\"\"\"x = 1\ny\"\"\"z"), "        \n    z");
  EXPECT_EQ(WithoutPythonComments("'''never closed\n"), "               \n");
}

// A quote left open ends with its line: one odd apostrophe does not hide the rest of a file.
TEST(PythonText, AnOpenQuoteEndsWithItsLine) {
  EXPECT_EQ(WithoutPythonComments("a = 'x\nb # c"), "a = 'x\nb    ");
}

}  // namespace
}  // namespace paritect
