// Settings that invite a wrong pass or a false alarm: arguments that nobody knows, fine-tuning, node ranks, boards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"
#include "checks/settings/platform.h"

namespace paritect {
namespace {

constexpr absl::string_view kValues = "model.hyperparameters.values";

std::string Values(const KeysAndTexts& baseline, const KeysAndTexts& migrated) {
  KeysAndTexts a = baseline;
  KeysAndTexts b = migrated;
  for (auto* const one : {&a, &b}) one->emplace_back("seed", "1");
  return Verdict(kValues, {Gpu({Arguments("yaml", a)})}, {Npu({Arguments("yaml", b)})});
}

TEST(SettingsTraps, LowRankAdaptersAreHyperparameters) {
  EXPECT_EQ(Values({{"lora_rank", "8"}}, {{"lora_r", "8"}}), "pass");
  EXPECT_EQ(Values({{"lora_rank", "8"}}, {{"lora_r", "16"}}), "fail: value_differs lora_rank");
  EXPECT_EQ(Values({{"lora_alpha", "16"}}, {{"lora_alpha", "32"}}), "fail: value_differs lora_alpha");
  EXPECT_EQ(Values({{"lora_dropout", "0"}}, {{"lora_dropout", "0.05"}}), "fail: value_differs lora_dropout");
  EXPECT_EQ(Values({{"lora_target", "q_proj,v_proj"}}, {{"target_modules", "all"}}),
            "fail: value_differs lora_target_modules");
  EXPECT_EQ(Values({{"finetuning_type", "lora"}}, {{"finetuning_type", "full"}}),
            "fail: value_differs finetuning_type");
}

TEST(SettingsTraps, AnUnknownArgumentThatSpeaksOfNumbersIsNotPassedOver) {
  EXPECT_EQ(Values({{"our_dropout", "0.1"}}, {{"our_dropout", "0.2"}}),
            "not_performed: ~unknown_key_differs our_dropout, !npu");
  EXPECT_EQ(Values({{"router.bias-lr", "0.1"}}, {{"router.bias-lr", "0.2"}}),
            "not_performed: ~unknown_key_differs router.bias_lr, !npu");
  EXPECT_EQ(Values({{"our_dropout", "0.1"}}, {{"our_dropout", "0.10"}}), "pass");
  // One that does not is told, and places are not even that.
  EXPECT_EQ(Values({{"our_flag", "3"}}, {{"our_flag", "4"}}), "pass: ~unknown_key_differs our_flag");
  EXPECT_EQ(Values({{"our_cache_dir", "/a"}}, {{"our_cache_dir", "/b"}}), "pass");
}

TEST(SettingsTraps, AnUnknownArgumentThatDidNotReachTheRunIsSaid) {
  const auto side = [](const std::string& in_file, const std::string& in_log, const std::string& key) {
    v1::Bundle bundle = Npu({Arguments("yaml", {{key, in_file}, {"seed", "1"}})});
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source("train.log");
    *evidence.mutable_run_log()->add_settings() = SettingsOf("argparse-namespace", "printed", {{key, in_log}});
    return bundle;
  };
  const auto told = [&](const std::string& in_file, const std::string& in_log, const std::string& key) {
    return Verdict(kValues, {Gpu({Arguments("yaml", {{key, in_log}, {"seed", "1"}})})}, {side(in_file, in_log, key)});
  };
  EXPECT_EQ(told("0.1", "0.2", "our_dropout"), "pass: ~overridden migrated: our_dropout");
  EXPECT_EQ(told("0.1", "0.1", "our_dropout"), "pass");
  EXPECT_EQ(told("/a/x", "/b/x", "our_scale_file"), "pass");
}

TEST(SettingsTraps, TwoNodesOfOneRankAreNamed) {
  const auto node = [](const std::string& name, const std::string& rank) {
    return NodeOf("npu", name, "atlas-a2", "pytorch", {Environment({{"NODE_RANK", rank}, {"NNODES", "2"}})});
  };
  const auto told = [&](const std::string& a, const std::string& b) {
    return Verdict("training.flow.distributed", {}, {node("n1", a), node("n2", b)});
  };
  EXPECT_THAT(told("0", "0"), ::testing::HasSubstr("fail: node_rank_twice npu"));
  EXPECT_THAT(told("0", "1"), ::testing::Not(::testing::HasSubstr("node_rank_twice")));
}

TEST(SettingsTraps, TheBoardTellsTheProductWhateverTheChipIsCalled) {
  const auto family = [](const std::string& chip, const std::string& board) {
    KeysAndTexts values = {{"chip_name", chip}};
    if (!board.empty()) values.emplace_back("npu.board_id", board);
    const v1::Bundle bundle = NodeOf("npu", "n1", "", "pytorch", {SettingsOf("npu-smi", "devices", values)});
    const Platform platform = PlatformOf(BuiltInRules(), RunView{"npu", v1::ROLE_RUN, {&bundle}});
    return platform.family == nullptr ? "" : platform.family->id;
  };
  EXPECT_EQ(family("910B3", ""), "atlas-a2");
  EXPECT_EQ(family("910B3", "0xb0"), "atlas-a3");
  EXPECT_EQ(family("Ascend910", "0xB2"), "atlas-a3");
  EXPECT_EQ(family("910B3", "0x30"), "atlas-a2");  // a board that is not in the table tells nothing
}

}  // namespace
}  // namespace paritect
