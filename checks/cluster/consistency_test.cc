// cluster.consistency.variables, .versions, training.flow.environment and .distributed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

constexpr char kVariables[] = "cluster.consistency.variables";
constexpr char kVersions[] = "cluster.consistency.versions";
constexpr char kEnvironment[] = "training.flow.environment";
constexpr char kDistributed[] = "training.flow.distributed";

v1::Bundle Node(const std::string& node, std::vector<v1::SettingsDocument> documents) {
  return NodeOf("npu", node, "atlas-a2", "pytorch", std::move(documents));
}

// One node a list of variables.
std::vector<v1::Bundle> Nodes(std::vector<KeysAndTexts> variables) {
  std::vector<v1::Bundle> nodes;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    variables[i].emplace_back("HOSTNAME", absl::StrCat("n", i));
    nodes.push_back(Node(absl::StrCat("n", i), {Environment(variables[i])}));
  }
  return nodes;
}

TEST(ConsistencyOfVariables, TheOddOneOutIsNamed) {
  const KeysAndTexts usual = {{"HCCL_ALGO", "ring"}};
  EXPECT_EQ(Verdict(kVariables, {}, Nodes({usual, usual, usual})), "pass");
  const v1::CheckResult result = ResultOf(kVariables, {}, Nodes({usual, {{"HCCL_ALGO", "mesh"}}, usual}));
  ASSERT_EQ(Told(result), "fail: variable_differs HCCL_ALGO");
  EXPECT_THAT(result.findings(0).message().en(), HasSubstr("n1: mesh"));
  EXPECT_EQ(Verdict(kVariables, {}, Nodes({usual, {}})), "fail: variable_differs HCCL_ALGO");
}

TEST(ConsistencyOfVariables, WhatDoesNotCount) {
  EXPECT_EQ(Verdict(kVariables, {}, Nodes({{{"RANK", "0"}}, {{"RANK", "8"}}})), "pass");
  EXPECT_EQ(Verdict(kVariables, {}, Nodes({{{"OMP_NUM_THREADS", "1"}}, {{"OMP_NUM_THREADS", "8"}}})),
            "pass: ~variable_differs OMP_NUM_THREADS");
  // An explicit default equals an unset variable; so do two spellings of one value.
  EXPECT_EQ(Verdict(kVariables, {}, Nodes({{{"HCCL_DETERMINISTIC", "false"}}, {}})), "pass");
  EXPECT_EQ(Verdict(kVariables, {}, Nodes({{{"HCCL_DETERMINISTIC", "TRUE"}}, {{"HCCL_DETERMINISTIC", "1"}}})), "pass");
}

TEST(ConsistencyOfVariables, MissingNodes) {
  EXPECT_EQ(Verdict(kVariables, {}, {Node("n0", {Environment({{"TZ", "UTC"}})}), Node("n1", {})}),
            "not_performed: !n1");
  EXPECT_EQ(Verdict(kVariables, {}, {Node("n0", {Environment({{"TZ", "UTC"}})})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kVariables, {}, {Node("n0", {Environment({{"NNODES", "1"}})})}), "pass");
  EXPECT_EQ(
      Verdict(kVariables, {},
              {WithUnreadable(Node("n0", {Environment({{"TZ", "UTC"}})})), Node("n1", {Environment({{"TZ", "UTC"}})})}),
      "not_performed: !n0");
}

TEST(ConsistencyOfVersions, NodeAgainstNode) {
  const auto torch = [](const std::string& version) { return PackagesOf({{"package.torch", version}}); };
  EXPECT_EQ(Verdict(kVersions, {}, {Node("n0", {torch("2.1.0")}), Node("n1", {torch("2.1.0")})}), "pass");
  EXPECT_EQ(Verdict(kVersions, {}, {Node("n0", {torch("2.1.0")}), Node("n1", {torch("2.4.0")})}),
            "fail: version_differs package.torch");
  EXPECT_EQ(Verdict(kVersions, {}, {Node("n0", {torch("2.1.0")}), Node("n1", {PackagesOf({{"package.numpy", "1"}})})}),
            "fail: version_differs package.numpy, version_differs package.torch");
  EXPECT_EQ(Verdict(kVersions, {}, {Node("n0", {torch("2.1.0")}), Node("n1", {})}), "not_performed: !n1");
}

TEST(ConsistencyOfVersions, AVariableNamesAnotherVersion) {
  const auto node = [](const std::string& path, const std::string& version) {
    return NodeOf("npu", "n0", "atlas-a2", "pytorch",
                  {Environment({{"ASCEND_TOOLKIT_HOME", path}, {"NNODES", "1"}}),
                   SettingsOf("versions", "versions", {{"cann.toolkit.version", version}})});
  };
  EXPECT_EQ(Verdict(kVersions, {}, {node("/usr/local/Ascend/ascend-toolkit/8.0.RC3", "8.3.RC1")}),
            "pass: ~loaded_version_differs n0");
  EXPECT_EQ(Verdict(kVersions, {}, {node("/usr/local/Ascend/ascend-toolkit/8.3.RC1", "8.3.RC1")}), "pass");
  EXPECT_EQ(Verdict(kVersions, {}, {node("/usr/local/Ascend/ascend-toolkit/latest", "8.3.RC1")}), "pass");
}

TEST(ConsistencyOfVersions, AVariableOfTheImageAgainstThePackages) {
  const auto verdict = [](const std::string& variable, const std::string& value, const std::string& package,
                          const std::string& version) {
    return Verdict(kVersions, {},
                   {NodeOf("npu", "n0", "nvidia", "pytorch",
                           {Environment({{variable, value}, {"NNODES", "1"}}), PackagesOf({{package, version}})})});
  };
  const std::string told = "pass: ~loaded_version_differs n0";
  EXPECT_EQ(verdict("CUDNN_VERSION", "8.7.0.84", "package.nvidia-cudnn-cu12", "8.9.2.26"), told);
  EXPECT_EQ(verdict("CUDNN_VERSION", "8.9.2.26-1+cuda12.1", "package.nvidia-cudnn-cu12", "8.9.2.26"), "pass");
  EXPECT_EQ(verdict("CUDNN_VERSION", "8.9", "package.nvidia-cudnn-cu11", "8.9.2.26"), "pass");
  EXPECT_EQ(verdict("CUDA_VERSION", "11.8.0", "package.torch", "2.1.0+cu121"), told);
  EXPECT_EQ(verdict("CUDA_VERSION", "12.1.1", "package.torch", "2.1.0+cu121"), "pass");
  EXPECT_EQ(verdict("CUDA_VERSION", "12.1.1", "package.torch", "2.1.0+cpu"), "pass");
  EXPECT_EQ(verdict("CUDA_VERSION", "12.1.1", "package.nvidia-cuda-runtime-cu12", "12.1.105"), "pass");
  EXPECT_EQ(verdict("CUDA_VERSION", "12.4.1", "package.nvidia-cuda-runtime-cu12", "12.1.105"), told);
  EXPECT_EQ(verdict("NCCL_VERSION", "2.18.3-1", "package.nvidia-nccl-cu12", "2.18.1"), told);
  EXPECT_EQ(verdict("PYTORCH_VERSION", "2.1.0a0+32f93b1", "package.torch", "2.1.0a0+32f93b1"), "pass");
  EXPECT_EQ(verdict("CUDNN_VERSION", "8.7.0.84", "package.numpy", "1.26.4"), "pass");
}

TEST(FlowEnvironment, RepeatsTheErrorsAndComparesTheSides) {
  const auto env = [](const std::string& algorithm, const std::string& torch) {
    return std::vector<v1::SettingsDocument>{Environment({{"HCCL_ALGO", algorithm}, {"NNODES", "2"}}),
                                             PackagesOf({{"package.torch", torch}})};
  };
  const auto gpu = [&](const std::string& torch) {
    return std::vector<v1::Bundle>{NodeOf("gpu", "g0", "nvidia", "pytorch", env("ring", torch)),
                                   NodeOf("gpu", "g1", "nvidia", "pytorch", env("ring", torch))};
  };
  const auto npu = [&](const std::string& second) {
    return std::vector<v1::Bundle>{Node("n0", env("ring", "2.1.0")), Node("n1", env(second, "2.1.0"))};
  };
  EXPECT_EQ(Verdict(kEnvironment, gpu("2.1.0+cu121"), npu("ring")), "pass");
  EXPECT_EQ(Verdict(kEnvironment, gpu("2.4.0"), npu("ring")), "pass: ~version_differs package.torch");
  EXPECT_EQ(Verdict(kEnvironment, gpu("2.1.0"), npu("mesh")), "fail: variable_differs HCCL_ALGO");
  EXPECT_THAT(Verdict(kEnvironment, gpu("2.1.0"), {Node("n0", {}), Node("n1", {})}), HasSubstr("not_performed"));
}

TEST(FlowDistributed, OneWorldTrains) {
  const auto judge = [](const KeysAndTexts& first, const KeysAndTexts& second) {
    return Verdict(kDistributed, {}, {Node("n0", {Environment(first)}), Node("n1", {Environment(second)})});
  };
  const KeysAndTexts right = {
      {"MASTER_ADDR", "10.0.0.1"}, {"WORLD_SIZE", "16"}, {"NNODES", "2"}, {"NPUS_PER_NODE", "8"}};
  const auto with = [&](int place, const std::string& text) {
    KeysAndTexts changed = right;
    changed[place].second = text;
    return changed;
  };
  // Whether gradients meet is not to be seen in settings.
  EXPECT_THAT(judge(right, right), HasSubstr("not_performed"));
  EXPECT_THAT(judge(with(0, "127.0.0.1"), with(0, "localhost")), HasSubstr("fail: master_is_localhost"));
  EXPECT_THAT(judge(with(2, "1"), with(2, "1")), HasSubstr("nodes_train_alone n0"));
  EXPECT_THAT(judge(with(1, "8"), with(1, "8")), HasSubstr("fail: world_size_mismatch npu"));
  EXPECT_THAT(judge(with(1, "8"), right), HasSubstr("fail: world_size_mismatch npu"));
  EXPECT_THAT(Verdict(kDistributed, {}, {WithUnreadable(Node("n0", {Environment(right)}))}),
              HasSubstr("not_performed"));
}

}  // namespace
}  // namespace paritect
