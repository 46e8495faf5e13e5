#include "rules/products.h"

#include <gtest/gtest.h>

#include "rules/rules.h"

namespace paritect {
namespace {

std::string Family(const char* chip) {
  const ProductFamily* family = BuiltInRules().products.FamilyOfChip(chip);
  return family == nullptr ? "" : family->id;
}

TEST(Products, ChipNames) {
  EXPECT_EQ(Family("910B3"), "atlas-a2");
  EXPECT_EQ(Family("Ascend 910B2C"), "atlas-a2");
  EXPECT_EQ(Family("Ascend910B4-1"), "atlas-a2");
  EXPECT_EQ(Family("910A"), "atlas-training");
  EXPECT_EQ(Family("910ProB"), "atlas-training");
  EXPECT_EQ(Family("Ascend910B"), "atlas-training");
  EXPECT_EQ(Family("Ascend910_9392"), "atlas-a3");
  EXPECT_EQ(Family("Ascend950PR_9579"), "ascend-950");
  EXPECT_EQ(Family("Ascend310P3"), "ascend-inference");
  EXPECT_EQ(Family("NVIDIA A100-SXM4-80GB"), "nvidia");
  EXPECT_EQ(Family("Ascend910"), "") << "several products bear it";
  EXPECT_EQ(Family("Ascend920"), "") << "never guessed";
  EXPECT_EQ(Family(""), "");
}

TEST(Products, PciIds) {
  EXPECT_EQ(BuiltInRules().products.FamilyOfPciId("19E5:D802")->id, "atlas-a2");
  EXPECT_EQ(BuiltInRules().products.FamilyOfPciId("19e5:0222"), nullptr);
  EXPECT_EQ(BuiltInRules().products.FamilyOfPciId("10de:20b2")->id, "nvidia");
}

struct DefaultCase {
  const char* key;
  const char* product;
  const char* framework;
  const char* library;
  const char* version;
  const char* value;  // nullptr: not known
};

TEST(Defaults, TableByProductFrameworkLibraryAndVersion) {
  const DefaultCase kCases[] = {
      {"precision_mode_v2", "atlas-a2", "tensorflow", "", "", "origin"},
      {"precision_mode_v2", "atlas-a3", "tensorflow", "", "", "origin"},
      {"precision_mode_v2", "ascend-950", "tensorflow", "", "", "origin"},
      {"precision_mode_v2", "atlas-training", "tensorflow", "", "", nullptr},
      {"precision_mode", "atlas-training", "tensorflow", "", "", "allow_fp32_to_fp16"},
      {"precision_mode", "atlas-training", "pytorch", "", "", "allow_fp32_to_fp16"},
      {"precision_mode", "atlas-a2", "pytorch", "", "", "must_keep_origin_dtype"},
      {"precision_mode", "atlas-a3", "mindspore", "", "", "must_keep_origin_dtype"},
      {"precision_mode", "atlas-training", "mindspore", "", "", nullptr},
      {"precision_mode", "", "pytorch", "", "", nullptr},
      {"precision_mode", "atlas-a2", "", "", "", nullptr},
      {"matmul_low_precision", "nvidia", "pytorch", "", "2.1.0", "false"},
      {"matmul_low_precision", "nvidia", "pytorch", "", "1.12.0", "false"},
      {"matmul_low_precision", "nvidia", "pytorch", "", "1.11.0", "true"},
      {"matmul_low_precision", "nvidia", "pytorch", "", "1.6.0", nullptr},
      {"matmul_low_precision", "nvidia", "pytorch", "", "", nullptr},
      {"matmul_low_precision", "atlas-a2", "pytorch", "", "", "false"},
      {"matmul_low_precision", "nvidia", "tensorflow", "", "2.6.5", "true"},
      {"conv_low_precision", "atlas-a2", "pytorch", "", "", "true"},
      {"conv_low_precision", "nvidia", "pytorch", "", "2.1.0+cu121", "true"},
      {"inf_nan_mode", "atlas-a2", "", "", "", "true"},
      {"inf_nan_mode", "atlas-training", "", "", "", nullptr},
      {"loss_scale_init", "", "pytorch", "megatron-args", "", "4294967296"},
      {"loss_scale_init", "", "pytorch", "deepspeed-json", "", "65536"},
      {"loss_scale_window", "", "pytorch", "hf-training-args-json", "", "2000"},
      {"loss_scale_window", "", "pytorch", "yaml", "", nullptr},
      {"batchnorm_eps", "", "tensorflow", "", "", "1e-3"},
      {"batchnorm_momentum", "", "mindspore", "", "", "0.9"},
      {"no_such_key", "atlas-a2", "pytorch", "", "", nullptr},
  };
  for (const DefaultCase& one : kCases) {
    const DefaultValue* found =
        BuiltInRules().defaults.Find(one.key, one.product, one.framework, one.library, one.version);
    SCOPED_TRACE(std::string(one.key) + " " + one.product + " " + one.framework + " " + one.library + " " +
                 one.version);
    if (one.value == nullptr) {
      EXPECT_EQ(found, nullptr);
      continue;
    }
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->text, one.value);
    EXPECT_FALSE(found->source.empty());
  }
}

TEST(Defaults, EveryKeyIsCanonicalAndHasASource) {
  for (const DefaultValue& one : BuiltInRules().defaults.all()) {
    EXPECT_NE(BuiltInRules().settings.FindKey(one.key), nullptr) << one.key;
    EXPECT_FALSE(one.source.empty()) << one.key;
  }
}

TEST(Versions, CompareByNumber) {
  EXPECT_LT(CompareVersions("1.9", "1.12"), 0);
  EXPECT_EQ(CompareVersions("2.1.0+cu121", "2.1"), 0);
  EXPECT_LT(CompareVersions("8.0.RC1", "8.0.0"), 0);
  EXPECT_LT(CompareVersions("8.0.RC2", "8.0.RC3"), 0);
  EXPECT_LT(CompareVersions("25.0.rc1.1", "25.0.1"), 0);
  EXPECT_TRUE(VersionFits("1.11", ">=1.7 <1.12"));
  EXPECT_FALSE(VersionFits("1.12", ">=1.7 <1.12"));
  EXPECT_TRUE(VersionFits("", ""));
  EXPECT_FALSE(VersionFits("", ">=1"));
}

}  // namespace
}  // namespace paritect
