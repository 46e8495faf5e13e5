#include "formats/python/plain_code.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

std::string Plain(const std::string& source) {
  const SyntaxTree tree = ParsePython(source);
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree[id].kind == Syntax::kFunction || tree[id].kind == Syntax::kClass) return PlainCode(tree, id);
  }
  return "none";
}

TEST(PlainCode, IsTheSameInOtherWords) {
  const std::string plain = Plain("def f(x, size=3):\n    y = x / 255.0\n    return g(y, 'a', k=size)\n");
  EXPECT_EQ(plain, Plain("def scaled(image, n=3):   # to [0, 1]\n  \"\"\"Scales.\"\"\"\n  out = image / 255.\n\n"
                         "  return g(out,\n           \"a\", k = n)\n"));
  EXPECT_EQ(plain, Plain("def f(x: Tensor, size: int = 3) -> Tensor:\n    y: Tensor = x / 255.0\n"
                         "    return g(y, 'a', k=size)\n"));
  EXPECT_EQ(Plain("class A(B):\n    '''Doc.'''\n    def f(self, x):\n        return self.scale * x\n"),
            Plain("class A(B):\n    def f(self, value: int) -> int:\n        return self.scale*value\n"));
}

TEST(PlainCode, IsAnotherWhereAnythingElseIs) {
  const std::string plain = Plain("def f(x, y):\n    if x:\n        y = 1\n        x = 2\n    return x - y\n");
  for (const char* other : {"def f(x, y):\n    if x:\n        y = 1\n    x = 2\n    return x - y\n",
                            "def f(x, y):\n    if x:\n        y = 1\n        x = 2\n    return y - x\n",
                            "def f(x, y):\n    if x:\n        y = 1.0\n        x = 2\n    return x - y\n",
                            "def f(x, y):\n    if z:\n        y = 1\n        x = 2\n    return x - y\n",
                            "def f(y, x):\n    if x:\n        y = 1\n        x = 2\n    return x - y\n"}) {
    EXPECT_NE(plain, Plain(other)) << other;
  }
  EXPECT_NE(Plain("def f(x):\n    return x['a b']\n"), Plain("def f(x):\n    return x['ab']\n"));
  EXPECT_NE(Plain("def f(x):\n    return g(x, k=1)\n"), Plain("def f(x):\n    return g(x, j=1)\n"));
  EXPECT_NE(Plain("def f(x):\n    return x.mean()\n"), Plain("def f(x):\n    return x.sum()\n"));
}

}  // namespace
}  // namespace paritect
