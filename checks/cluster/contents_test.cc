#include <gtest/gtest.h>

#include "checks/datasets/fixture.h"
#include "checks/settings/fixture.h"

namespace paritect {
namespace {

v1::Bundle Revision(const std::string& node, const std::string& revision) {
  const KeysAndTexts values = revision.empty() ? KeysAndTexts{{"lr", "1"}} : KeysAndTexts{{"git.commit", revision}};
  return NodeOf("npu", node, "atlas-a2", "pytorch", {Arguments("json", values)});
}

std::string Code(std::vector<v1::Bundle> nodes) {
  return Verdict("cluster.consistency.code", {}, std::move(nodes));
}

TEST(NodeContents, CodeByRevision) {
  const std::string revision = "0123456789abcdef0123456789abcdef01234567";
  EXPECT_EQ(Code({Revision("n1", revision), Revision("n2", "0123456"), Revision("n3", revision)}), "pass");
  EXPECT_EQ(Code({Revision("n1", revision), Revision("n2", "fedcba9"), Revision("n3", revision)}),
            "fail: code_differs code_revision");
  EXPECT_EQ(Code({Revision("n1", revision), Revision("n2", "")}), "not_performed: !n2");
  EXPECT_EQ(Code({Revision("n1", ""), Revision("n2", "")}), "not_performed: !n1, !n2");
  EXPECT_EQ(Code({Revision("n1", revision)}), "not_performed: !npu");
}

v1::Bundle Data(const std::string& node, const std::string& content) {
  v1::Bundle bundle = NodeOf("npu", node, "atlas-a2", "pytorch", {Arguments("json", {{"lr", "1"}})});
  return content.empty() ? bundle : WithDataFile(std::move(bundle), "a", content);
}

TEST(NodeContents, DataByTheirFileLists) {
  const auto judge = [](std::vector<v1::Bundle> nodes) {
    return Verdict("cluster.consistency.data", {}, std::move(nodes));
  };
  EXPECT_EQ(judge({Data("n1", "x"), Data("n2", "x")}), "pass");
  EXPECT_EQ(judge({Data("n1", "x"), Data("n2", "y"), Data("n3", "x")}), "fail: content_differs a");
  EXPECT_EQ(judge({Data("n1", "x"), Data("n2", "")}).substr(0, 13), "not_performed");
  EXPECT_EQ(judge({Data("n1", ""), Data("n2", "")}).substr(0, 13), "not_performed");
}

}  // namespace
}  // namespace paritect
