#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr absl::string_view kCheck = "network.definition.defaults";

v1::SettingsDocument Model(const KeysAndTexts& layers) {
  return SettingsOf("model", "model", layers);
}

std::string Judge(const KeysAndTexts& torch, const KeysAndTexts& other, const std::string& framework = "mindspore") {
  return Verdict(kCheck, {Gpu({Model(torch)})}, {Npu({Model(other)}, framework)});
}

TEST(NetworkDefaults, WhatIsStatedCountsElseTheFrameworksOwn) {
  const KeysAndTexts torch = {{"layernorm.class", "LayerNorm"}, {"layernorm.eps", "1e-05"}};
  EXPECT_EQ(Judge(torch, {{"layernorm.class", "LayerNorm"}, {"layernorm.eps", "0.00001"}}), "not_performed: !npu");
  EXPECT_EQ(Judge(torch, {{"layernorm.class", "LayerNorm"}}), "not_performed: ~default_differs layernorm_eps, !npu");
  EXPECT_EQ(Judge(torch, {{"layernorm.class", "LayerNorm"}, {"layernorm.eps", "1e-7"}}),
            "fail: default_differs layernorm_eps, !npu");
  EXPECT_EQ(Judge(torch, {{"layernorm.class", "LayerNormalization"}, {"layernorm.eps", "0.001"}}, "tensorflow"),
            "fail: default_differs layernorm_eps, !npu");
}

TEST(NetworkDefaults, OptimizersByClass) {
  EXPECT_EQ(
      Judge({{"optimizer.class", "Adam"}, {"optimizer.eps", "1e-08"}}, {{"optimizer.class", "Adam"}}, "tensorflow"),
      "fail: default_differs adam_eps, !npu");
  EXPECT_EQ(Judge({{"optimizer.class", "AdamW"}, {"optimizer.eps", "1e-08"}, {"optimizer.weight_decay", "0.1"}},
                  {{"optimizer.class", "AdamWeightDecay"}, {"optimizer.weight_decay", "0.1"}}),
            "fail: default_differs bias_correction, ~default_differs adam_weight_decay_eps, !npu");
  // Without decay its form does not matter.
  EXPECT_EQ(Judge({{"optimizer.class", "Adam"}, {"optimizer.eps", "1e-08"}, {"optimizer.weight_decay", "0"}},
                  {{"optimizer.class", "Adam"}, {"optimizer.eps", "1e-08"}, {"optimizer.weight_decay", "0"}}),
            "not_performed: !npu");
}

TEST(NetworkDefaults, WordsOfOneMeaning) {
  EXPECT_EQ(Judge({{"gelu.class", "GELU"}}, {{"gelu.class", "GELU"}}),
            "not_performed: ~default_differs gelu_form, !npu");
  EXPECT_EQ(Judge({{"gelu.class", "GELU"}}, {{"gelu.class", "GELU"}, {"gelu.approximate", "False"}}),
            "not_performed: !npu");
  EXPECT_EQ(Judge({{"gelu.class", "GELU"}, {"gelu.approximate", "tanh"}}, {{"gelu.class", "GELU"}}),
            "not_performed: !npu");
}

TEST(NetworkDefaults, OnlyBetweenFrameworksAndOnlyOnEvidence) {
  const v1::SettingsDocument model = Model({{"layernorm.class", "LayerNorm"}});
  EXPECT_EQ(Verdict(kCheck, {Gpu({model})}, {Npu({model})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {Gpu({model})}, {Npu({Arguments("yaml", {{"lr", "1"}})}, "mindspore")}),
            "not_performed: !npu");
}

}  // namespace
}  // namespace paritect
