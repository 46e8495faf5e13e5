#include "rules/operators.h"

#include <gtest/gtest.h>

#include "rules/rules.h"

namespace paritect {
namespace {

TEST(Operators, OneNameForOneOperation) {
  const Operators& operators = BuiltInRules().operators;
  EXPECT_EQ(operators.Common("BatchMatMul"), operators.Common("bmm"));
  EXPECT_EQ(operators.Common("npu_fusion_attention"), "scaled_dot_product_attention");
  EXPECT_EQ(operators.Common("MyOwn"), "myown");
  EXPECT_TRUE(operators.IsRandom("dropout_ext"));
  EXPECT_TRUE(operators.IsSkipped("Empty_Like"));
  EXPECT_FALSE(operators.IsRandom("softmax"));
}

TEST(Operators, ReplacementsAreThoseOfTheFramework) {
  const Operators& operators = BuiltInRules().operators;
  ASSERT_NE(operators.ReplacementOf("Softmax", "mindspore"), nullptr);
  EXPECT_NE(operators.ReplacementOf("Softmax", "mindspore"), operators.ReplacementOf("softmax", "pytorch"));
  EXPECT_NE(operators.ReplacementOf("bmm", "mindspore"), nullptr);
  EXPECT_EQ(operators.ReplacementOf("MyOwn", "mindspore"), nullptr);
}

TEST(Operators, BadEntriesAreNamed) {
  for (const char* text :
       {"same: [[a]]", "random: [a]", "replace: [{operator: a, instead: b, source: c}]", "other: []"}) {
    Operators operators;
    const auto root = ParseDocument(text);
    ASSERT_TRUE(root.ok());
    EXPECT_EQ(operators.Add(*root).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace paritect
