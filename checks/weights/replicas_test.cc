#include <gtest/gtest.h>

#include "checks/weights/fixture.h"

namespace paritect {
namespace {

constexpr char kReplicas[] = "training.flow.replicas";
constexpr char kDistributed[] = "training.flow.distributed";

v1::Weights Replica(std::int32_t rank, std::int64_t step, unsigned seed) {
  return OfRank(rank, StateAt(step, {TensorOf("fc.weight", {10, 64}, RandomFloats(640, seed)),
                                     TensorOf("fc.bias", {64}, RandomFloats(64, seed + 1)),
                                     TensorOf("bn.running_mean", {64}, RandomFloats(64, 40 + (step > 0 ? rank : 0)))}));
}

std::vector<v1::Weights> Replicas(std::int64_t step, const std::vector<unsigned>& seeds) {
  std::vector<v1::Weights> all;
  for (std::size_t i = 0; i < seeds.size(); ++i) all.push_back(Replica(static_cast<std::int32_t>(i), step, seeds[i]));
  return all;
}

std::vector<v1::Weights> operator+(std::vector<v1::Weights> a, std::vector<v1::Weights> b) {
  for (v1::Weights& one : b) a.push_back(std::move(one));
  return a;
}

std::string Judge(const char* check, std::vector<v1::Weights> npu) {
  return Verdict(check, {WithWeights(Gpu({}), Replicas(0, {1, 1}) + Replicas(1, {2, 2}))},
                 {WithWeights(Npu({}), std::move(npu))});
}

TEST(Replicas, EqualOnesPassAndTheirBatchStatisticsMayDiffer) {
  EXPECT_EQ(Judge(kReplicas, Replicas(0, {1, 1}) + Replicas(1, {2, 2})), "pass");
}

TEST(Replicas, OneThatDiffersIsNamed) {
  const std::string told = Judge(kReplicas, Replicas(0, {1, 5}));
  EXPECT_NE(told.find("fail: "), std::string::npos) << told;
  EXPECT_NE(told.find("replicas_differ fc.weight"), std::string::npos) << told;
}

TEST(Replicas, OfThreeTheOddOneIsDamaged) {
  std::vector<v1::Weights> ranks = Replicas(0, {1, 1, 1, 1});
  Floats values = RandomFloats(640, 1);
  values[130] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[130]) ^ 1U << 29);
  *ranks[2].mutable_tensors(0) = TensorOf("fc.weight", {10, 64}, values);
  const v1::CheckResult result = ResultOf(kReplicas, {}, {WithWeights(Npu({}), std::move(ranks))});
  ASSERT_TRUE(HasKind(result, v1::SEVERITY_ERROR, "replica_corrupted"));
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() != "replica_corrupted") continue;
    EXPECT_EQ(finding.facts().fields().at("rank").number_value(), 2);
    EXPECT_EQ(finding.facts().fields().at("element").string_value(), "[2, 2]");
    EXPECT_NE(finding.message().en().find("one bit"), std::string::npos);
  }
}

TEST(Replicas, ExpertsOfRanksMayBeOthers) {
  const auto ranks = [](unsigned second) {
    std::vector<v1::Weights> all = Replicas(0, {1, 1});
    *all[0].add_tensors() = TensorOf("layers.0.experts.0.w1", {8, 8}, RandomFloats(64, 9));
    *all[1].add_tensors() = TensorOf("layers.0.experts.0.w1", {8, 8}, RandomFloats(64, second));
    return all;
  };
  EXPECT_EQ(Judge(kReplicas, ranks(9)), "pass");
  EXPECT_EQ(Judge(kReplicas, ranks(10)), "not_performed: !npu");
}

TEST(Replicas, PartsOfAModelAreNoReplicas) {
  std::vector<v1::Weights> ranks = Replicas(0, {1, 5});
  for (v1::Weights& one : ranks) one.mutable_place()->set_tensor_rank(one.rank());
  EXPECT_EQ(Judge(kReplicas, std::move(ranks)), "not_performed: !npu");
  ranks = Replicas(0, {1, 5});
  for (v1::Weights& one : ranks) one.set_format("megatron");
  EXPECT_EQ(Judge(kReplicas, std::move(ranks)), "not_performed: !npu");
}

// A folder of two tensor-parallel ranks: a matrix in two parts, a norm in two copies.
v1::Weights TensorRanks(std::int64_t step, const Floats& second) {
  const auto of_rank = [](const char* folder, v1::TensorFingerprint tensor) {
    tensor.set_file(absl::StrCat(folder, "/model_optim_rng.pt"));
    return tensor;
  };
  const std::string fc = "model.decoder.layers.0.mlp.linear_fc2.weight", norm = "model.decoder.final_layernorm.weight";
  v1::Weights weights = StateAt(step, {of_rank("mp_rank_00", TensorOf(fc, {64, 8}, RandomFloats(512, 1))),
                                       of_rank("mp_rank_00", TensorOf(norm, {64}, Floats(64, 1.0F))),
                                       of_rank("mp_rank_01", TensorOf(fc, {64, 8}, RandomFloats(512, 2))),
                                       of_rank("mp_rank_01", TensorOf(norm, {64}, second))});
  weights.set_format("megatron");
  return weights;
}

Floats Ones(float at_three) {
  Floats ones(64, 1.0F);
  ones[3] = at_three;
  return ones;
}

TEST(Replicas, CopiesOfTensorRanksThatDiffer) {
  const std::string told = Judge(kReplicas, {TensorRanks(0, Ones(1.01F))});
  EXPECT_EQ(told.find("fail: replicas_differ model.decoder.final_layernorm.weight"), 0U) << told;
  EXPECT_EQ(Judge(kReplicas, {TensorRanks(0, Ones(1))}), "not_performed: !npu");
  // Alike on both sides is no agreement.
  const auto start = [](const Floats& norm) {
    return Verdict("training.flow.initial-weights", {WithWeights(Gpu({}), {TensorRanks(0, norm)})},
                   {WithWeights(Npu({}), {TensorRanks(0, norm)})});
  };
  EXPECT_EQ(start(Ones(1)), "pass");
  EXPECT_EQ(start(Ones(1.01F)).find("not_performed"), 0U) << start(Ones(1.01F));
}

TEST(Replicas, CopiesOfTensorRanksAreRoundedAfterAStep) {
  EXPECT_EQ(Judge(kReplicas, {TensorRanks(1, Ones(1.01F))}).find("fail"), 0U);
  EXPECT_EQ(Judge(kReplicas, {TensorRanks(1, Ones(1.000001F))}).find("fail"), std::string::npos);
  EXPECT_EQ(Judge(kReplicas, {TensorRanks(0, Ones(1.000001F))}).find("fail"), 0U);
}

TEST(Replicas, CopiesInFilesOfRanks) {
  const auto ranks = [](float second) {
    std::vector<v1::Weights> all;
    for (const float at_three : {1.0F, second}) {
      all.push_back(OfRank(static_cast<std::int32_t>(all.size()),
                           StateAt(0, {TensorOf("layers.0.input_layernorm.weight", {64}, Ones(at_three))})));
      all.back().mutable_place()->set_tensor_rank(all.back().rank());
    }
    return all;
  };
  EXPECT_EQ(Judge(kReplicas, ranks(1)), "not_performed: !npu");
  EXPECT_EQ(Judge(kReplicas, ranks(1.5F)).find("fail: replicas_differ layers.0.input_layernorm.weight"), 0U);
}

TEST(Synchronisation, AllAlikeAfterAStepIsSynchronised) {
  const std::string told = Judge(kDistributed, Replicas(0, {1, 1}) + Replicas(1, {2, 2}));
  EXPECT_EQ(told.find("gradients_not_synchronised"), std::string::npos) << told;
}

TEST(Synchronisation, EqualBeforeAndAllDifferentAfterIsNone) {
  EXPECT_NE(Judge(kDistributed, Replicas(0, {1, 1}) + Replicas(1, {2, 3})).find("fail: gradients_not_synchronised npu"),
            std::string::npos);
  // Other weights from the start are another fault.
  EXPECT_EQ(Judge(kDistributed, Replicas(0, {1, 4}) + Replicas(1, {2, 3})).find("gradients_not_synchronised"),
            std::string::npos);
}

}  // namespace
}  // namespace paritect
