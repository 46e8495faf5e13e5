#include "formats/tensors/msprobe_dump.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_testing.h"

namespace paritect {
namespace {

constexpr absl::string_view kDump = R"({
 "task": "statistics", "level": "L1", "framework": "mindspore", "dump_data_dir": null,
 "data": {
  "Functional.softmax.0.forward": {
   "input_args": [{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 4], "Max": 1.5, "Min": -1.4,
                   "Mean": 0.01, "Norm": 3.2, "md5": "1A2B3C4D"}, {"type": "int", "value": -1}, null],
   "input_kwargs": {"mask": {"type": "mindspore.Tensor", "dtype": "Bool", "shape": [4], "Max": null, "Min": null}},
   "output": [{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 4], "Max": NaN, "Min": -Infinity,
               "Mean": 0, "Norm": 1}]},
  "Module.layers.0.attn.Attention.forward.0": {"input_args": [], "input_kwargs": {},
   "parameters": {"weight": {"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [8], "Norm": 2.5}},
   "output": {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [], "Norm": 1}},
  "Functional.softmax.0.backward": {"input": [], "output": []},
  "Module.layers.0.attn.Attention.parameters_grad": {
   "weight": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8], "Norm": 0.25}]}}})";

TEST(MsprobeDump, ReadsCallsInOrder) {
  const auto dump =
      ReadMsprobeDump(kDump, R"({"Functional.softmax.0.forward": "Module.layers.0.attn.Attention.forward.0"})");
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->framework(), "mindspore");
  ASSERT_EQ(dump->calls_size(), 4);
  const v1::DumpedCall& softmax = dump->calls(0);
  EXPECT_EQ(softmax.name(), "Functional.softmax.0");
  EXPECT_EQ(softmax.operator_(), "softmax");
  EXPECT_EQ(softmax.module(), "Module.layers.0.attn.Attention.forward.0");
  ASSERT_EQ(softmax.inputs_size(), 2);
  EXPECT_EQ(softmax.inputs(0).dtype(), "F16");
  EXPECT_EQ(softmax.inputs(0).digest(), "crc32:1a2b3c4d");
  EXPECT_EQ(softmax.inputs(1).place(), "input.mask");
  EXPECT_FALSE(softmax.inputs(1).has_max());
  EXPECT_EQ(softmax.scalars().at("input.1"), "-1");
  EXPECT_TRUE(std::isnan(softmax.outputs(0).max()));
  EXPECT_TRUE(std::isinf(softmax.outputs(0).min()));
  const v1::DumpedCall& module = dump->calls(1);
  EXPECT_TRUE(module.is_module());
  EXPECT_EQ(module.name(), "Module.layers.0.attn.Attention.0");
  EXPECT_EQ(module.operator_(), "Attention");
  EXPECT_EQ(module.inputs(0).place(), "parameters.weight");
  EXPECT_EQ(module.outputs_size(), 1);
  EXPECT_EQ(dump->calls(2).direction(), v1::DumpedCall::DIRECTION_BACKWARD);
  EXPECT_EQ(dump->calls(3).direction(), v1::DumpedCall::DIRECTION_PARAMETERS_GRADIENT);
  EXPECT_EQ(dump->calls(3).outputs(0).place(), "gradient.weight.0");
}

TEST(MsprobeDump, RefusesWhatIsNone) {
  EXPECT_EQ(CodeOf(ReadMsprobeDump("", "")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(ReadMsprobeDump("{\"task\": 1}", "")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(ReadMsprobeDump(
                R"({"data": {"a.0.forward": {"output": [{"type": "torch.Tensor", "shape": [-1]}]}}})", "")),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(ReadMsprobeDump(R"({"data": {}})", "{")), absl::StatusCode::kInvalidArgument);
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "[";
  for (int i = 0; i < 40; ++i) deep += "]";
  EXPECT_EQ(CodeOf(ReadMsprobeDump(absl::StrCat(R"({"data": {"a.0.forward": {"output": )", deep, "}}}"), "")),
            absl::StatusCode::kInvalidArgument);
}

TEST(MsprobeDump, IsRecognisedByItsHead) {
  EXPECT_TRUE(LooksLikeMsprobeDump(kDump));
  EXPECT_FALSE(LooksLikeMsprobeDump(R"({"data": {}, "task": "x"})"));
  EXPECT_FALSE(LooksLikeMsprobeDump("task data dump_data_dir"));
}

}  // namespace
}  // namespace paritect
