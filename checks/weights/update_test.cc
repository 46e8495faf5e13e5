// What one step did to the weights, with its innocent twins.
#include <gtest/gtest.h>

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

TEST(Updated, EverythingMoves) {
  EXPECT_EQ(Verdict(kUpdated, {A()}, {B()}), "pass");
}

TEST(Updated, ATensorThatStandsStillIsNamed) {
  EXPECT_EQ(Verdict(kUpdated, {A()}, {B({.norm = Floats(128)})}), "fail: not_updated norm.weight");
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

TEST(SameUpdate, TheSameStepPasses) {
  EXPECT_EQ(Verdict(kSame, {A()}, {B()}), "pass");
  Step near;
  near.dense = Sum(near.dense, RandomFloats(1280, 20, 1e-4F));
  EXPECT_EQ(Verdict(kSame, {A()}, {B(near)}), "pass");
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
