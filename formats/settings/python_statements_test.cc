#include "formats/settings/python_statements.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

// "line:text" of each statement, "?" behind what may run, "-" behind what never does; chain and branch in brackets.
std::string Told(const std::string& text) {
  const PythonStatements source = ReadPythonStatements(text);
  std::string out;
  for (const PythonStatement& one : source.statements) {
    const absl::string_view head = source.tree.TextOf(one.node);
    absl::StrAppend(&out, out.empty() ? "" : " | ", source.tree[one.node].line, ":", head.substr(0, head.find(":\n")));
    if (one.reach == PythonReach::kMaybe) absl::StrAppend(&out, " ?");
    if (one.reach == PythonReach::kNever) absl::StrAppend(&out, " -");
    if (one.chain >= 0) absl::StrAppend(&out, "[", one.chain, ".", one.branch, "]");
  }
  return out;
}

TEST(PythonStatements, OverSeveralLines) {
  EXPECT_EQ(Told("a = (1,\n     2)\nb = 3; c = 4\nd = \\\n  5\n"),
            "1:a = (1,\n     2) | 3:b = 3 | 3:c = 4 | 4:d = \\\n  5");
  EXPECT_EQ(Told("a = 'x(' + \"[\"\nb = 1\n"), "1:a = 'x(' + \"[\" | 2:b = 1");
  EXPECT_EQ(Told(""), "");
}

TEST(PythonStatements, ConditionsDecideWhatRuns) {
  EXPECT_EQ(Told("if x:\n  a = 1\nelif y:\n  a = 2\nelse:\n  a = 3\nb = 1\n"),
            "1:x | 2:a = 1 ?[0.0] | 3:y | 4:a = 2 ?[0.1] | 6:a = 3 ?[0.2] | 7:b = 1");
  EXPECT_EQ(Told("if False:\n  a = 1\nelse:\n  a = 2\n"), "1:False | 2:a = 1 - | 4:a = 2");
  EXPECT_EQ(Told("if True: a = 1\nelse: a = 2\n"), "1:True | 1:a = 1 | 2:a = 2 -");
  EXPECT_EQ(Told("if not False:\n  a = 1\nif __name__ == '__main__':\n  b = 1\n"),
            "1:not False | 2:a = 1 | 3:__name__ == '__main__' | 4:b = 1");
  EXPECT_EQ(Told("AMP = False\nif AMP:\n  a = 1\n"), "1:AMP = False | 2:AMP | 3:a = 1 -");
  EXPECT_EQ(Told("if x:\n  if y:\n    a = 1\n  b = 1\n"), "1:x | 2:y ?[0.0] | 3:a = 1 ? | 4:b = 1 ?[0.0]");
  EXPECT_EQ(Told("def f():\n  a = 1\nfor i in x:\n  b = 1\ntry:\n  c = 1\nexcept E:\n  d = 1\n"),
            "1:def f() | 2:a = 1 | 3:for i in x | 4:b = 1 | 5:try | 6:c = 1 | 7:except E ? | 8:d = 1 ?");
}

TEST(PythonStatements, ChainsWithoutElseNeedNotRun) {
  EXPECT_EQ(ReadPythonStatements("if x:\n  a = 1\nelif y:\n  a = 1\n").branches, std::vector<int>{0});
  EXPECT_EQ(ReadPythonStatements("if x:\n  a = 1\nelse:\n  a = 1\n").branches, std::vector<int>{2});
}

TEST(PythonStatements, NamesOfOneLiteral) {
  const auto literals = [](const std::string& text) {
    std::string out;
    const PythonStatements source = ReadPythonStatements(text);
    for (const auto& [name, value] : source.literals) absl::StrAppend(&out, name, "=", source.tree.TextOf(value), ";");
    return out;
  };
  EXPECT_EQ(literals("A = 'x'\nB: str = \"y\"\nC = 2**16\nD = f()\nE = A + 'x'\nF = {'k': 1}\nG = 'a' 'b'\n"),
            "A='x';B=\"y\";C=2**16;F={'k': 1};");
  // Assigned twice, in a function, as a parameter, by a loop, with an operator, in two at once: no.
  EXPECT_EQ(literals("A = 1\nA = 2\n"), "");
  EXPECT_EQ(literals("A = 1\ndef f():\n  global A\n  A = 2\n"), "");
  EXPECT_EQ(literals("A = 1\ndef f(A): pass\n"), "");
  EXPECT_EQ(literals("A = 1\nfor A in x: pass\n"), "");
  EXPECT_EQ(literals("A = 1\nA += 1\n"), "");
  EXPECT_EQ(literals("A = 1\nA, b = f()\n"), "");
  EXPECT_EQ(literals("A = 1\nif (A := 2): pass\n"), "");
  EXPECT_EQ(literals("if x:\n  A = 1\n"), "");
  // A use is no assignment.
  EXPECT_EQ(literals("A = 1\nx.A = 2\nf(A=3)\ny[A] = A\n"), "A=1;");
}

TEST(PythonStatements, WholeLiteralsOnly) {
  for (const char* yes : {"1", "-1e-4", "'a'", "b'a'", "True", "[1, 'a']", "{'a': {'b': 2}}", "2**32", "0x10", "()"})
    EXPECT_TRUE(IsPythonLiteral(yes)) << yes;
  for (const char* no :
       {"", "a", "'a' if x else 'b'", "'a' + 'b'", "f'a{b}'", "f()", "[a]", "1 + x", "'", "'a", "{**a}"})
    EXPECT_FALSE(IsPythonLiteral(no)) << no;
}

TEST(PythonStatements, ImportsAndObjectsHaveFullNames) {
  const std::string text =
      "import torch.backends.cudnn as cudnn\nfrom torch import npu\nopts = npu_device.global_options()\n";
  const PythonStatements source = ReadPythonStatements(text);
  EXPECT_EQ(FullPythonName(source, "cudnn.allow_tf32"), "torch.backends.cudnn.allow_tf32");
  EXPECT_EQ(FullPythonName(source, "npu.matmul.allow_hf32"), "torch.npu.matmul.allow_hf32");
  EXPECT_EQ(FullPythonName(source, "opts.precision_mode"), "npu_device.global_options().precision_mode");
  EXPECT_EQ(FullPythonName(source, "other.x"), "other.x");
}

TEST(PythonStatements, HostileTextEnds) {
  std::string text;
  for (int i = 0; i < 2'000; ++i) text += "f((((((\n";
  for (int i = 0; i < 2'000; ++i) text += "\\'\\'";
  EXPECT_FALSE(ReadPythonStatements(text).statements.empty());
  (void)ReadPythonStatements(std::string(100'000, '('));
  (void)ReadPythonStatements("import a as b\nimport b as a\nb.c = 1\n");
}

}  // namespace
}  // namespace paritect
