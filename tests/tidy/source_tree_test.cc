#include "tests/tidy/source_tree.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect::tidy {
namespace {

TEST(CodeOnly, BlanksCommentsAndLiterals) {
  EXPECT_EQ(CodeOnly("a // {\n\"}\" '{' 1'000 /* } */ b"), "a     \n\" \" ' ' 1'000         b");
  EXPECT_EQ(CodeOnly("x = R\"d({)d\";"), "x =         ;");
  EXPECT_EQ(WithoutComments("\"a//b\" // c"), "\"a//b\"     ");
}

TEST(FunctionsOf, CountsLinesOfBodiesAtNamespaceAndClassLevel) {
  const auto functions = FunctionsOf(
      "namespace n {\n"
      "const Check kX = {\"}\"};\n"
      "struct S {\n"
      "  int Get() const { return 1; }\n"
      "};\n"
      "void Long(int a,\n"
      "          int b) {\n"
      "  if (a) {\n"
      "    b = 1;\n"
      "  }\n"
      "}\n"
      "}\n");
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].lines, 1);
  EXPECT_EQ(functions[1].line, 7);
  EXPECT_EQ(functions[1].lines, 5);
}

TEST(AllFiles, FindsTheSourcesAndLeavesTheBuildOut) {
  EXPECT_FALSE(TextOf("checks/check.h").empty());
  for (const SourceFile& file : AllFiles()) EXPECT_NE(TopFolder(file.path), "build") << file.path;
}

}  // namespace
}  // namespace paritect::tidy
