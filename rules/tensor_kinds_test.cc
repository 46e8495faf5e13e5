#include "rules/tensor_kinds.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "rules/rules.h"

namespace paritect {
namespace {

bool Is(TensorKind kind, const char* name) {
  return BuiltInTensorKinds().Is(kind, BuiltInRules().tensor_names.Canonical(name));
}

TEST(TensorKinds, WhatTensorParallelRanksHoldWhole) {
  for (const char* name :
       {"model.decoder.layers.0.self_attention.linear_qkv.layer_norm_weight", "model.decoder.final_layernorm.weight",
        "model.layers.3.attention_norm.weight", "decoder.layers.1.mlp.linear_fc2.bias",
        "decoder.layers.1.self_attention.q_layernorm.weight", "embedding.position_embeddings.weight"}) {
    EXPECT_TRUE(Is(TensorKind::kCopied, name)) << name;
  }
  for (const char* name : {"decoder.layers.1.mlp.linear_fc1.bias", "decoder.layers.1.mlp.linear_fc2.weight",
                           "decoder.layers.1.mixer.norm.weight", "embedding.word_embeddings.weight",
                           "decoder.layers.1.mlp.experts.local_experts.0.linear_fc2.bias"}) {
    EXPECT_FALSE(Is(TensorKind::kCopied, name)) << name;
  }
}

TEST(TensorKinds, TheOthers) {
  EXPECT_TRUE(Is(TensorKind::kVocabulary, "module.embedding.word_embeddings.weight"));
  EXPECT_TRUE(Is(TensorKind::kVocabulary, "output_layer.weight"));
  EXPECT_TRUE(Is(TensorKind::kVocabulary, "bert.embed.embedding_table"));
  EXPECT_FALSE(Is(TensorKind::kVocabulary, "embed_positions.weight"));
  EXPECT_FALSE(Is(TensorKind::kVocabulary, "lm_head.bias"));
  EXPECT_TRUE(Is(TensorKind::kRotary, "layers.0.attention.wq.weight"));
  EXPECT_FALSE(Is(TensorKind::kRotary, "layers.0.attention.wv.weight"));
  EXPECT_TRUE(Is(TensorKind::kFlatMaster, "optimizer.fp32_from_fp16_params.0.3"));
  EXPECT_TRUE(Is(TensorKind::kFlatMaster, "optimizer_state_dict.single_partition_of_fp32_groups.0"));
  EXPECT_FALSE(Is(TensorKind::kFlatMaster, "fp32_flat.0.torch.float32.exp_avg"));
  EXPECT_FALSE(Is(TensorKind::kFlatMaster, "fp32.layers.0.weight"));
  EXPECT_TRUE(Is(TensorKind::kExpert, "layers.0.mlp.experts.3.w1.weight"));
}

TEST(TensorKinds, WhatFormatsMayHold) {
  EXPECT_TRUE(BuiltInTensorKinds().Is(CheckpointKind::kAnyAxes, "npz"));
  EXPECT_FALSE(BuiltInTensorKinds().Is(CheckpointKind::kAnyAxes, "safetensors"));
  EXPECT_TRUE(BuiltInTensorKinds().Is(CheckpointKind::kSplit, "megatron"));
  EXPECT_FALSE(BuiltInTensorKinds().Is(CheckpointKind::kSplit, "npz"));
}

TEST(TensorKinds, EntriesNeedASourceAKindAndAPattern) {
  const auto error = [](const char* entry, const char* list = "kinds") {
    const auto root = ParseDocument(absl::StrCat(list, ":\n  - ", entry, "\n"));
    return root.ok() ? std::string(TensorKinds::Read(*root).status().message()) : std::string("no YAML");
  };
  EXPECT_EQ(error("{pattern: 'a', is: copied, source: \"s\"}"), "");
  EXPECT_NE(error("{pattern: 'a', is: copied}"), "");
  EXPECT_NE(error("{pattern: 'a', is: whole, source: \"s\"}"), "");
  EXPECT_NE(error("{pattern: '(', is: copied, source: \"s\"}"), "");
  EXPECT_NE(error("{pattern: 'a', is: copied, source: \"s\", why: b}"), "");
  EXPECT_EQ(error("{format: a, is: split, source: \"s\"}", "formats"), "");
  EXPECT_NE(error("{format: a, is: whole, source: \"s\"}", "formats"), "");
  EXPECT_NE(error("{format: a, is: split}", "formats"), "");
  EXPECT_NE(error("{format: a, is: split, source: \"s\"}", "files"), "");
}

}  // namespace
}  // namespace paritect
