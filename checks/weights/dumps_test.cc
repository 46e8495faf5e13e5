#include "checks/weights/dumps.h"

#include <gtest/gtest.h>

#include "checks/weights/fixture.h"

namespace paritect {
namespace {

constexpr char kForward[] = "first-step.forward.first-diverging-operator";
constexpr char kBackward[] = "first-step.gradients.first-diverging-operator";
constexpr auto kBack = v1::DumpedCall::DIRECTION_BACKWARD;

std::vector<v1::DumpedCall> Calls(double softmax = 6, double gelu = 2, double first = 9) {
  const double scale = first / 9;
  return {CallOf("Functional.embedding.0", {first}, {8 * scale}),
          CallOf("Torch.softmax.0", {8 * scale}, {softmax * scale}),
          CallOf("Functional.gelu.0", {softmax * scale}, {5 * softmax / 6 * scale}),
          CallOf("Functional.gelu.0", {1}, {gelu}, kBack), CallOf("Torch.softmax.0", {gelu}, {gelu * 2}, kBack)};
}

std::string Judge(const char* check, std::vector<v1::DumpedCall> a, std::vector<v1::DumpedCall> b) {
  return Verdict(check, {WithDump(Gpu({}), std::move(a))}, {WithDump(Npu({}), std::move(b))});
}

TEST(DivergingOperator, SmallDifferencesAgree) {
  EXPECT_EQ(Judge(kForward, Calls(), Calls(6.0001, 2.0001)), "pass");
  EXPECT_EQ(Judge(kBackward, Calls(), Calls(6.0001, 2.0001)), "pass");
}

TEST(DivergingOperator, TheFirstOneIsNamedAndNoneAfterIt) {
  EXPECT_EQ(Judge(kForward, Calls(), Calls(4)), "fail: first_divergence Torch.softmax.0");
  EXPECT_EQ(Judge(kBackward, Calls(), Calls(4)), "not_performed: !rank 0 of npu-1");
  EXPECT_EQ(Judge(kForward, Calls(), Calls(6, 3)), "pass");
  EXPECT_EQ(Judge(kBackward, Calls(), Calls(6, 3)), "fail: first_divergence Functional.gelu.0");
}

TEST(DivergingOperator, AnotherBatchBlamesNobody) {
  EXPECT_EQ(Judge(kForward, Calls(), Calls(6, 2, 11)), "not_performed: !rank 0 of npu-1");
  EXPECT_EQ(Judge(kForward, Calls(), Calls(4, 2, 11)), "not_performed: !rank 0 of npu-1");
}

TEST(DivergingOperator, WhatDrawsAtRandomIsNoFault) {
  std::vector<v1::DumpedCall> a = {CallOf("Functional.dropout.0", {9}, {8})};
  std::vector<v1::DumpedCall> b = {CallOf("Functional.dropout.0", {9}, {6})};
  EXPECT_EQ(Judge(kForward, a, b), "not_performed: !rank 0 of npu-1");
  a[0] = CallOf("Torch.empty.0", {9}, {8});
  b[0] = CallOf("Torch.empty.0", {9}, {6});
  a.push_back(CallOf("Torch.exp.0", {9}, {8}));
  b.push_back(CallOf("Torch.exp.0", {9}, {8}));
  EXPECT_EQ(Judge(kForward, a, b), "pass");
}

TEST(DivergingOperator, DifferencesThatGrowBlameNobody) {
  EXPECT_EQ(Judge(kForward, {CallOf("Torch.add.0", {9}, {8})}, {CallOf("Torch.add.0", {9.02}, {8.06})}),
            "not_performed: !rank 0 of npu-1");
}

TEST(DivergingOperator, AcrossFrameworksByOperation) {
  const auto judge = [](double softmax) {
    return Verdict(
        kForward, {WithDump(Gpu({}), {CallOf("Torch.bmm.0", {9}, {8}), CallOf("Functional.softmax.0", {8}, {6})})},
        {WithDump(Npu({}, "mindspore"),
                  {CallOf("Ops.BatchMatMul.3", {9}, {8}), CallOf("Mint.softmax.1", {8}, {softmax})}, "mindspore")});
  };
  EXPECT_EQ(judge(6), "pass");
  EXPECT_EQ(judge(3), "fail: first_divergence Functional.softmax.0");
}

TEST(DivergingOperator, TheRemedyIsTheFrameworks) {
  const auto remedy = [](const std::string& name, const std::string& framework) {
    const v1::CheckResult result = ResultOf(kForward, {WithDump(Gpu({}), {CallOf(name, {9}, {8})}, framework)},
                                            {WithDump(Npu({}), {CallOf(name, {9}, {5})}, framework)});
    return result.findings_size() == 0 ? std::string() : result.findings(0).remedy().en();
  };
  EXPECT_NE(remedy("Torch.softmax.0", "mindspore").find("ops.exp"), std::string::npos);
  EXPECT_NE(remedy("Torch.softmax.0", "pytorch").find("float32"), std::string::npos);
  EXPECT_NE(remedy("Torch.my_own.0", "pytorch").find("report it to the vendor"), std::string::npos);
}

TEST(DivergingOperator, ANumberThatIsNoneIsADifference) {
  EXPECT_EQ(Judge(kForward, {CallOf("Torch.exp.0", {9}, {8})}, {CallOf("Torch.exp.0", {9}, {std::nan("")})}),
            "fail: first_divergence Torch.exp.0");
  EXPECT_EQ(Judge(kForward, {CallOf("Torch.exp.0", {9}, {std::nan("")})}, {CallOf("Torch.exp.0", {9}, {std::nan("")})}),
            "pass");
}

TEST(DivergingOperator, GradientsHandedOutInAnotherFormAreNoPair) {
  const auto with_shapes = [](std::vector<v1::DumpedCall> calls, const std::vector<std::vector<std::int64_t>>& shapes) {
    v1::DumpedCall& last = calls.back();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (last.outputs_size() <= static_cast<int>(i)) *last.add_outputs() = last.outputs(0);
      *last.mutable_outputs(static_cast<int>(i))->mutable_shape() = {shapes[i].begin(), shapes[i].end()};
    }
    return calls;
  };
  const std::vector<v1::DumpedCall> a = with_shapes(Calls(), {{8}, {4, 8}, {8, 8}});
  const std::vector<v1::DumpedCall> b = with_shapes(Calls(6, 2.5), {{4, 8}, {8, 8}, {8}});
  EXPECT_EQ(Judge(kBackward, with_shapes(Calls(6, 2.5), {{8}, {4, 8}, {8, 8}}), a),
            "fail: first_divergence Functional.gelu.0");
  const v1::CheckResult result = ResultOf(kBackward, {WithDump(Gpu({}), a)}, {WithDump(Npu({}), b)});
  for (const v1::Finding& finding : result.findings()) EXPECT_NE(finding.subject(), "Torch.softmax.0");
}

TEST(DivergingOperator, NothingInCommonIsNotPerformed) {
  EXPECT_EQ(Judge(kForward, {CallOf("Torch.exp.0", {9}, {8})}, {CallOf("Torch.log.0", {9}, {8})}),
            "not_performed: !rank 0 of npu-1");
  EXPECT_EQ(Verdict(kForward, {WithDump(Gpu({}), Calls())}, {Npu({})}), "not_performed: !migrated");
}

}  // namespace
}  // namespace paritect
