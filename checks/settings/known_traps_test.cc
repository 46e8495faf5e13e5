// Traps that comparing tools are known to fall into: what is missing passes, spellings count as differences, names
// collide, only the first rank is looked at. One test a trap, named after what is right.
#include <gtest/gtest.h>

#include "checks/datasets/fixture.h"
#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr absl::string_view kValues = "model.hyperparameters.values";
constexpr absl::string_view kEnvironment = "training.flow.environment";
constexpr absl::string_view kVariables = "cluster.consistency.variables";

v1::Bundle GpuEnvironment(const KeysAndTexts& variables) {
  KeysAndTexts all = variables;
  all.emplace_back("NNODES", "1");
  return Gpu({Environment(all), PackagesOf({{"package.torch", "2.1.0+cu121"}})});
}
v1::Bundle NpuEnvironment(const KeysAndTexts& variables) {
  KeysAndTexts all = variables;
  all.emplace_back("NNODES", "1");
  return Npu({Environment(all), PackagesOf({{"package.torch", "2.1.0"}})});
}
std::vector<v1::Bundle> TwoNodes(const KeysAndTexts& first, const KeysAndTexts& second) {
  return {NodeOf("npu", "n1", "atlas-a2", "pytorch", {Environment(first)}),
          NodeOf("npu", "n2", "atlas-a2", "pytorch", {Environment(second)})};
}

v1::Report Audit(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated) {
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  AuditOptions options;
  options.today = "2026-06-01";
  return RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), options);
}

TEST(KnownTraps, WhatOneSideLacksNeverPasses) {
  const v1::Report report = Audit({Gpu({Arguments("yaml", {{"lr", "1e-4"}, {"seed", "1"}})})}, {});
  for (const v1::ItemResult& item : report.items()) {
    const bool two_sided = item.id().starts_with("migrated.") || item.id().starts_with("model.") ||
                           item.id().starts_with("data.") || item.id().starts_with("training.") ||
                           item.id().starts_with("network.");
    for (const v1::CheckResult& check : item.checks()) {
      if (two_sided) {
        EXPECT_NE(check.verdict(), v1::VERDICT_PASS) << check.id();
      }
    }
  }
}

TEST(KnownTraps, ARankOrNodeThatIsMissingNeverPasses) {
  v1::Bundle silent = NodeOf("npu", "n2", "atlas-a2", "pytorch", {});
  EXPECT_EQ(Verdict(kVariables, {}, {NodeOf("npu", "n1", "atlas-a2", "pytorch", {Environment({{"A", "1"}})}), silent}),
            "not_performed: !n2");
}

TEST(KnownTraps, NoItemVanishesFromTheReport) {
  EXPECT_EQ(Audit({}, {}).items_size(), static_cast<int>(BuiltInRules().catalogue.items.size()));
}

TEST(KnownTraps, GpuAgainstNpuAloneIsNoWarning) {
  EXPECT_EQ(
      Verdict(kEnvironment, {GpuEnvironment({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"NCCL_DEBUG", "INFO"}})},
              {NpuEnvironment({{"ASCEND_RT_VISIBLE_DEVICES", "0,1"}, {"ASCEND_HOME_PATH", "/usr/local/Ascend"}})}),
      "pass");
}

TEST(KnownTraps, AnExplicitDefaultEqualsUnset) {
  EXPECT_EQ(Verdict(kVariables, {},
                    TwoNodes({{"ASCEND_LAUNCH_BLOCKING", "0"}}, {{"TZ", "UTC"}, {"ASCEND_LAUNCH_BLOCKING", "0"}})),
            "pass: ~variable_differs TZ");
  EXPECT_EQ(Verdict(kVariables, {}, TwoNodes({{"TASK_QUEUE_ENABLE", "1"}}, {{"TERM", "x"}})), "pass");
}

TEST(KnownTraps, SpellingsOfABooleanAreEqual) {
  EXPECT_EQ(Verdict(kVariables, {}, TwoNodes({{"HCCL_DETERMINISTIC", "true"}}, {{"HCCL_DETERMINISTIC", "True"}})),
            "pass");
}

TEST(KnownTraps, VariablesThatOthersNeverLookAt) {
  for (const char* name : {"HCCL_INTRA_PCIE_ENABLE", "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG",
                           "INF_NAN_MODE_ENABLE", "INF_NAN_MODE_FORCE_DISABLE"}) {
    EXPECT_EQ(Verdict(kVariables, {}, TwoNodes({{name, "0"}}, {{name, "1"}})),
              absl::StrCat("fail: variable_differs ", name));
  }
  EXPECT_EQ(
      Verdict(kEnvironment, {}, {NpuEnvironment({{"HCCL_INTRA_PCIE_ENABLE", "1"}, {"HCCL_INTRA_ROCE_ENABLE", "1"}})}),
      "fail: links_illegal migrated: npu");
}

TEST(KnownTraps, SpellingsOfANumberAreEqual) {
  EXPECT_EQ(Verdict(kValues, {Gpu({Arguments("yaml", {{"weight_decay", "1e-4"}, {"seed", "1"}})})},
                    {Npu({Arguments("yaml", {{"weight_decay", "0.0001"}, {"seed", "1"}})})}),
            "pass");
}

TEST(KnownTraps, TwoNamesOfOneKeyOnOneSide) {
  EXPECT_EQ(Verdict(kValues, {Gpu({Arguments("yaml", {{"weight_decay", "0.1"}, {"wd", "0.1"}})})},
                    {Npu({Arguments("yaml", {{"weightdecay", "0.1"}})})}),
            "pass");
  EXPECT_EQ(Verdict(kValues, {Gpu({Arguments("yaml", {{"weight_decay", "0.1"}, {"wd", "0.2"}})})},
                    {Npu({Arguments("yaml", {{"weightdecay", "0.1"}})})}),
            "fail: conflict_within_side baseline: weight_decay");
}

TEST(KnownTraps, DottedKeysDoNotCollide) {
  const auto result =
      ResultOf(kValues, {Gpu({Arguments("yaml", {{"a.gamma", "0.1"}, {"b.gamma", "0.2"}, {"seed", "1"}})})},
               {Npu({Arguments("yaml", {{"a.gamma", "0.3"}, {"b.gamma", "0.2"}, {"seed", "1"}})})});
  EXPECT_EQ(Told(result), "not_performed: ~unknown_key_differs a.gamma, !npu");
}

v1::Bundle Data(const std::string& run, const std::string& content) {
  return WithDataFile(NodeOf(run, run, "auto", "auto", {}), "a.bin", content);
}

TEST(KnownTraps, SameStatisticsAreNotTheSameData) {
  EXPECT_EQ(Verdict("data.dataset.content", {Data("g", "1 2 3 4")}, {Data("n", "4 3 2 1")}),
            "fail: content_differs a.bin");
}

TEST(KnownTraps, NanIsTheSameAsNanAndNothingElse) {
  const auto judge = [](const std::string& a, const std::string& b) {
    return Verdict(kValues, {Gpu({Arguments("yaml", {{"clip_grad", a}})})},
                   {Npu({Arguments("yaml", {{"clip_grad", b}})})});
  };
  EXPECT_EQ(judge("nan", "NaN"), "pass");
  EXPECT_EQ(judge("nan", "1.0"), "fail: value_differs clip_grad");
}

TEST(KnownTraps, EveryNodeIsLookedAtNotTheFirstAlone) {
  std::vector<v1::Bundle> nodes;
  for (int i = 0; i < 5; ++i) {
    nodes.push_back(NodeOf("npu", absl::StrCat("n", i), "atlas-a2", "pytorch",
                           {Environment({{"NCCL_ALGO", i == 4 ? "Tree" : "Ring"}})}));
  }
  const v1::CheckResult result = ResultOf(kVariables, {}, nodes);
  ASSERT_EQ(Told(result), "fail: variable_differs NCCL_ALGO");
  ASSERT_EQ(result.findings(0).nodes_size(), 1);
  EXPECT_EQ(result.findings(0).nodes(0), "n4");
}

// --- rules of single options (the table of docs/settings.md)

TEST(PrecisionRules, AVariableTurnsTheTypeRound) {
  constexpr absl::string_view kSame = "migrated.mixed-precision.same-mechanism";
  const KeysAndTexts bf16 = {{"bf16", "true"}, {"fp16", "false"}};
  EXPECT_EQ(Verdict(kSame, {Gpu({Arguments("megatron-args", bf16)})},
                    {Npu({Arguments("megatron-args", bf16), Environment({{"ACCELERATE_MIXED_PRECISION", "fp16"}})})}),
            "not_performed: ~dtype_by_variable migrated: ACCELERATE_MIXED_PRECISION, !npu");
  // The launcher that reads it.
  EXPECT_EQ(Verdict(kSame, {Gpu({Arguments("megatron-args", bf16)})},
                    {Npu({Arguments("megatron-args", bf16), Environment({{"ACCELERATE_MIXED_PRECISION", "fp16"}}),
                          SettingsOf("launch-script", "script", {{"launch.command", "accelerate"}})})}),
            "fail: dtype_by_variable migrated: ACCELERATE_MIXED_PRECISION");
  EXPECT_EQ(Verdict(kSame, {Gpu({Arguments("megatron-args", bf16)})},
                    {Npu({Arguments("megatron-args", bf16), Environment({{"ACCELERATE_MIXED_PRECISION", "bf16"}})})}),
            "pass");
}

TEST(PrecisionRules, TypesAndOptionsThatAProductLacks) {
  const auto bf16 = Arguments("megatron-args", {{"bf16", "true"}});
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {Gpu({bf16})}, {Npu({bf16}, "pytorch", "atlas-training")}),
            "fail: dtype_not_on_product npu");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {Gpu({bf16})}, {Npu({bf16})}), "pass");
  const auto session = SettingsOf("session-config", "session-config",
                                  {{"precision_mode_v2", "origin"},
                                   {"experimental_accelerate_train_mode", "fast|step"},
                                   {"enable_reduce_precision", "true"}});
  EXPECT_EQ(
      Verdict("migrated.mixed-precision.precision-mode", {}, {Npu({session}, "tensorflow")}),
      "fail: low_precision_share experimental_accelerate_train_mode, ~reduce_precision_on enable_reduce_precision");
}

TEST(PrecisionRules, StrictReductionNeedsInfNanMode) {
  EXPECT_EQ(Verdict("migrated.mixed-precision.inf-nan", {},
                    {Npu({Environment({{"INF_NAN_MODE_FORCE_DISABLE", "1"}, {"HCCL_DETERMINISTIC", "strict"}})})}),
            "fail: saturation_mode npu-1, strict_with_saturation npu-1");
}

TEST(PrecisionRules, DeterminismByWhatIsInEffect) {
  const auto told = [](const KeysAndTexts& gpu, const KeysAndTexts& npu, const std::string& platform) {
    KeysAndTexts one = npu;
    one.emplace_back("NNODES", "1");
    return Verdict(kEnvironment, {GpuEnvironment(gpu)},
                   {Npu({Environment(one), PackagesOf({{"package.torch", "2.1.0"}})}, "pytorch", platform)});
  };
  EXPECT_EQ(told({}, {{"HCCL_DETERMINISTIC", "true"}}, "atlas-a2"), "pass: ~determinism_differs collectives");
  EXPECT_EQ(told({{"NCCL_ALGO", "Ring"}}, {{"HCCL_DETERMINISTIC", "true"}}, "atlas-a2"), "pass");
  EXPECT_EQ(told({{"NCCL_ALGO", "Ring"}}, {{"TZ", "UTC"}}, "atlas-a3"), "pass");  // in order by itself
  EXPECT_EQ(told({{"NCCL_ALGO", "Ring"}}, {{"HCCL_OP_EXPANSION_MODE", "AIV"}}, "atlas-a3"),
            "pass: ~determinism_differs collectives");
}

TEST(DistributedBySettings, OneWorldOrNone) {
  constexpr absl::string_view kCheck = "migrated.mixed-precision.distributed";
  const auto printed = [](const std::string& size) {
    return SettingsOf("megatron-args", "printed", {{"world_size", size}});
  };
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({SettingsOf("megatron-args", "printed", {{"world_size", "1"}})})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({printed("16")})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("yaml", {{"world_size", "16"}})})}), "not_performed: !npu");
  // transformers' banner: what one device takes, times the processes, is what all take.
  const auto banner = [](const std::string& all) {
    return SettingsOf("hf-banner", "printed",
                      {{"banner.per_device_batch_size", "4"},
                       {"banner.gradient_accumulation_steps", "2"},
                       {"banner.total_train_batch_size", all}});
  };
  const v1::SettingsDocument asked = Arguments("yaml", {{"world_size", "8"}});
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({asked, banner("64")})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({asked, banner("8")})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {},
                    {NodeOf("npu", "n1", "atlas-a2", "pytorch", {printed("1")}),
                     NodeOf("npu", "n2", "atlas-a2", "pytorch", {printed("1")})}),
            "fail: nodes_train_alone npu");
}

}  // namespace
}  // namespace paritect
