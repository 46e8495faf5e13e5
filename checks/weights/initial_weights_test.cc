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
  const Floats dense = RandomFloats(640, 2);
  // Under a name of another layout; under the same name in a format of any framework; under the same name it is
  // another.
  *other.mutable_tensors(2) = TensorOf("fc/kernel:0", {64, 10}, Transposed(dense, 10, 64));
  EXPECT_EQ(Judge(Torch(), other), "pass");
  EXPECT_EQ(Judge(Torch(), other, kGraph), "pass");
  const v1::CheckResult transposed =
      ResultOf(kCheck, {WithWeights(Gpu({}), {Torch()})}, {WithWeights(Npu({}), {other})});
  EXPECT_TRUE(HasKind(transposed, v1::SEVERITY_NOTE, "transposed"));
  other.mutable_tensors(2)->set_name("fc.weight");
  EXPECT_EQ(Judge(Torch(), other), "fail: weights_differ module.fc.weight");
  EXPECT_EQ(Judge(Torch(), other, kGraph), "fail: shape_differs module.fc.weight");
  other.set_format("npz");
  EXPECT_EQ(Judge(Torch(), other), "pass");
  EXPECT_EQ(Judge(Torch(), other, kGraph), "pass");
  other.set_format("safetensors");
  // Reshaped where it had to be transposed, and shuffled in either shape: the same values at wrong places.
  *other.mutable_tensors(2) = TensorOf("fc.weight", {64, 10}, dense);
  EXPECT_EQ(Judge(Torch(), other), "fail: weights_differ module.fc.weight");
  Floats shuffled = dense;
  std::reverse(shuffled.begin() + 7, shuffled.end());
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{10, 64}, {64, 10}}) {
    *other.mutable_tensors(2) = TensorOf("fc.weight", shape, shuffled);
    EXPECT_EQ(Judge(Torch(), other), "fail: weights_differ module.fc.weight");
  }
  // Another shape and another order: nothing tells.
  *other.mutable_tensors(2) = TensorOf("fc.weight", {2, 320}, shuffled);
  EXPECT_EQ(Judge(Torch(), other), "not_performed: !module.fc.weight");
  *other.mutable_tensors(2) = TensorOf("fc.weight", {640}, dense);
  EXPECT_EQ(Judge(Torch(), other), "pass");
  EXPECT_EQ(Judge(Torch(), other, kGraph), "fail: shape_differs module.fc.weight");
}

TEST(InitialWeights, ShapesOfDrawnWeightsStandAsTheirNamesDo) {
  const auto model = [](const std::string& name, std::vector<std::int64_t> shape, unsigned seed) {
    return StateAt(0, {TensorOf(name, std::move(shape), RandomFloats(640, seed))});
  };
  EXPECT_EQ(Judge(model("fc.weight", {10, 64}, 1), model("fc.weight", {10, 64}, 2), kGraph), "pass");
  EXPECT_EQ(Judge(model("fc.weight", {10, 64}, 1), model("fc.weight", {64, 10}, 2), kGraph),
            "fail: shape_differs fc.weight");
  EXPECT_EQ(Judge(model("fc.weight", {10, 64}, 1), model("fc/kernel", {64, 10}, 2), kGraph), "pass");
  EXPECT_EQ(Judge(model("fc.weight", {10, 64}, 1), model("fc/kernel", {10, 64}, 2), kGraph),
            "fail: shape_differs fc.weight");
  EXPECT_EQ(Judge(model("fc.weight", {10, 64}, 1), model("fc.weight", {20, 32}, 2), kGraph),
            "fail: shape_differs fc.weight")
      << "as many elements in another shape";
}

TEST(InitialWeights, WhatTwoImplementationsKeepInTwoWays) {
  const auto model = [](bool turned, bool one_turned) {
    const auto tensor = [](const std::string& name, std::int64_t rows, std::int64_t columns, unsigned seed, bool turn) {
      const Floats values = RandomFloats(static_cast<std::size_t>(rows * columns), seed);
      return turn ? TensorOf(name, {columns, rows},
                             Transposed(values, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)))
                  : TensorOf(name, {rows, columns}, values);
    };
    return StateAt(0, {tensor("transformer.wte.weight", 40, 8, 4, false),
                       tensor("transformer.h.0.attn.c_attn.weight", 24, 8, 1, turned),
                       tensor("transformer.h.0.attn.c_proj.weight", 8, 8, 2, turned != one_turned),
                       tensor("transformer.h.0.mlp.c_fc.weight", 32, 8, 3, turned)});
  };
  EXPECT_EQ(Judge(model(false, false), model(true, false)), "pass");
  EXPECT_EQ(Judge(model(false, false), model(true, true)), "fail: weights_differ transformer.h.0.attn.c_proj.weight");
  EXPECT_EQ(Judge(model(true, false), model(true, true)), "fail: weights_differ transformer.h.0.attn.c_proj.weight");
}

TEST(InitialWeights, ZerosPadRowsAlone) {
  const Floats table = RandomFloats(640, 2);
  Floats padded = table;
  padded.resize(704);
  const auto judge = [&](std::vector<std::int64_t> shape) {
    return Judge(StateAt(0, {TensorOf("embed.weight", {10, 64}, table)}),
                 StateAt(0, {TensorOf("embed.weight", std::move(shape), padded)}));
  };
  EXPECT_EQ(judge({11, 64}), "pass");
  EXPECT_EQ(judge({704}), "fail: weights_differ embed.weight");
  // Rows of no word that are no zeros, and zeros where no word is.
  for (std::size_t i = 640; i < padded.size(); ++i) padded[i] = 0.5F;
  EXPECT_EQ(judge({11, 64}).find("not_performed"), 0U);
  padded = table;
  padded.resize(704);
  EXPECT_EQ(Judge(StateAt(0, {TensorOf("fc.weight", {10, 64}, table)}),
                  StateAt(0, {TensorOf("fc.weight", {11, 64}, padded)})),
            "fail: weights_differ fc.weight");
}

// Square matrices by the names of both sides; `fixed`: beside a matrix of the same kind whose shape tells its layout.
enum class Fixed { kNone, kStraight, kTransposed };
std::string Square(const std::string& a, const std::string& b, bool transposed, Fixed fixed = Fixed::kNone,
                   const std::string& format = "safetensors") {
  const Floats square = RandomFloats(64, 2), other = RandomFloats(80, 3);
  v1::Weights x = StateAt(0, {TensorOf("net.fc1." + a, {8, 8}, square)});
  v1::Weights y = StateAt(0, {TensorOf("net.fc1." + b, {8, 8}, transposed ? Transposed(square, 8, 8) : square)});
  if (fixed != Fixed::kNone) {
    *x.add_tensors() = TensorOf("net.fc2." + a, {8, 10}, other);
    *y.add_tensors() = fixed == Fixed::kTransposed ? TensorOf("net.fc2." + b, {10, 8}, Transposed(other, 8, 10))
                                                   : TensorOf("net.fc2." + b, {8, 10}, other);
  }
  y.set_format(format);
  return Judge(x, y);
}

TEST(InitialWeights, SquareMatricesStandAsTheirKindDoes) {
  EXPECT_EQ(Square("weight", "weight", false), "pass");
  EXPECT_EQ(Square("weight", "weight", true), "fail: weights_differ net.fc1.weight");
  EXPECT_EQ(Square("kernel", "weight", true), "pass");
  EXPECT_EQ(Square("kernel", "weight", false), "fail: weights_differ net.fc1.kernel");
  // Under one name nothing but the format allows another order of axes, whatever others do.
  EXPECT_EQ(Square("weight", "weight", true, Fixed::kTransposed).rfind("fail: weights_differ net.fc1.weight", 0), 0U);
  EXPECT_EQ(Square("weight", "weight", true, Fixed::kTransposed, "tf-bundle"), "pass");
  EXPECT_EQ(Square("weight", "weight", false, Fixed::kTransposed, "tf-bundle"), "fail: weights_differ net.fc1.weight");
  EXPECT_EQ(Square("weight", "weight", true, Fixed::kNone, "tf-bundle"), "not_performed: !net.fc1.weight");
  // Of two frameworks a layer may keep its matrix the other way: its sizes tell, and what is square goes with its kind.
  const std::string other = "mindspore-ckpt", fails = "fail: weights_differ net.fc1.weight";
  EXPECT_EQ(Square("weight", "weight", true, Fixed::kTransposed, other), "pass");
  EXPECT_EQ(Square("weight", "weight", true, Fixed::kNone, other), fails);
  EXPECT_EQ(Square("weight", "weight", true, Fixed::kStraight, other), fails);
  EXPECT_EQ(Square("kernel", "w", false, Fixed::kStraight).rfind("pass", 0), 0U) << "others of its kind count first";
}

TEST(InitialWeights, ConvolutionsWithExchangedInputsAndOutputs) {
  const Floats kernel = RandomFloats(3 * 3 * 4 * 4, 2);
  Floats right, wrong;  // [3, 3, in, out] to [out, in, 3, 3]
  for (std::size_t o = 0; o < 4; ++o) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t k = 0; k < 9; ++k) {
        right.push_back(kernel[k * 16 + i * 4 + o]);
        wrong.push_back(kernel[k * 16 + o * 4 + i]);
      }
    }
  }
  const auto judge = [&](const Floats& other) {
    return Judge(StateAt(0, {TensorOf("conv/kernel", {3, 3, 4, 4}, kernel)}),
                 StateAt(0, {TensorOf("conv.weight", {4, 4, 3, 3}, other)}));
  };
  EXPECT_EQ(judge(right), "pass");
  EXPECT_EQ(judge(wrong), "fail: weights_differ conv/kernel");
}

TEST(InitialWeights, NegativeZeroIsZero) {
  Floats zeros(16), negative(16, -0.0F);
  EXPECT_EQ(Judge(StateAt(0, {TensorOf("fc.bias", {16}, zeros), TensorOf("fc.weight", {16}, RandomFloats(16, 1))}),
                  StateAt(0, {TensorOf("fc.bias", {16}, negative), TensorOf("fc.weight", {16}, RandomFloats(16, 1))})),
            "pass");
}

TEST(InitialWeights, WhatSettingsDecideIsComparedWhereBothHaveIt) {
  const auto state = [](const std::string& buffer, const Floats& values) {
    return StateAt(0, {TensorOf("fc.weight", {16, 16}, RandomFloats(256, 1)), TensorOf(buffer, {16}, values)});
  };
  const std::string inv = "layers.0.rotary_emb.inv_freq";
  EXPECT_EQ(Judge(state(inv, RandomFloats(16, 2)), state(inv, RandomFloats(16, 2))), "pass");
  EXPECT_EQ(Judge(state(inv, RandomFloats(16, 2)), state(inv, RandomFloats(16, 3))), "fail: derived_differs " + inv);
  const v1::Weights without = StateAt(0, {TensorOf("fc.weight", {16, 16}, RandomFloats(256, 1))});
  EXPECT_EQ(Judge(state(inv, RandomFloats(16, 2)), without), "pass");
  EXPECT_TRUE(HasKind(
      ResultOf(kCheck, {WithWeights(Gpu({}), {state(inv, RandomFloats(16, 2))})}, {WithWeights(Npu({}), {without})}),
      v1::SEVERITY_NOTE, "measured"));
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

TEST(InitialWeights, OneElementOfFewIsNoDraw) {
  Floats values = RandomFloats(40, 1), other = values;
  other[17] += 0.001F;
  const auto model = [](const Floats& all, const char* dtype) {
    return StateAt(0, {TensorOf("fc.weight", {4, 10}, all, dtype)});
  };
  EXPECT_EQ(Judge(model(values, "F32"), model(other, "F32")), "fail: weights_differ fc.weight");
  v1::Weights reread = model(other, "F8_E4M3");  // the same bytes as another type
  reread.mutable_tensors(0)->set_xxh3(model(values, "F32").tensors(0).xxh3());
  EXPECT_NE(Judge(model(values, "F32"), reread), "pass");
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
    return StateAt(0, {TensorOf("model.layers.0.self_attn.qkv_proj.weight", {24, 8}, values),
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

// Rows [begin, end) of ten columns.
Floats Rows(const Floats& values, std::size_t begin, std::size_t end) {
  return Floats(values.begin() + static_cast<std::ptrdiff_t>(begin * 10),
                values.begin() + static_cast<std::ptrdiff_t>(end * 10));
}
Floats operator+(Floats a, const Floats& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(InitialWeights, RowsInTurnGroupByGroupAreInNoHash) {
  const Floats q = RandomFloats(80, 1), k = RandomFloats(80, 2), v = RandomFloats(80, 3), head = RandomFloats(640, 6);
  const v1::Weights split = StateAt(
      0, {TensorOf("model.layers.0.self_attn.q_proj.weight", {8, 10}, q),
          TensorOf("model.layers.0.self_attn.k_proj.weight", {8, 10}, k),
          TensorOf("model.layers.0.self_attn.v_proj.weight", {8, 10}, v), TensorOf("lm_head.weight", {64, 10}, head)});
  const auto judge = [&](const Floats& values) {
    return Judge(split, StateAt(0, {TensorOf("decoder.layers.0.self_attention.linear_qkv.weight", {24, 10}, values),
                                    TensorOf("output_layer.weight", {64, 10}, head)}));
  };
  Floats in_turn;
  for (const std::size_t group : {0U, 4U}) {
    for (const Floats* one : {&q, &k, &v}) in_turn = in_turn + Rows(*one, group, group + 4);
  }
  EXPECT_EQ(judge(in_turn).find("not_performed"), 0U);
  EXPECT_EQ(judge(q + k + v).find("not_performed"), 0U) << "one after the other is what conversions get wrong";
  EXPECT_EQ(judge(q + k + RandomFloats(80, 4)).find("fail"), 0U);
}

TEST(InitialWeights, RowsInTurnRankByRankAreTheSameSum) {
  const Floats gate = RandomFloats(80, 1), up = RandomFloats(80, 2), down = RandomFloats(80, 3);
  const v1::Weights split = StateAt(0, {TensorOf("model.layers.0.mlp.gate_proj.weight", {8, 10}, gate),
                                        TensorOf("model.layers.0.mlp.up_proj.weight", {8, 10}, up),
                                        TensorOf("model.layers.0.mlp.down_proj.weight", {10, 8}, down)});
  const auto judge = [&](const Floats& first, const Floats& second) {
    std::vector<v1::Weights> ranks;
    for (const std::int32_t rank : {0, 1}) {
      const auto at = static_cast<std::size_t>(4 * rank);
      ranks.push_back(
          OfRank(rank, StateAt(0, {TensorOf("decoder.layers.0.mlp.linear_fc1.weight", {8, 10},
                                            Rows(first, at, at + 4) + Rows(second, at, at + 4)),
                                   TensorOf("decoder.layers.0.mlp.linear_fc2.weight", {10, 4},
                                            Transposed(Rows(Transposed(down, 10, 8), at, at + 4), 4, 10))})));
      ranks.back().mutable_place()->set_tensor_rank(rank);
    }
    return Verdict(kCheck, {WithWeights(Gpu({}), {split})}, {WithWeights(Npu({}), ranks)});
  };
  EXPECT_EQ(judge(gate, up), "pass");
  EXPECT_EQ(judge(up, gate).find("fail: weights_differ"), 0U);
  // Cut as one matrix: rank 0 holds all of gate.
  const Floats plain = gate + up;
  EXPECT_EQ(
      judge(Rows(plain, 0, 4) + Rows(plain, 8, 12), Rows(plain, 4, 8) + Rows(plain, 12, 16)).find("not_performed"), 0U);
}

// Two tensor-parallel ranks of a Megatron checkpoint, each with its slice.
v1::Weights MegatronOf(const Floats& first, const Floats& second) {
  v1::Weights weights = StateAt(0, {TensorOf("decoder.layers.0.self_attention.linear_qkv.q.weight", {4, 10}, first),
                                    TensorOf("decoder.final_layernorm.weight", {10}, Floats(10, 1)),
                                    TensorOf("decoder.layers.0.self_attention.linear_qkv.q.weight", {4, 10}, second),
                                    TensorOf("decoder.final_layernorm.weight", {10}, Floats(10, 1))});
  weights.set_format("megatron");
  for (int i = 0; i < 4; ++i) {
    weights.mutable_tensors(i)->set_file(absl::StrCat("mp_rank_0", i / 2, "/model_optim_rng.pt"));
  }
  return weights;
}

TEST(InitialWeights, ARankInAnothersPlaceIsNamed) {
  const Floats q = RandomFloats(80, 1);
  const v1::Weights whole = StateAt(0, {TensorOf("model.layers.0.self_attn.q_proj.weight", {8, 10}, q),
                                        TensorOf("model.norm.weight", {10}, Floats(10, 1))});
  EXPECT_EQ(Judge(whole, MegatronOf(Rows(q, 0, 4), Rows(q, 4, 8))), "pass");
  const v1::Weights twice = MegatronOf(Rows(q, 0, 4), Rows(q, 0, 4));
  EXPECT_THAT(Judge(whole, twice), ::testing::HasSubstr("rank_repeated mp_rank_00, mp_rank_01"));
  EXPECT_THAT(Judge(twice, twice), ::testing::HasSubstr("rank_repeated mp_rank_00, mp_rank_01")) << "on both sides";
}

TEST(InitialWeights, RanksThatDrewUnderOneSeedAreNoDraw) {
  // A second layer keeps the ranks apart as a whole.
  const auto drawn = [](int seed, bool alike) {
    const Floats first = RandomFloats(640, seed), other = RandomFloats(640, seed + 1);
    const Floats mlp = RandomFloats(640, seed + 2), mlp_other = RandomFloats(640, seed + 3);
    const std::string q = "decoder.layers.0.self_attention.linear_qkv.q.weight";
    const std::string down = "decoder.layers.0.mlp.linear_fc2.weight";
    v1::Weights weights =
        StateAt(0, {TensorOf(q, {32, 20}, first), TensorOf(down, {20, 32}, mlp),
                    TensorOf(q, {32, 20}, alike ? first : other), TensorOf(down, {20, 32}, mlp_other)});
    weights.set_format("megatron");
    for (int i = 0; i < 4; ++i) {
      weights.mutable_tensors(i)->set_file(absl::StrCat("mp_rank_0", i / 2, "/model_optim_rng.pt"));
    }
    return weights;
  };
  EXPECT_EQ(Judge(drawn(1, false), drawn(11, false)), "pass");
  EXPECT_THAT(Judge(drawn(1, false), drawn(11, true)), ::testing::HasSubstr("fail: rank_repeated"));
  EXPECT_THAT(Judge(drawn(1, true), drawn(11, false)), ::testing::HasSubstr("fail: rank_repeated"));
}

TEST(InitialWeights, HeadsStandInHalvesOrInPairs) {
  const Floats q = RandomFloats(80, 1);
  const Floats pairs = Rows(q, 0, 1) + Rows(q, 4, 5) + Rows(q, 1, 2) + Rows(q, 5, 6) + Rows(q, 2, 3) + Rows(q, 6, 7) +
                       Rows(q, 3, 4) + Rows(q, 7, 8);
  const auto judge = [&](const std::string& name) {
    return Judge(StateAt(0, {TensorOf("model.layers.0.self_attn.q_proj.weight", {8, 10}, q)}),
                 StateAt(0, {TensorOf(name, {8, 10}, pairs)}));
  };
  EXPECT_EQ(judge("layers.0.attention.wq.weight").find("not_performed"), 0U);
  EXPECT_EQ(judge("model.layers.0.self_attn.q_proj.weight").find("fail: weights_differ"), 0U);
}

TEST(InitialWeights, ALayerInAnothersPlaceUnderUnknownNames) {
  const auto model = [](const char* name, std::vector<unsigned> seeds) {
    v1::Weights weights = StateAt(0, {});
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      *weights.add_tensors() = TensorOf(absl::StrCat(name, i, ".w"), {8, 10}, RandomFloats(80, seeds[i]));
    }
    return weights;
  };
  EXPECT_EQ(Judge(model("a.", {1, 2, 3}), model("strange.", {1, 2, 3})), "pass");
  EXPECT_EQ(Judge(model("a.", {1, 2, 3}), model("strange.", {2, 1, 3})).find("not_performed"), 0U);
  // A layer that is a copy of another one, and lacks on one side.
  EXPECT_EQ(Judge(model("a.", {1, 2, 1}), model("a.", {1, 2}), kGraph), "fail: parameter_missing a.2.w");
}

TEST(InitialWeights, LayersStackedInOneTensor) {
  const Floats a = RandomFloats(80, 1), b = RandomFloats(80, 2), head = RandomFloats(640, 6);
  const v1::Weights layers = StateAt(
      0, {TensorOf("layers.0.w", {8, 10}, a), TensorOf("layers.1.w", {8, 10}, b), TensorOf("h", {64, 10}, head)});
  const auto judge = [&](const Floats& all, const char* check) {
    return Judge(layers, StateAt(0, {TensorOf("layers.w", {2, 8, 10}, all), TensorOf("h", {64, 10}, head)}), check);
  };
  for (const char* check : {kCheck, kGraph}) EXPECT_EQ(judge(b + a, check).find("not_performed"), 0U) << check;
  EXPECT_EQ(judge(a + RandomFloats(80, 3), kGraph).find("fail"), 0U);
}

TEST(InitialWeights, NamesAloneLeaveNothingOut) {
  const auto model = [](const std::string& name, unsigned seed) {
    return StateAt(
        0, {TensorOf("fc.weight", {10, 64}, RandomFloats(640, 2)), TensorOf(name, {64}, RandomFloats(64, seed))});
  };
  for (const char* name : {"optimus.fc.weight", "net.stat.proj.weight", "momentum.fc.weight", "layers.0.beta1"}) {
    EXPECT_EQ(Judge(model(name, 3), model(name, 3)), "pass") << name;
    EXPECT_NE(Judge(model(name, 3), model(name, 4)), "pass") << name;
  }
  for (const char* name : {"moments.fc.weight", "fc.weight/Adam", "optimizer.state.0.exp_avg", "learning_rate"}) {
    EXPECT_EQ(Judge(model(name, 3), model(name, 4)), "pass") << name;
  }
  EXPECT_EQ(Judge(model("blocks.0.attn.bias", 3), model("blocks.0.attn.bias", 4)),
            "fail: weights_differ blocks.0.attn.bias");
  // A counter is a number; what has as many as a layer is not told, and a matrix is a layer.
  EXPECT_EQ(Judge(model("iteration", 3), model("iteration", 3)), "pass");
  EXPECT_EQ(Judge(model("iteration", 3), model("iteration", 4)).find("not_performed"), 0U);
  const auto matrix = [](const char* name, unsigned seed) {
    return StateAt(
        0, {TensorOf("fc.weight", {10, 64}, RandomFloats(640, 2)), TensorOf(name, {10, 64}, RandomFloats(640, seed))});
  };
  for (const char* name : {"iteration", "step", "net.learning_rate"}) {
    EXPECT_EQ(Judge(matrix(name, 3), matrix(name, 4)), absl::StrCat("fail: weights_differ ", name));
  }
}

TEST(InitialWeights, TheCopyThatTheOptimizerUpdatesIsTheModel) {
  for (const std::string prefix : {"fp32.", "optimizer.state.fp32_param."}) {
    const auto model = [&](unsigned seed) {
      Floats rounded;
      for (const float value : RandomFloats(640, 2)) rounded.push_back(ToBf16(value));
      v1::Weights weights = StateAt(0, {TensorOf("module.fc.weight", {10, 64}, rounded, "BF16"),
                                        TensorOf(prefix + "fc.weight", {10, 64}, RandomFloats(640, seed))});
      weights.mutable_tensors(1)->set_role(v1::TENSOR_ROLE_MASTER);
      return weights;
    };
    EXPECT_EQ(Judge(model(2), model(2)), "pass");
    EXPECT_NE(Judge(model(2), model(3)).find("master_copy_differs module.fc.weight"), std::string::npos);
  }
}

Floats Rounded(Floats values) {
  std::transform(values.begin(), values.end(), values.begin(), &ToBf16);
  return values;
}

// A model, and what its optimizer keeps in fp32 beside it.
v1::Weights WithCopy(const Floats& model, const std::string& dtype, const Floats& copy) {
  v1::Weights weights = StateAt(0, {TensorOf("fc.weight", {10, 64}, model, dtype)});
  if (copy.empty()) return weights;
  *weights.add_tensors() = TensorOf("fp32.fc.weight", {10, 64}, copy);
  weights.mutable_tensors(1)->set_role(v1::TENSOR_ROLE_MASTER);
  return weights;
}

TEST(InitialWeights, WhatTrainingGoesOnFromIsNotRounded) {
  const Floats all = RandomFloats(640, 2), rounded = Rounded(all);
  const v1::Weights wide = WithCopy(all, "F32", {}), wide_rounded = WithCopy(rounded, "F32", {});
  const v1::Weights whole = WithCopy(rounded, "BF16", all), made = WithCopy(rounded, "BF16", rounded);
  const v1::Weights bare = WithCopy(rounded, "BF16", {});
  const std::string lost = "fail: weights_differ fc.weight";
  EXPECT_EQ(Judge(made, made), "pass") << "both were made from a checkpoint in bf16";
  EXPECT_EQ(Judge(whole, whole), "pass");
  EXPECT_EQ(Judge(wide, wide_rounded), lost);
  EXPECT_EQ(Judge(whole, made), "fail: weights_differ fc.weight");
  EXPECT_EQ(Judge(made, whole), "fail: weights_differ fc.weight");
  EXPECT_EQ(Judge(wide, made), "pass") << "so mixed precision begins; the types tell it";
  EXPECT_EQ(Judge(wide, bare), "pass");
  EXPECT_EQ(Judge(wide, whole), "pass");
  EXPECT_EQ(Judge(wide_rounded, whole), lost);
  EXPECT_EQ(Judge(wide_rounded, made), "pass");
  EXPECT_EQ(Judge(whole, bare).find("not_performed"), 0U);
}

TEST(InitialWeights, CopiesOfNoKnownParameterAreCompared) {
  const Floats rounded = Rounded(RandomFloats(640, 2));
  const auto with_another = [&](unsigned seed) {
    v1::Weights weights = WithCopy(rounded, "BF16", rounded);
    *weights.add_tensors() = TensorOf("fp32.param_groups_7.weight", {7, 64}, RandomFloats(448, seed));
    weights.mutable_tensors(2)->set_role(v1::TENSOR_ROLE_MASTER);
    return weights;
  };
  EXPECT_EQ(Judge(with_another(3), with_another(3)), "pass");
  EXPECT_EQ(Judge(with_another(3), with_another(4)).find("fail: weights_differ"), 0U);
}

TEST(InitialWeights, FilesOfOneStepThatContradictEachOther) {
  const v1::Weights a = StateAt(0, {TensorOf("fc.weight", {10, 64}, RandomFloats(640, 1))});
  const v1::Weights b = StateAt(0, {TensorOf("fc.weight", {10, 64}, RandomFloats(640, 2))});
  const auto judge = [&](std::vector<v1::Weights> npu) {
    return Verdict(kCheck, {WithWeights(Gpu({}), {a})}, {WithWeights(Npu({}), std::move(npu))});
  };
  EXPECT_EQ(judge({a, a}), "pass");
  EXPECT_EQ(judge({a, b}).find("not_performed"), 0U);
}

// Two parameters in bf16 beside the flat buffer of a distributed optimizer, filled up with zeros.
v1::Weights WithFlatMaster(const std::vector<unsigned>& seeds, bool made_from_model = false) {
  v1::Weights weights = StateAt(0, {});
  Floats flat;
  for (const unsigned seed : {1U, 2U}) {
    *weights.add_tensors() =
        TensorOf(absl::StrCat("fc", seed, ".weight"), {5, 64}, Rounded(RandomFloats(320, seed)), "BF16");
  }
  for (const unsigned seed : seeds) {
    const Floats values = made_from_model ? Rounded(RandomFloats(320, seed)) : RandomFloats(320, seed);
    flat.insert(flat.begin(), values.begin(), values.end());
  }
  flat.resize(704);
  *weights.add_tensors() = TensorOf("fp32_flat.0.torch.bfloat16+torch.float32.param", {704}, flat);
  weights.mutable_tensors(2)->set_role(v1::TENSOR_ROLE_MASTER);
  return weights;
}

TEST(InitialWeights, AFlatMasterIsTheModelsOrNotKnown) {
  EXPECT_EQ(Judge(WithFlatMaster({1, 2}), WithFlatMaster({1, 2})), "pass");
  EXPECT_EQ(Judge(WithFlatMaster({1, 2}), WithFlatMaster({1, 3})).find("not_performed"), 0U);
  EXPECT_EQ(Judge(WithFlatMaster({1, 3}), WithFlatMaster({1, 3})).find("not_performed"), 0U) << "stale on both sides";
  EXPECT_EQ(Judge(WithFlatMaster({1, 2}, true), WithFlatMaster({1, 2}, true)), "pass");
  const std::string made = Judge(WithFlatMaster({1, 2}), WithFlatMaster({1, 2}, true));
  EXPECT_EQ(made.find("fail: weights_differ"), 0U);
}

TEST(Graph, WhatIsFrozenOnOneSideAlone) {
  const auto model = [](bool first, bool second) {
    v1::Weights weights = StateAt(
        0, {TensorOf("a.weight", {5, 64}, RandomFloats(320, 1)), TensorOf("b.weight", {5, 64}, RandomFloats(320, 2))});
    weights.mutable_tensors(0)->set_requires_grad(first);
    weights.mutable_tensors(1)->set_requires_grad(second);
    return weights;
  };
  EXPECT_EQ(Judge(model(true, true), model(true, true), kGraph), "pass");
  EXPECT_EQ(Judge(model(true, true), model(true, false), kGraph), "fail: trained_differs b.weight");
  EXPECT_EQ(Judge(model(true, true), model(false, false), kGraph), "pass") << "saved for another use than training";
}

// Ranks of a folder: parts of a vocabulary, or copies of it that drifted apart.
TEST(InitialWeights, CopiesOfAVocabularyAreNoMoreRows) {
  const auto ranks = [](const Floats& second) {
    return StateAt(0, {TensorOf("embed_tokens.weight", {20, 32}, RandomFloats(640, 1)),
                       TensorOf("embed_tokens.weight", {20, 32}, second)});
  };
  const v1::Weights whole = StateAt(0, {TensorOf("embed_tokens.weight", {20, 32}, RandomFloats(640, 1))});
  Floats drifted = RandomFloats(640, 1);
  drifted[5] += 0.001F;
  EXPECT_EQ(Judge(whole, ranks(RandomFloats(640, 1))), "pass");
  EXPECT_EQ(Judge(whole, ranks(drifted)), "fail: weights_differ embed_tokens.weight");
  EXPECT_EQ(Judge(ranks(drifted), whole), "fail: weights_differ embed_tokens.weight");
  EXPECT_EQ(Judge(whole, ranks(RandomFloats(640, 2))).find("not_performed"), 0U) << "more rows, as far as is known";
}

TEST(InitialWeights, RowsOfZerosAmongRandomOnes) {
  Floats padded = RandomFloats(20'000, 2);
  std::fill(padded.begin(), padded.begin() + 60, 0.0F);
  EXPECT_EQ(JudgeOne(RandomFloats(20'000, 1), padded), "fail: law_differs w");
  EXPECT_EQ(JudgeOne(padded, padded), "pass");
}

TEST(InitialWeights, CopiesOfALayerAreNoDraws) {
  const auto model = [](unsigned seed, bool copied) {
    return StateAt(0, {TensorOf("layers.0.w", {64, 64}, RandomFloats(4096, seed)),
                       TensorOf("layers.1.w", {64, 64}, RandomFloats(4096, copied ? seed : seed + 1)),
                       TensorOf("layers.2.w", {64, 64}, RandomFloats(4096, copied ? seed : seed + 2))});
  };
  EXPECT_EQ(Judge(model(10, false), model(20, false)), "pass");
  EXPECT_EQ(Judge(model(10, false), model(20, true)), "fail: copies_on_one_side layers.0.w");
  EXPECT_EQ(Judge(model(10, true), model(20, false)), "fail: copies_on_one_side layers.0.w");
  EXPECT_EQ(Judge(model(10, true), model(20, true)), "pass");
}

TEST(InitialWeights, PartsInAnotherOrder) {
  const Floats q = RandomFloats(64, 1), k = RandomFloats(64, 2), v = RandomFloats(64, 3);
  const auto split = [&](const std::string& name) {
    return StateAt(0, {TensorOf(name + "q_proj_weight", {8, 8}, q), TensorOf(name + "k_proj_weight", {8, 8}, k),
                       TensorOf(name + "v_proj_weight", {8, 8}, v)});
  };
  const auto fused = [](const Floats& x, const Floats& y, const Floats& z) {
    Floats all = x;
    all.insert(all.end(), y.begin(), y.end());
    all.insert(all.end(), z.begin(), z.end());
    return StateAt(0, {TensorOf("attn.in_proj_weight", {24, 8}, all)});
  };
  EXPECT_EQ(Judge(split("attn."), fused(q, k, v)), "pass");
  const std::string exchanged = Judge(split("attn."), fused(k, q, v));
  EXPECT_EQ(exchanged.find("fail: weights_differ"), 0U) << exchanged;
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
