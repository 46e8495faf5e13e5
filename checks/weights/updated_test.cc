// What one step did to the weights, with its innocent twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/weights/checkpoints.h"
#include "checks/weights/fixture.h"

namespace paritect {
namespace {

constexpr char kUpdated[] = "first-step.update.updated";
constexpr char kSame[] = "first-step.update.same-update";

struct Step {
  Floats dense = RandomFloats(1280, 10, 1e-3F);  // changes of each tensor
  Floats norm = Floats(128, 1e-3F);
  std::string dtype = "F32";
};

Floats Sum(Floats a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

std::vector<v1::Weights> States(const Step& step) {
  const auto state = [&](std::int64_t at, bool moved) {
    const Floats dense = RandomFloats(1280, 1), norm(128, 1.0F);
    return StateAt(at, {TensorOf("fc.weight", {10, 128}, moved ? Sum(dense, step.dense) : dense, step.dtype),
                        TensorOf("norm.weight", {128}, moved ? Sum(norm, step.norm) : norm, step.dtype)});
  };
  return {state(0, false), state(1, true)};
}

v1::Bundle A(const Step& step = {}) {
  return WithWeights(Gpu({}), States(step));
}
v1::Bundle B(const Step& step = {}) {
  return WithWeights(Npu({}), States(step));
}

v1::Bundle Adam(v1::Bundle bundle, const std::string& bf16) {
  const v1::Bundle settings =
      Gpu({Arguments("argparse-namespace", {{"optimizer", "adam"}, {"bf16", bf16}, {"fp16", "false"}})});
  for (const v1::Evidence& evidence : settings.evidence()) {
    if (evidence.has_settings()) *bundle.add_evidence() = evidence;
  }
  return bundle;
}

v1::Bundle AdamInBf16(v1::Bundle bundle) {
  return Adam(std::move(bundle), "true");
}

TEST(Updated, EverythingMoves) {
  EXPECT_EQ(Verdict(kUpdated, {A()}, {B()}), "pass");
}

TEST(Updated, ATensorThatStandsStillIsNamed) {
  EXPECT_EQ(Verdict(kUpdated, {A()}, {B({.norm = Floats(128)})}), "fail: not_updated norm.weight");
}

// What the baseline freezes and the migrated run trains is another training.
TEST(Updated, ATensorThatMovesHereAloneIsNamed) {
  EXPECT_EQ(Verdict(kUpdated, {A({.norm = Floats(128)})}, {B()}), "fail: updated_alone norm.weight");
  // Lost in the baseline's own type.
  EXPECT_EQ(Verdict(kUpdated, {A({.norm = Floats(128), .dtype = "BF16"})}, {B()}), "pass");
}

TEST(Updated, InnocentReasonsAreNoFault) {
  const Step frozen = {.norm = Floats(128)}, still = {.dense = Floats(1280), .norm = Floats(128)};
  EXPECT_EQ(Verdict(kUpdated, {A(frozen)}, {B(frozen)}), "pass");
  EXPECT_EQ(Verdict(kUpdated, {A(still)}, {B(still)}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kUpdated, {A()}, {WithStep(B(still), 1, 0.0)}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kUpdated, {A()}, {WithStep(B(still), 1, 1e-3, true)}), "not_performed: !npu");
  // A skipped step later on excuses nothing.
  EXPECT_EQ(Verdict(kUpdated, {A()}, {WithStep(B(frozen), 2, 1e-3, true)}), "fail: not_updated norm.weight");
  EXPECT_EQ(Verdict(kUpdated, {Gpu({})}, {B(frozen)}), "not_performed: !norm.weight, !baseline");
}

TEST(Updated, AStepBelowTheTypesResolutionIsLost) {
  const Step lost = {.norm = Floats(128), .dtype = "BF16"};
  EXPECT_EQ(Verdict(kUpdated, {A()}, {WithStep(B(lost), 1, 1e-3)}), "pass: ~update_lost_in_rounding norm.weight");
  // A step that the type does take was not made.
  EXPECT_EQ(Verdict(kUpdated, {A({.norm = Floats(128, 0.1F)})}, {WithStep(B(lost), 1, 0.1)}),
            "fail: not_updated norm.weight");
}

TEST(Updated, ACheckpointThatCountsOtherwiseIsNotTheStepThatIsStated) {
  std::vector<v1::Weights> states = States({});
  v1::CheckpointFact& fact = *states[1].add_facts();
  fact.set_name("optimizer.state.0.step");
  fact.mutable_value()->set_number(1);
  EXPECT_EQ(Verdict(kUpdated, {A()}, {WithWeights(Npu({}), states)}), "pass");
  states[1].mutable_facts(0)->mutable_value()->set_number(500);
  EXPECT_EQ(Verdict(kUpdated, {A()}, {WithWeights(Npu({}), states)}), "not_performed: !npu");
}

TEST(SameUpdate, TheSameStepPasses) {
  EXPECT_EQ(Verdict(kSame, {A()}, {B()}), "pass");
}

TEST(SameUpdate, WhatStandsStillOnOneSideIsNoSameUpdate) {
  const Step norm_alone = {.dense = Floats(1280)}, dense_alone = {.norm = Floats(128)};
  EXPECT_EQ(Verdict(kSame, {A()}, {B(norm_alone)}).find("fail: update_direction_differs npu"), 0U);
  EXPECT_EQ(Verdict(kSame, {A(norm_alone)}, {B()}).find("fail: update_direction_differs npu"), 0U);
  EXPECT_EQ(Verdict(kSame, {A(dense_alone)}, {B(dense_alone)}), "pass") << "frozen on both sides";
}

TEST(SameUpdate, TheWiderLimitsNeedToBeKnownToHold) {
  Step near;
  near.dense = Sum(near.dense, RandomFloats(1280, 20, 1e-4F));
  EXPECT_EQ(Verdict(kSame, {A()}, {B(near)}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kSame, {AdamInBf16(A())}, {AdamInBf16(B(near))}), "pass");
}

// A row that stands still turns no tensor.
TEST(SameUpdate, APartThatOneSideLeaves) {
  const auto states = [](bool whole) {
    std::vector<v1::Weights> both = States({});
    both[1].mutable_tensors(0)->set_sampled_signs(std::string(whole ? 320 : 310, '\x55') +
                                                  std::string(whole ? 0 : 10, '\0'));
    if (!whole) both[1].mutable_tensors(0)->set_xxh3("other");
    return both;
  };
  const auto judge = [&](bool whole, const std::string& bf16) {
    return Verdict(kSame, {Adam(WithWeights(Gpu({}), states(true)), bf16)},
                   {Adam(WithWeights(Npu({}), states(whole)), bf16)});
  };
  EXPECT_EQ(judge(true, "false"), "pass");
  EXPECT_EQ(judge(false, "false"), "fail: update_direction_differs fc.weight");
  EXPECT_EQ(judge(false, "true"), "pass") << "in 16 bits a step may be lost";
}

// A bias of 12 elements has no sketch; all its signs are known.
TEST(SameUpdate, SmallTensorsAreSeenByTheirSigns) {
  const auto states = [](bool turned, const std::string& name, std::vector<std::int64_t> shape) {
    std::vector<v1::Weights> both = States({});
    for (v1::Weights& state : both) {
      for (v1::TensorFingerprint& tensor : *state.mutable_tensors()) {
        tensor.set_sampled_signs(std::string(ElementsOf(tensor) / 4, '\x55'));
      }
      v1::TensorFingerprint small = TensorOf(name, shape, Floats(12, state.step() == 0 ? 1.0F : 1.001F));
      if (state.step() == 1) small.set_sampled_signs(turned ? "\xaa\xaa\xaa" : "\x55\x55\x55");
      if (state.step() == 1 && turned) small.set_xxh3("other");
      *state.add_tensors() = small;
    }
    return both;
  };
  const auto judge = [&](bool turned, const std::string& name, const std::vector<std::int64_t>& shape) {
    return Verdict(kSame, {AdamInBf16(WithWeights(Gpu({}), states(false, name, shape)))},
                   {AdamInBf16(WithWeights(Npu({}), states(turned, name, shape)))});
  };
  EXPECT_EQ(judge(false, "head.weight", {3, 4}), "pass");
  EXPECT_EQ(judge(true, "head.weight", {3, 4}), "fail: update_direction_differs head.weight");
  EXPECT_EQ(judge(true, "head.bias", {12}), "pass: ~update_direction_differs head.bias") << "may be noise under Adam";
  EXPECT_EQ(judge(true, "head_norm.weight", {12}), "fail: update_direction_differs head_norm.weight")
      << "the gradient of a scale is never 0 by calculation";
}

// Neither sketch nor signs: bytes that are the same before and after are the same update.
TEST(SameUpdate, TheSameBytesBeforeAndAfterAreTheSameUpdate) {
  const auto states = [](float step, bool large) {
    std::vector<v1::Weights> both = States({});
    for (v1::Weights& state : both) {
      if (!large) state.clear_tensors();
      *state.add_tensors() = TensorOf("head.weight", {3, 4}, Floats(12, state.step() == 0 ? 1.0F : step));
      *state.add_tensors() = TensorOf("head.bias", {4}, Floats(4, state.step() == 0 ? 1.0F : 1.001F));
    }
    return both;
  };
  const auto result = [&](float step, bool large) {
    return ResultOf(kSame, {Adam(WithWeights(Gpu({}), states(1.001F, large)), "false")},
                    {Adam(WithWeights(Npu({}), states(step, large)), "false")});
  };
  const auto missing = [&](float step, bool large) {
    const v1::CheckResult one = result(step, large);
    EXPECT_EQ(one.missing_size(), 1) << one.DebugString();
    return one.missing_size() == 1 ? one.missing(0).what().en() : "";
  };
  EXPECT_EQ(result(1.001F, true).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(result(1.001F, false).verdict(), v1::VERDICT_PASS) << "a model of small tensors alone";
  EXPECT_THAT(missing(1.002F, true),
              testing::HasSubstr("1 tensors could not be compared ('head.weight' first): neither"));
  EXPECT_THAT(missing(1.002F, false), testing::HasSubstr("only 0 %"));
}

// A bias of 512 elements beside the rest: its step per element, and whether it points elsewhere in the migrated run.
std::vector<v1::Weights> WithBias(float size, bool turned, std::optional<float> gradient = std::nullopt) {
  std::vector<v1::Weights> states = States({});
  const Floats bias = RandomFloats(512, 31), step = RandomFloats(512, turned ? 33 : 32, size);
  *states[0].add_tensors() = TensorOf("k.bias", {512}, bias);
  *states[1].add_tensors() = TensorOf("k.bias", {512}, Sum(bias, step));
  if (!gradient.has_value()) return states;
  const std::pair<std::string, Floats> kGradients[] = {{"fc.weight", RandomFloats(1280, 41, 0.01F)},
                                                       {"norm.weight", RandomFloats(128, 42, 0.01F)},
                                                       {"k.bias", RandomFloats(512, 43, *gradient)}};
  for (const auto& [name, values] : kGradients) {
    v1::TensorFingerprint tensor = TensorOf(name, {static_cast<std::int64_t>(values.size())}, values);
    tensor.set_role(v1::TENSOR_ROLE_GRADIENT);
    *states[0].add_tensors() = std::move(tensor);
  }
  return states;
}

TEST(SameUpdate, ABiasThatTurnedIsAFaultUnlessItsGradientMayBeNoise) {
  const auto judge = [](const std::string& bf16, float size, std::optional<float> gradient = std::nullopt) {
    return Verdict(kSame, {Adam(WithWeights(Gpu({}), WithBias(size, false, gradient)), bf16)},
                   {Adam(WithWeights(Npu({}), WithBias(size, true, gradient)), bf16)});
  };
  const std::string fault = "update_direction_differs k.bias";
  EXPECT_EQ(judge("false", 1e-3F).rfind("fail: ", 0), 0U) << "a step of full size in fp32";
  EXPECT_EQ(judge("true", 2e-4F), "pass: ~" + fault) << "16 bits: noise makes steps as well";
  EXPECT_EQ(judge("true", 2e-4F, 1e-7F), "pass: ~" + fault) << "and its gradient is noise";
  EXPECT_EQ(judge("true", 2e-4F, 0.01F), "fail: " + fault) << "or is as large as the others";
}

TEST(SameUpdate, OneTensorOfAnotherSizeIsNamed) {
  Step other;
  other.dense = RandomFloats(1280, 10, 1e-3F);
  for (float& value : other.norm) value *= 1.5F;
  const std::string told = Verdict(kSame, {A()}, {B(other)});
  EXPECT_NE(told, "pass");
}

TEST(SameUpdate, AStartThatDiffersInPartDoesNotHideTheRest) {
  std::vector<v1::Weights> other = States({.dense = RandomFloats(1280, 11, 1e-3F), .norm = Floats(128)});
  *other[0].mutable_tensors(1) = TensorOf("norm.weight", {128}, Floats(128, 2.0F));
  const v1::CheckResult result = ResultOf(kSame, {A()}, {WithWeights(Npu({}), other)});
  ASSERT_TRUE(HasKind(result, v1::SEVERITY_ERROR, "update_direction_differs"));
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() != "update_direction_differs") continue;
    EXPECT_EQ(finding.facts().fields().at("caused_by").list_value().values_size(), 1);
  }
}

TEST(SameUpdate, AnotherBatchPointsElsewhere) {
  EXPECT_EQ(
      Verdict(kSame, {A({.norm = Floats(128)})}, {B({.dense = RandomFloats(1280, 11, 1e-3F), .norm = Floats(128)})})
          .find("fail: update_direction_differs"),
      0U);
}

TEST(SameUpdate, AFactorIsToldAsSuch) {
  Step twice;
  for (Floats* one : {&twice.dense, &twice.norm}) {
    for (float& value : *one) value *= 2;
  }
  EXPECT_EQ(Verdict(kSame, {A()}, {B(twice)}), "fail: update_size_differs npu");
}

TEST(SameUpdate, NeedsTheSameStartAndAStepThatTrains) {
  std::vector<v1::Weights> other = States({});
  *other[0].mutable_tensors(0) = TensorOf("fc.weight", {10, 128}, RandomFloats(1280, 77));
  EXPECT_EQ(Verdict(kSame, {A()}, {WithWeights(Npu({}), other)}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kSame, {A()}, {WithStep(B({.dense = Floats(1280), .norm = Floats(128)}), 1, 0.0)}),
            "not_performed: !npu");
}

}  // namespace
}  // namespace paritect
