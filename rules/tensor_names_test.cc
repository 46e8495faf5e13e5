#include "rules/tensor_names.h"

#include <gtest/gtest.h>

#include "rules/rules.h"

namespace paritect {
namespace {

const TensorNames& Names() {
  return BuiltInRules().tensor_names;
}

TEST(TensorNames, OneFormAcrossFrameworks) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"module.bn1.running_var", "network.bn1.moving_variance"},
      {"bn1.weight", "_backbone.bn1.gamma"},
      {"embed.weight", "embed.embedding_table"},
      {"dense.weight", "dense/kernel:0"},
      {"bn.running_mean", "bn/moving_mean/.ATTRIBUTES/VARIABLE_VALUE"},
      {"state_dict.model.fc.bias", "fc.bias"},
      {"model.layers.3.self_attn.o_proj.weight", "model.layers.3.attention.wo.weight"},
      {"model.layers.3.self_attn.o_proj.weight", "model.decoder.layers.3.self_attention.linear_proj.weight"},
      {"model.layers.0.input_layernorm.weight", "decoder.layers.0.self_attention.linear_qkv.layer_norm_weight"},
      {"model.embed_tokens.weight", "model.tok_embeddings.embedding_weight"},
      {"model.embed_tokens.weight", "embedding.word_embeddings.weight"},
      {"lm_head.weight", "output_layer.weight"},
      {"model.norm.weight", "decoder.final_layernorm.weight"},
      {"model.layers.3.self_attn.o_proj.weight", "blk.3.attn_output.weight"},
      {"model.layers.3.mlp.down_proj.weight", "blk.3.ffn_down.weight"},
      {"model.layers.3.post_attention_layernorm.weight", "blk.3.ffn_norm.weight"},
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.layers.3.self_attn.q_proj.weight", "base_model.model.model.layers.3.self_attn.q_proj.base_layer.weight"},
      {"model.layers.3.mlp.experts.5.gate_proj.weight", "model.layers.3.block_sparse_moe.experts.5.w1.weight"},
      {"model.layers.3.mlp.gate.weight", "model.layers.3.block_sparse_moe.gate.weight"},
      {"model.layers.3.mlp.gate.weight", "decoder.layers.3.mlp.router.weight"},
      {"model.layers.3.mlp.gate.weight", "model.layers.3.feed_forward.routed_experts.router.dense.weight"},
      {"model.layers.3.mlp.experts.5.down_proj.weight",
       "decoder.layers.3.mlp.experts.local_experts.5.linear_fc2.weight"},
      {"model.layers.3.mlp.experts.5.down_proj.weight", "decoder.layers.3.mlp.experts.linear_fc2.weight5"},
      {"model.layers.3.mlp.experts.down_proj", "model.layers.3.feed_forward.routed_experts.ffn.w2.weight"},
      {"model.layers.3.mlp.shared_expert.up_proj.weight", "model.layers.3.feed_forward.shared_experts.w3.weight"},
      {"model.layers.3.mlp.shared_experts.down_proj.weight", "decoder.layers.3.mlp.shared_experts.linear_fc2.weight"},
      {"base_model.model.layers.3.q.lora_A.weight", "base_model.model.layers.3.q.lora_A.default.weight"},
  };
  for (const auto& [a, b] : kPairs) EXPECT_EQ(Names().Canonical(a), Names().Canonical(b)) << a << " " << b;
  EXPECT_NE(Names().Canonical("ln.gamma"), Names().Canonical("ln.beta"));
  EXPECT_NE(Names().Canonical("student.fc.weight"), Names().Canonical("teacher.fc.weight"));
}

TEST(TensorNames, RolesByName) {
  EXPECT_EQ(Names().RoleOf("moments.conv1.weight"), v1::TENSOR_ROLE_OPTIMIZER_STATE);
  EXPECT_EQ(Names().RoleOf("dense/kernel/Adam"), v1::TENSOR_ROLE_OPTIMIZER_STATE);
  EXPECT_EQ(Names().RoleOf("optimizer.state.0.exp_avg"), v1::TENSOR_ROLE_OPTIMIZER_STATE);
  EXPECT_EQ(Names().RoleOf("learning_rate"), v1::TENSOR_ROLE_OTHER);
  EXPECT_EQ(Names().RoleOf("module.bn1.num_batches_tracked"), v1::TENSOR_ROLE_OTHER);
  EXPECT_EQ(Names().RoleOf("bn1.moving_mean"), v1::TENSOR_ROLE_BUFFER);
  EXPECT_EQ(Names().RoleOf("layers.0.attention.v.weight"), v1::TENSOR_ROLE_PARAMETER);
  EXPECT_EQ(Names().RoleOf("momentum_encoder.fc.weight"), v1::TENSOR_ROLE_PARAMETER);
}

TEST(TensorNames, WhatMayLackAndHowValuesStand) {
  EXPECT_TRUE(Names().IsDerived("module.bn1.num_batches_tracked"));
  EXPECT_TRUE(Names().IsDerived("model.layers.0.self_attn.rotary_emb.inv_freq"));
  EXPECT_EQ(Names().RoleOf("embeddings.position_ids"), v1::TENSOR_ROLE_OTHER);
  EXPECT_FALSE(Names().IsDerived("bn1.running_mean"));
  EXPECT_FALSE(Names().IsDerived("learning_rate"));
  EXPECT_TRUE(Names().IsTurned("dense/kernel:0"));
  EXPECT_TRUE(Names().IsTurned("dense/kernel/.ATTRIBUTES/VARIABLE_VALUE"));
  EXPECT_TRUE(Names().IsTurned("transformer.h.3.attn.c_proj.weight"));
  EXPECT_FALSE(Names().IsTurned("transformer.h.3.attn.c_proj.bias"));
  EXPECT_FALSE(Names().IsTurned("dense.weight"));
  EXPECT_TRUE(Names().IsInterleaved("decoder.layers.0.self_attention.linear_qkv.weight"));
  EXPECT_FALSE(Names().IsInterleaved("layers.0.self_attn.in_proj_weight"));
}

TEST(TensorNames, PartsOfWhatIsFused) {
  const auto ways = Names().PartsOf("layers.0.self_attn.qkv_proj.weight");
  ASSERT_EQ(ways.size(), 1U);
  EXPECT_EQ(ways[0][1], "layers.0.self_attn.k_proj.weight");
  EXPECT_TRUE(Names().PartsOf("layers.0.self_attn.o_proj.weight").empty());
  const auto stacked = Names().PartsOf("layers.0.mlp.experts.down_proj.weight");
  ASSERT_EQ(stacked.size(), 1U);
  EXPECT_EQ(stacked[0], std::vector<std::string>{"layers.0.mlp.experts.#.down_proj.weight"});
}

TEST(TensorNames, OwnRulesStandFirst) {
  TensorNames names = Names();
  auto own = ParseDocument("rename: [{pattern: '^enc\\.(\\d+)\\.g$', with: 'encoder.\\1.weight', source: ours}]");
  ASSERT_TRUE(own.ok());
  ASSERT_TRUE(names.Add(*own).ok());
  EXPECT_EQ(names.Canonical("enc.3.g"), "encoder.3.weight");
  EXPECT_EQ(names.Canonical("ln.gamma"), "ln.weight");
}

TEST(TensorNames, BadEntriesAreNamed) {
  for (const char* text :
       {"rename: [{pattern: '(', with: '', source: x}]", "rename: [{pattern: 'a', with: '\\3', source: x}]",
        "rename: [{pattern: 'a', with: ''}]", "roles: [{pattern: a, as: nothing, source: x}]",
        "fused: [{whole: a, parts: [b], source: x}]", "layouts: [{pattern: a, as: upside-down, source: x}]",
        "names: []"}) {
    TensorNames names;
    const auto root = ParseDocument(text);
    ASSERT_TRUE(root.ok());
    EXPECT_EQ(names.Add(*root).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace paritect
