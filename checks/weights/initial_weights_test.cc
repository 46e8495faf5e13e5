#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "checks/weights/fixture.h"

namespace paritect {
namespace {

constexpr char kCheck[] = "training.flow.initial-weights";
constexpr char kGraph[] = "training.flow.graph";

std::string Judge(v1::Weights a, v1::Weights b, const char* check = kCheck) {
  return Verdict(check, {WithWeights(Gpu({}), {std::move(a)})}, {WithWeights(Npu({}), {std::move(b)})});
}

// A model by two names each: conv, norm and dense.
v1::Weights Torch(const Floats& conv = RandomFloats(216, 1), const Floats& dense = RandomFloats(640, 2)) {
  return StateAt(
      0, {TensorOf("module.conv1.weight", {8, 3, 3, 3}, conv), TensorOf("module.ln.weight", {64}, RandomFloats(64, 3)),
          TensorOf("module.ln.bias", {64}, RandomFloats(64, 4)), TensorOf("module.fc.weight", {10, 64}, dense),
          TensorOf("module.bn.num_batches_tracked", {}, {0}, "I64")});
}
v1::Weights MindSpore() {
  return StateAt(0, {TensorOf("ln.gamma", {64}, RandomFloats(64, 3)), TensorOf("ln.beta", {64}, RandomFloats(64, 4)),
                     TensorOf("fc.weight", {10, 64}, RandomFloats(640, 2)),
                     TensorOf("conv1.weight", {8, 3, 3, 3}, RandomFloats(216, 1)),
                     TensorOf("moments.fc.weight", {10, 64}, Floats(640)), TensorOf("learning_rate", {}, {0.1F})});
}

TEST(InitialWeights, TheSameUnderOtherNamesPasses) {
  EXPECT_EQ(Judge(Torch(), MindSpore()), "pass");
  EXPECT_EQ(Judge(Torch(), MindSpore(), kGraph), "pass");
}

TEST(InitialWeights, ALayoutIsNoDifferenceAndAnOrderIsOne) {
  v1::Weights other = MindSpore();
  Floats shuffled = RandomFloats(640, 2);
  std::reverse(shuffled.begin() + 7, shuffled.end());
  *other.mutable_tensors(2) = TensorOf("fc.weight", {64, 10}, shuffled);
  EXPECT_EQ(Judge(Torch(), other), "pass");
  const v1::CheckResult transposed =
      ResultOf(kCheck, {WithWeights(Gpu({}), {Torch()})}, {WithWeights(Npu({}), {other})});
  EXPECT_TRUE(HasKind(transposed, v1::SEVERITY_NOTE, "transposed"));
  *other.mutable_tensors(2) = TensorOf("fc.weight", {10, 64}, shuffled);
  EXPECT_EQ(Judge(Torch(), other), "fail: weights_differ module.fc.weight");
}

// One model of one tensor of 4096 elements, in another state on each side.
std::string JudgeOne(const Floats& a, const Floats& b) {
  return Judge(StateAt(0, {TensorOf("w", {64, 64}, a)}), StateAt(0, {TensorOf("w", {64, 64}, b)}));
}

TEST(InitialWeights, ChangedWeightsAreNoOtherDraw) {
  const Floats drawn = RandomFloats(4096, 1);
  EXPECT_EQ(JudgeOne(drawn, RandomFloats(4096, 2)), "pass");
  const Floats noise = RandomFloats(4096, 3, 0.001F);
  Floats scaled = drawn, negated = drawn, disturbed = drawn;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    scaled[i] *= 1.1F;
    negated[i] *= -1;
    disturbed[i] += noise[i];
  }
  for (const Floats* changed : {&scaled, &negated, &disturbed}) {
    EXPECT_EQ(JudgeOne(drawn, *changed), "fail: weights_differ w");
  }
}

TEST(InitialWeights, WhatIsNoNumberFailsOnEitherSideAndOnBoth) {
  Floats broken = RandomFloats(4096, 2);
  broken[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(JudgeOne(RandomFloats(4096, 1), broken), "fail: weights_not_finite w");
  EXPECT_EQ(JudgeOne(broken, RandomFloats(4096, 1)), "fail: weights_not_finite w");
  EXPECT_THAT(JudgeOne(broken, broken), testing::StartsWith("fail: weights_not_finite w"));
}

TEST(InitialWeights, NothingBesideNothingIsNoAgreement) {
  EXPECT_NE(Judge(StateAt(0, {}), StateAt(0, {})), "pass");
  EXPECT_NE(Judge(StateAt(0, {}), StateAt(0, {}), kGraph), "pass");
}

TEST(InitialWeights, OneElementIsEnough) {
  v1::Weights other = MindSpore();
  Floats conv = RandomFloats(216, 1);
  conv[100] += 1e-3F;
  *other.mutable_tensors(3) = TensorOf("conv1.weight", {8, 3, 3, 3}, conv);
  EXPECT_EQ(Judge(Torch(), other), "fail: weights_differ module.conv1.weight");
}

TEST(InitialWeights, ExchangedNamesAreToldAsSuch) {
  v1::Weights other = MindSpore();
  other.mutable_tensors(0)->set_name("ln.beta");
  other.mutable_tensors(1)->set_name("ln.gamma");
  EXPECT_EQ(Judge(Torch(), other), "fail: names_exchanged module.ln.weight");
}

TEST(InitialWeights, WhatLacksDoesNotPass) {
  v1::Weights other = MindSpore();
  other.mutable_tensors()->DeleteSubrange(3, 1);
  EXPECT_EQ(Judge(Torch(), other), "not_performed: !baseline");
  EXPECT_EQ(Judge(Torch(), other, kGraph), "fail: parameter_missing module.conv1.weight");
  EXPECT_EQ(Verdict(kCheck, {WithWeights(Gpu({}), {Torch()})}, {Npu({})}), "not_performed: !migrated");
  v1::Weights later = MindSpore();
  later.set_step(100);
  EXPECT_EQ(Judge(Torch(), later), "not_performed: !npu");
}

TEST(InitialWeights, RoundingToANarrowTypeIsForeseen) {
  v1::Weights other = MindSpore();
  Floats rounded;
  for (const float value : RandomFloats(640, 2)) rounded.push_back(ToBf16(value));
  *other.mutable_tensors(2) = TensorOf("fc.weight", {10, 64}, rounded, "BF16");
  EXPECT_EQ(Judge(Torch(), other), "pass");
  rounded[5] *= 2;
  *other.mutable_tensors(2) = TensorOf("fc.weight", {10, 64}, rounded, "BF16");
  EXPECT_NE(Judge(Torch(), other), "pass");
}

TEST(InitialWeights, PartsAddUp) {
  const Floats all = RandomFloats(3 * 64, 5), head = RandomFloats(640, 6);
  const auto part = [&](std::size_t i) {
    return Floats(all.begin() + static_cast<std::ptrdiff_t>(i * 64),
                  all.begin() + static_cast<std::ptrdiff_t>(i * 64 + 64));
  };
  const auto fused = [&](const Floats& values) {
    return StateAt(0, {TensorOf("decoder.layers.0.self_attention.linear_qkv.weight", {24, 8}, values),
                       TensorOf("output_layer.weight", {10, 64}, head)});
  };
  const v1::Weights split = StateAt(0, {TensorOf("model.layers.0.self_attn.q_proj.weight", {8, 8}, part(0)),
                                        TensorOf("model.layers.0.self_attn.k_proj.weight", {8, 8}, part(1)),
                                        TensorOf("model.layers.0.self_attn.v_proj.weight", {8, 8}, part(2)),
                                        TensorOf("lm_head.weight", {10, 64}, head)});
  EXPECT_EQ(Judge(split, fused(all)), "pass");
  EXPECT_EQ(Judge(split, fused(all), kGraph), "pass");
  Floats other = all;
  other[100] = 1;
  EXPECT_EQ(Judge(split, fused(other)).find("fail: weights_differ"), 0U);
  // Ranks hold halves of one tensor.
  v1::Weights halves[2];
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const auto middle = head.begin() + 320;
    halves[rank] =
        OfRank(rank, StateAt(0, {TensorOf("output_layer.weight", {5, 64},
                                          rank == 0 ? Floats(head.begin(), middle) : Floats(middle, head.end()))}));
    halves[rank].mutable_place()->set_tensor_rank(rank);
  }
  const v1::Weights whole = StateAt(0, {TensorOf("lm_head.weight", {10, 64}, head)});
  EXPECT_EQ(Verdict(kCheck, {WithWeights(Gpu({}), {whole})}, {WithWeights(Npu({}), {halves[0], halves[1]})}), "pass");
}

TEST(InitialWeights, RandomOnesAreJudgedByTheirLaw) {
  const auto drawn = [](unsigned seed, float deviation) {
    return StateAt(0, {TensorOf("fc.weight", {100, 100}, RandomFloats(10'000, seed, deviation)),
                       TensorOf("embed.weight", {100, 100}, RandomFloats(10'000, seed + 1)),
                       TensorOf("fc.bias", {100}, Floats(100))});
  };
  EXPECT_EQ(Judge(drawn(1, 0.02F), drawn(7, 0.02F)), "pass");
  EXPECT_EQ(Judge(drawn(1, 0.02F), drawn(7, 0.01F)), "fail: law_differs fc.weight");
  v1::Weights ones = drawn(7, 0.02F);
  *ones.mutable_tensors(2) = TensorOf("fc.bias", {100}, Floats(100, 1.0F));
  EXPECT_EQ(Judge(drawn(1, 0.02F), ones), "fail: law_differs fc.bias");
}

TEST(InitialWeights, WhatWasNamedMustBeLoaded) {
  v1::Weights file = Torch();
  file.set_stage("pretrained");
  const auto judge = [&](v1::Weights model) {
    return Verdict(kCheck, {WithWeights(Gpu({}), {file, Torch()})}, {WithWeights(Npu({}), {file, std::move(model)})});
  };
  EXPECT_EQ(judge(MindSpore()), "pass");
  v1::Weights other = MindSpore();
  *other.mutable_tensors(2) = TensorOf("fc.weight", {10, 64}, RandomFloats(640, 99));
  EXPECT_NE(judge(other).find("not_loaded fc.weight"), std::string::npos);
}

}  // namespace
}  // namespace paritect
