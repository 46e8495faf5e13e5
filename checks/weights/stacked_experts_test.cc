// Experts and rows under names that say how they stand: matching.cc, layout.cc and tensor_comparison.cc together.
#include <gtest/gtest.h>

#include "checks/weights/fixture.h"

namespace paritect {
namespace {

constexpr char kGraph[] = "training.flow.graph";
constexpr char kCheck[] = "training.flow.initial-weights";

std::string Judge(v1::Weights a, v1::Weights b, const char* check = kCheck) {
  return Verdict(check, {WithWeights(Gpu({}), {std::move(a)})}, {WithWeights(Npu({}), {std::move(b)})});
}

// Experts by number, or stacked in one tensor with the axes of either.
TEST(StackedExperts, ExpertsOneByOneAndStacked) {
  constexpr std::int64_t kExperts = 3, kRows = 4, kColumns = 6;
  std::vector<v1::TensorFingerprint> alone;
  const auto stacked = [&](const std::vector<std::size_t>& order, bool up_first, bool turned, bool in_turn) {
    Floats all;
    for (const std::size_t expert : order) {
      const Floats gate = RandomFloats(24, static_cast<unsigned>(10 + expert));
      const Floats up = RandomFloats(24, static_cast<unsigned>(20 + expert));
      Floats one = up_first ? up : gate;
      one.insert(one.end(), (up_first ? gate : up).begin(), (up_first ? gate : up).end());
      if (in_turn) {
        one.clear();
        for (std::ptrdiff_t row = 0; row < kRows; ++row) {
          one.insert(one.end(), gate.begin() + row * kColumns, gate.begin() + (row + 1) * kColumns);
          one.insert(one.end(), up.begin() + row * kColumns, up.begin() + (row + 1) * kColumns);
        }
      }
      if (turned) one = Transposed(one, 2 * kRows, kColumns);
      all.insert(all.end(), one.begin(), one.end());
    }
    const std::vector<std::int64_t> shape = turned ? std::vector<std::int64_t>{kExperts, kColumns, 2 * kRows}
                                                   : std::vector<std::int64_t>{kExperts, 2 * kRows, kColumns};
    return StateAt(0, {TensorOf("model.layers.0.mlp.experts.gate_up_proj", shape, all)});
  };
  for (std::size_t expert = 0; expert < kExperts; ++expert) {
    const std::string name = absl::StrCat("model.layers.0.mlp.experts.", expert);
    alone.push_back(
        TensorOf(name + ".gate_proj.weight", {kRows, kColumns}, RandomFloats(24, static_cast<unsigned>(10 + expert))));
    alone.push_back(
        TensorOf(name + ".up_proj.weight", {kRows, kColumns}, RandomFloats(24, static_cast<unsigned>(20 + expert))));
  }
  const v1::Weights numbered = StateAt(0, alone);
  for (const char* check : {kCheck, kGraph}) {
    EXPECT_EQ(Judge(numbered, stacked({0, 1, 2}, false, false, false), check), "pass");
    EXPECT_EQ(Judge(stacked({0, 1, 2}, false, true, false), numbered, check), "pass");
  }
  EXPECT_EQ(Judge(numbered, stacked({1, 0, 2}, false, false, false)).find("fail: weights_differ"), 0U);
  EXPECT_EQ(Judge(numbered, stacked({0, 1, 2}, true, true, false)).find("fail: weights_differ"), 0U);
  EXPECT_EQ(Judge(numbered, stacked({0, 1, 2}, false, true, true)).find("not_performed"), 0U)
      << "rows in turn are in no hash of places";
}

// Megatron's grouped experts as they are told apart: each turned, gate and up in one, against single ones.
TEST(StackedExperts, GroupedExpertsAgainstSingleOnes) {
  constexpr std::size_t kRows = 4, kColumns = 6;
  std::vector<v1::TensorFingerprint> single, grouped, exchanged;
  for (unsigned expert = 0; expert < 2; ++expert) {
    const Floats gate = RandomFloats(24, 10 + expert), up = RandomFloats(24, 20 + expert);
    const Floats down = RandomFloats(24, 30 + expert);
    const std::string hf = absl::StrCat("model.layers.0.mlp.experts.", expert);
    single.push_back(TensorOf(hf + ".gate_proj.weight", {kRows, kColumns}, gate));
    single.push_back(TensorOf(hf + ".up_proj.weight", {kRows, kColumns}, up));
    single.push_back(TensorOf(hf + ".down_proj.weight", {kColumns, kRows}, down));
    Floats fused = gate;
    fused.insert(fused.end(), up.begin(), up.end());
    for (std::vector<v1::TensorFingerprint>* const side : {&grouped, &exchanged}) {
      const std::string megatron =
          absl::StrCat("model.decoder.layers.0.mlp.experts.local_experts.", side == &grouped ? expert : 1 - expert);
      side->push_back(
          TensorOf(megatron + ".linear_fc1.weight", {kColumns, 2 * kRows}, Transposed(fused, 2 * kRows, kColumns)));
      side->push_back(TensorOf(megatron + ".linear_fc2.weight", {kRows, kColumns}, Transposed(down, kColumns, kRows)));
    }
  }
  for (const char* check : {kCheck, kGraph}) {
    EXPECT_EQ(Judge(StateAt(0, single), StateAt(0, grouped), check), "pass");
    EXPECT_EQ(Judge(StateAt(0, grouped), StateAt(0, single), check), "pass");
  }
  EXPECT_EQ(Judge(StateAt(0, single), StateAt(0, exchanged)).find("fail: names_exchanged"), 0U);
}

// One side's names say that groups of rows stand in turn, the other's that they do not: both may be right.
TEST(StackedExperts, RowsInTurnUnderTheirNames) {
  const Floats rows = RandomFloats(48 * 16, 5);
  Floats grouped(rows.begin() + 16, rows.end());
  grouped.insert(grouped.end(), rows.begin(), rows.begin() + 16);
  const auto model = [](const char* name, const Floats& values) {
    return StateAt(0, {TensorOf(name, {48, 16}, values)});
  };
  EXPECT_EQ(Judge(model("model.layers.0.self_attn.qkv_proj.weight", rows),
                  model("decoder.layers.0.self_attention.linear_qkv.weight", grouped))
                .find("not_performed"),
            0U);
  EXPECT_EQ(Judge(model("model.layers.0.self_attn.qkv_proj.weight", rows),
                  model("model.layers.0.self_attn.qkv_proj.weight", grouped))
                .find("fail: weights_differ"),
            0U);
}

}  // namespace
}  // namespace paritect
