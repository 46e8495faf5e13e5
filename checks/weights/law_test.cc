#include "checks/weights/law.h"

#include <gtest/gtest.h>

#include "checks/weights/fixture.h"

namespace paritect {
namespace {

constexpr char kCheck[] = "training.flow.initial-weights";

std::string Judge(v1::Weights a, v1::Weights b, const char* check = kCheck) {
  return Verdict(check, {WithWeights(Gpu({}), {std::move(a)})}, {WithWeights(Npu({}), {std::move(b)})});
}
std::string JudgeOne(const Floats& a, const Floats& b) {
  return Judge(StateAt(0, {TensorOf("w", {64, 64}, a)}), StateAt(0, {TensorOf("w", {64, 64}, b)}));
}

TEST(Law, RandomOnesAreJudgedByTheirLaw) {
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

// What little values tell of their law: their size, and of one that nothing was drawn.
TEST(Law, FewValuesRaiseNoFalseAlarm) {
  const auto with = [](unsigned seed, const Floats& few) {
    return StateAt(0, {TensorOf("fc.weight", {100, 100}, RandomFloats(10'000, seed)),
                       TensorOf("fc.bias", {static_cast<std::int64_t>(few.size())}, few)});
  };
  EXPECT_EQ(Judge(with(1, {0.31F}), with(7, {-0.004F})), "pass");
  EXPECT_EQ(Judge(with(1, {0.31F}), with(7, {0})), "fail: law_differs fc.bias") << "set, and not drawn";
  EXPECT_EQ(Judge(with(1, {0}), with(7, {1})), "fail: law_differs fc.bias");
  EXPECT_EQ(Judge(with(1, {0}), with(7, {0})), "pass");
  EXPECT_EQ(Judge(with(1, {1e-6F}), with(7, {0.5F})), "fail: law_differs fc.bias");
  EXPECT_EQ(Judge(with(1, {0.1F, 0.11F}), with(7, {-0.5F, 0.3F})), "pass");
  EXPECT_EQ(Judge(with(1, {0.1F, 0.1F}), with(7, {-0.5F, 0.3F})), "fail: law_differs fc.bias") << "set, and not drawn";
  EXPECT_EQ(Judge(with(1, {0.1F, -0.2F, 0.3F, 0.2F}), with(7, {9, -8, 9, 8})), "fail: law_differs fc.bias");
  for (unsigned seed = 10; seed < 60; ++seed) {
    EXPECT_EQ(Judge(with(1, RandomFloats(3, seed)), with(7, RandomFloats(3, seed + 100))), "pass") << seed;
  }
}

TEST(Law, SingleValuesOutsideTheLawAreSeen) {
  Floats broken = RandomFloats(4096, 2);
  broken[77] = 3.0F;
  EXPECT_EQ(JudgeOne(RandomFloats(4096, 1), broken), "fail: law_differs w");
  EXPECT_EQ(JudgeOne(broken, RandomFloats(4096, 1)), "fail: law_differs w");
  for (unsigned seed = 10; seed < 20; ++seed) {
    EXPECT_EQ(JudgeOne(RandomFloats(4096, 1), RandomFloats(4096, seed)), "pass") << seed;
  }
}

}  // namespace
}  // namespace paritect
