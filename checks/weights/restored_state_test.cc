#include <gtest/gtest.h>

#include <limits>

#include "checks/weights/fixture.h"

namespace paritect {
namespace {

v1::Weights With(v1::Weights weights, const std::string& fact, std::int64_t value) {
  v1::CheckpointFact& added = *weights.add_facts();
  added.set_name(fact);
  added.mutable_value()->set_integer(value);
  return weights;
}

v1::CheckResult Judge(std::vector<v1::Weights> states) {
  return ResultOf("training.flow.state", {Gpu({})}, {WithWeights(Npu({}), std::move(states))});
}

TEST(RestoredState, CountersGoOn) {
  const Floats w = RandomFloats(64, 1);
  const auto state = [&](std::int64_t step, std::int64_t counter) {
    return With(StateAt(step, {TensorOf("w", {64}, w)}), "optimizer.state.0.step", counter);
  };
  EXPECT_FALSE(HasKind(Judge({state(100, 100), state(200, 200)}), v1::SEVERITY_ERROR, "counter_restarted"));
  EXPECT_FALSE(HasKind(Judge({state(100, 100), state(200, 150)}), v1::SEVERITY_ERROR, "counter_restarted"));
  EXPECT_TRUE(HasKind(Judge({state(100, 100), state(150, 50)}), v1::SEVERITY_ERROR, "counter_restarted"));
}

TEST(RestoredState, CountersOfTensorsAndOtherFacts) {
  const auto state = [](std::int64_t step, float counter) {
    return StateAt(step, {TensorOf("global_step", {}, {counter}, "I32")});
  };
  EXPECT_TRUE(HasKind(Judge({state(100, 100), state(150, 50)}), v1::SEVERITY_ERROR, "counter_restarted"));
  const v1::Weights a = With(StateAt(100, {}), "loss_scale", 65536), b = With(StateAt(150, {}), "loss_scale", 1024);
  EXPECT_FALSE(HasKind(Judge({a, b}), v1::SEVERITY_ERROR, "counter_restarted"));
}

TEST(RestoredState, AnOptimizerThatLostItsStateIsNamed) {
  const auto state = [](std::int64_t step, const Floats& moments) {
    return StateAt(step, {TensorOf("moments.w", {64}, moments)});
  };
  const Floats filled = RandomFloats(64, 1), zeros(64);
  EXPECT_TRUE(HasKind(Judge({state(1, filled), state(2, zeros)}), v1::SEVERITY_ERROR, "optimizer_state_empty"));
  EXPECT_FALSE(HasKind(Judge({state(1, zeros), state(2, zeros)}), v1::SEVERITY_ERROR, "optimizer_state_empty"));
  EXPECT_FALSE(HasKind(Judge({state(0, zeros), state(1, filled)}), v1::SEVERITY_ERROR, "optimizer_state_empty"));
  Floats broken = filled;
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(HasKind(Judge({state(1, filled), state(2, broken)}), v1::SEVERITY_ERROR, "optimizer_state_not_finite"));
  EXPECT_FALSE(HasKind(Judge({state(1, broken), state(2, broken)}), v1::SEVERITY_ERROR, "optimizer_state_not_finite"));
  EXPECT_TRUE(HasKind(Judge({state(1, filled), StateAt(2, {TensorOf("w", {64}, filled)})}), v1::SEVERITY_WARNING,
                      "optimizer_state_not_kept"));
}

}  // namespace
}  // namespace paritect
