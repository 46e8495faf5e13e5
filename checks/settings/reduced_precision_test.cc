// migrated.mixed-precision.matmul-conv, .level and baseline.mixed-precision.hidden-low-precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr char kMatmulConv[] = "migrated.mixed-precision.matmul-conv";
constexpr char kHidden[] = "baseline.mixed-precision.hidden-low-precision";
constexpr char kLevel[] = "migrated.mixed-precision.level";

const KeysAndTexts kFp32 = {{"fp16", "False"}, {"bf16", "False"}};
const KeysAndTexts kBf16 = {{"fp16", "False"}, {"bf16", "True"}};

v1::SettingsDocument Torch(const std::string& version) {
  return PackagesOf({{"package.torch", version}});
}

TEST(MatmulConv, DefaultsOfBothSidesCount) {
  // torch 2: no TF32 in matmul, TF32 in convolutions; the NPU has HF32 in the same places.
  const v1::CheckResult result = ResultOf(kMatmulConv, {Gpu({Arguments("yaml", kFp32), Torch("2.1.0")})},
                                          {Npu({Arguments("yaml", kFp32), Torch("2.1.0")})});
  EXPECT_EQ(Told(result), "pass");
  EXPECT_TRUE(HasKind(result, v1::SEVERITY_NOTE, "reduced_convolution"));
  // torch 1.8 had TF32 on in matmul.
  EXPECT_EQ(Verdict(kMatmulConv, {Gpu({Arguments("yaml", kFp32), Torch("1.8.0")})},
                    {Npu({Arguments("yaml", kFp32), Torch("1.8.0")})}),
            "fail: shortcut_differs matmul");
  // The baseline's version decides and is not known.
  EXPECT_EQ(Verdict(kMatmulConv, {Gpu({Arguments("yaml", kFp32)})}, {Npu({Arguments("yaml", kFp32)})}),
            "not_performed: !gpu, !gpu");
}

TEST(MatmulConv, VariablesCount) {
  const auto gpu = [](const KeysAndTexts& variables, const KeysAndTexts& type) {
    return Gpu({Arguments("yaml", type), Torch("2.1.0"), Environment(variables)});
  };
  const auto npu = [](const KeysAndTexts& type) { return Npu({Arguments("yaml", type), Torch("2.1.0")}); };
  EXPECT_EQ(Verdict(kMatmulConv, {gpu({{"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"}}, kFp32)}, {npu(kFp32)}),
            "fail: shortcut_differs matmul, ~tf32_by_variable gpu");
  EXPECT_EQ(Verdict(kMatmulConv, {gpu({{"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"}}, kBf16)}, {npu(kBf16)}),
            "pass: ~tf32_by_variable gpu, ~shortcut_differs matmul");
  EXPECT_EQ(Verdict(kMatmulConv, {gpu({{"NVIDIA_TF32_OVERRIDE", "0"}}, kFp32)}, {npu(kFp32)}),
            "pass: ~shortcut_differs convolution");
}

TEST(HiddenLowPrecision, InAnFp32Reference) {
  const auto judge = [](std::vector<v1::SettingsDocument> documents) {
    v1::Bundle bundle = Gpu(std::move(documents));
    bundle.mutable_plan()->set_role(v1::ROLE_FP32_REFERENCE);
    return Verdict(kHidden, {bundle}, {});
  };
  EXPECT_EQ(judge({Arguments("yaml", kFp32), Torch("2.1.0")}), "pass");
  EXPECT_EQ(judge({Arguments("yaml", kFp32), Torch("1.10.0")}), "fail: hidden_low_precision gpu");
  EXPECT_EQ(judge({Arguments("yaml", kFp32), Torch("1.10.0"), Environment({{"NVIDIA_TF32_OVERRIDE", "0"}})}), "pass");
  EXPECT_EQ(judge({Arguments("yaml", kBf16), Torch("2.1.0")}), "fail: hidden_low_precision gpu");
  EXPECT_EQ(judge({Arguments("yaml", kFp32)}), "not_performed: !gpu");
  EXPECT_EQ(judge({}), "not_performed: !gpu");
  EXPECT_EQ(Verdict(kHidden, {Gpu({Arguments("yaml", kFp32), Torch("2.1.0")})}, {}), "not_performed: !baseline");
}

TEST(AmpLevel, OfMindSporeOnAscend) {
  const auto judge = [](const std::string& level) {
    return Verdict(kLevel, {}, {Npu({Arguments("yaml", {{"amp_level", level}})}, "mindspore")});
  };
  EXPECT_EQ(judge("O3"), "pass");
  EXPECT_EQ(judge("auto"), "pass");
  EXPECT_EQ(judge("O2"), "pass: ~level_of_gpu npu");
  EXPECT_EQ(judge("O0"), "fail: level_off npu");
  EXPECT_EQ(judge("O7"), "fail: unknown_level npu");
  EXPECT_EQ(Verdict(kLevel, {}, {Npu({Arguments("yaml", kBf16)}, "mindspore")}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kLevel, {}, {Npu({Arguments("yaml", kBf16)}, "pytorch")}), "pass");
  EXPECT_EQ(Verdict(kLevel, {}, {}), "not_performed: !migrated");
}

}  // namespace
}  // namespace paritect
