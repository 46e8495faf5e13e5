#include "formats/weights/stage_names.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(StageNames, LayersOfLaterStagesCountOn) {
  StageNames names;
  for (const std::int64_t rank : {0, 1}) {
    for (const char* layer : {"model.decoder.layers.0.w", "model.decoder.layers.1.w"}) names.Add({rank, 0}, layer);
  }
  EXPECT_EQ(names.Whole({0, 0}, "model.decoder.layers.1.w"), "model.decoder.layers.1.w");
  EXPECT_EQ(names.Whole({1, 0}, "model.decoder.layers.0.w"), "model.decoder.layers.2.w");
  EXPECT_EQ(names.Whole({1, 0}, "model.output_layer.weight"), "model.output_layer.weight");
}

TEST(StageNames, ChunksOfVirtualStagesGoRoundTheRanks) {
  StageNames names;
  for (const std::int64_t rank : {0, 1}) {
    for (const char* layer : {"model0.decoder.layers.0.w", "model1.decoder.layers.0.w"}) names.Add({rank, 0}, layer);
  }
  EXPECT_EQ(names.Whole({0, 0}, "model0.decoder.layers.0.w"), "model.decoder.layers.0.w");
  EXPECT_EQ(names.Whole({1, 0}, "model0.decoder.layers.0.w"), "model.decoder.layers.1.w");
  EXPECT_EQ(names.Whole({0, 0}, "model1.decoder.layers.0.w"), "model.decoder.layers.2.w");
  EXPECT_EQ(names.Whole({1, 0}, "model1.decoder.layers.0.w"), "model.decoder.layers.3.w");
  EXPECT_EQ(names.Whole({0, 0}, "model0.embedding.w"), "model.embedding.w");
}

TEST(StageNames, ExpertsOfLaterRanksCountOn) {
  StageNames names;
  for (const std::int64_t rank : {0, 1}) {
    for (const char* name : {"layers.0.mlp.experts.local_experts.0.w", "layers.0.mlp.experts.local_experts.3.w"}) {
      names.Add({0, rank}, name);
    }
  }
  EXPECT_EQ(names.Whole({0, 1}, "layers.0.mlp.experts.local_experts.3.w"), "layers.0.mlp.experts.local_experts.7.w");
}

TEST(StageNames, ExpertsOfOneLayerCountOnToo) {
  StageNames names;
  for (const std::int64_t rank : {0, 1}) {
    for (const char* name : {"layers.0.mlp.experts.linear_fc1.weight0", "layers.0.mlp.experts.linear_fc1.weight1"}) {
      names.Add({0, rank}, name);
    }
  }
  EXPECT_EQ(names.Whole({0, 1}, "layers.0.mlp.experts.linear_fc1.weight1"), "layers.0.mlp.experts.linear_fc1.weight3");
  EXPECT_EQ(names.Whole({0, 1}, "layers.0.mlp.experts.linear_fc2.weight0"), "layers.0.mlp.experts.linear_fc2.weight2");
}

TEST(StageNames, WhatIsNoNumberStays) {
  StageNames names;
  for (const char* name : {"model", "model1", "layers.", "layers.x.w", "layers.99999999999999999999.w", ""}) {
    names.Add({1, 1}, name);
    EXPECT_EQ(names.Whole({1, 1}, name), name);
  }
}

}  // namespace
}  // namespace paritect
