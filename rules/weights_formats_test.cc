#include "rules/weights_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using testing::HasSubstr;

TEST(WeightsFormats, FactsByName) {
  EXPECT_TRUE(FactsOfWeightsFormat("onnx").holds_any_axes);
  EXPECT_FALSE(FactsOfWeightsFormat("onnx").may_be_split);
  EXPECT_TRUE(FactsOfWeightsFormat("megatron").may_be_split);
  EXPECT_FALSE(FactsOfWeightsFormat("no such format").holds_any_axes);
}

TEST(WeightsFormats, AWrongTableSaysWhere) {
  const auto root = ParseDocument("formats:\n  - {format: a, facts: [splits]}\n");
  ASSERT_TRUE(root.ok());
  const absl::Status read = ReadWeightsFormats(*root).status();
  EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(read.message(), HasSubstr("2:"));
  EXPECT_THAT(read.message(), HasSubstr("unknown fact 'splits'"));
}

}  // namespace
}  // namespace paritect
