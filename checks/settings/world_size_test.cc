// Sources of one run that disagree on its world size: cluster.coverage.ranks, data.sharding.ranks and the global batch.
#include "checks/settings/world_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr char kRanks[] = "cluster.coverage.ranks";
constexpr char kBatch[] = "model.hyperparameters.global-batch";

v1::Bundle Planned(int world_size, std::vector<v1::SettingsDocument> documents, int ranks = 0) {
  v1::Bundle bundle = NodeOf("run", "node-1", "", "pytorch", std::move(documents));
  if (world_size > 0) bundle.mutable_plan()->set_world_size(world_size);
  for (int rank = 0; rank < ranks; ++rank) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_rank(rank);
    evidence.mutable_run_log()->set_format("text");
  }
  return bundle;
}

TEST(WorldSize, APlanThatContradictsTheRunIsAConflict) {
  const auto conflict = [](int plan, const v1::SettingsDocument& document) {
    return HasKind(ResultOf(kRanks, {Planned(plan, {document}, plan)}, {}), v1::SEVERITY_ERROR, "conflict_within_side");
  };
  EXPECT_TRUE(conflict(8, Environment({{"WORLD_SIZE", "16"}})));
  EXPECT_TRUE(conflict(8, Environment({{"RANK_SIZE", "16"}})));
  EXPECT_TRUE(conflict(8, Arguments("megatron-args", {{"world_size", "16"}})));
  EXPECT_TRUE(conflict(8, Arguments("launch-script", {{"launch.nnodes", "2"}, {"launch.nproc_per_node", "8"}})));
  EXPECT_TRUE(conflict(8, SettingsOf("rank-table", "rank-table", {{"rank_table.devices", "16"}})));
  EXPECT_FALSE(conflict(16, Environment({{"WORLD_SIZE", "16"}, {"LOCAL_WORLD_SIZE", "8"}, {"NNODES", "2"}})));
  EXPECT_FALSE(conflict(8, Environment({{"HOME", "/root"}})));
}

// The observer keeps the first sample numbers of a pass: of one process they ask nothing that a whole list would.
TEST(WorldSize, CutListsOfOneProcessAskNothing) {
  const auto told = [](bool cut) {
    v1::Bundle bundle = Planned(1, {});
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.mutable_shards()->set_world_size(1);
    evidence.mutable_shards()->set_rank(0);
    evidence.mutable_shards()->set_sample_numbers(true);
    evidence.mutable_shards()->add_items("0");
    if (cut) evidence.mutable_shards()->add_incomplete()->set_id("observed_indices_cut");
    return HasKind(ResultOf("data.sharding.disjoint", {bundle}, {bundle}), v1::SEVERITY_NOTE, "not_applicable");
  };
  EXPECT_TRUE(told(true));
  EXPECT_FALSE(told(false));
}

// Job managers set WORLD_SIZE to the number of nodes, Slurm counts one task a node under torchrun.
TEST(WorldSize, CountsOfNodesAreNoWorldSize) {
  const v1::SettingsDocument launch =
      Arguments("launch-script", {{"launch.nnodes", "2"}, {"launch.nproc_per_node", "8"}});
  for (const char* name : {"WORLD_SIZE", "SLURM_NTASKS"}) {
    const v1::CheckResult result = ResultOf(kRanks, {Planned(16, {launch, Environment({{name, "2"}})}, 16)}, {});
    EXPECT_FALSE(HasKind(result, v1::SEVERITY_ERROR, "conflict_within_side")) << Told(result);
  }
}

TEST(WorldSize, WhatOnlySettingsTellIsTaken) {
  const v1::CheckResult result = ResultOf(kRanks, {Planned(0, {Environment({{"WORLD_SIZE", "4"}})}, 3)}, {});
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_TRUE(HasKind(ResultOf(kRanks, {Planned(0, {Environment({{"WORLD_SIZE", "4"}})}, 4)}, {}), v1::SEVERITY_NOTE,
                      "measured"));
}

TEST(WorldSize, ADisagreementReachesTheGlobalBatch) {
  const KeysAndTexts batch = {{"micro_batch_size", "4"}, {"gradient_accumulation_steps", "1"}};
  const v1::CheckResult result =
      ResultOf(kBatch, {Planned(8, {Arguments("yaml", batch)})},
               {Planned(8, {Arguments("yaml", batch), Environment({{"WORLD_SIZE", "16"}})})});
  EXPECT_TRUE(HasKind(result, v1::SEVERITY_ERROR, "conflict_within_side")) << Told(result);
}

// The banner tells what the trainer used, the arguments what it was given.
TEST(GlobalBatch, TheBannerAgainstTheArgumentsOfOneRun) {
  const auto given = [](const std::string& batch) {
    return Arguments("hf-training-args-json",
                     {{"per_device_train_batch_size", batch}, {"gradient_accumulation_steps", "1"}});
  };
  const v1::SettingsDocument banner =
      SettingsOf("hf-trainer-stdout", "printed",
                 {{"banner.per_device_batch_size", "8"}, {"banner.gradient_accumulation_steps", "1"}});
  const auto verdict = [&](const std::string& batch) {
    return ResultOf(kBatch, {Planned(8, {given("8"), banner})}, {Planned(8, {given(batch), banner})});
  };
  EXPECT_EQ(verdict("8").verdict(), v1::VERDICT_PASS) << Told(verdict("8"));
  // What the trainer printed counts, and that it is not what it was given is said.
  EXPECT_TRUE(HasKind(verdict("4"), v1::SEVERITY_WARNING, "overridden")) << Told(verdict("4"));
}

TEST(Numbers, ATextInPlaceOfANumberIsSaid) {
  const KeysAndTexts good = {{"micro_batch_size", "4"}, {"gradient_accumulation_steps", "1"}};
  const KeysAndTexts bad = {{"micro_batch_size", "two"}, {"gradient_accumulation_steps", "1"}};
  EXPECT_EQ(ResultOf(kBatch, {Planned(8, {Arguments("yaml", good)})}, {Planned(8, {Arguments("yaml", bad)})}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
  const auto rate = [](const std::string& value) { return Planned(8, {Arguments("yaml", {{"lr", value}})}); };
  EXPECT_EQ(ResultOf("model.hyperparameters.learning-rate", {rate("abc")}, {rate("abc")}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
  const auto eps = [](const std::string& value) {
    return Planned(8, {Arguments("yaml", {{"adam_eps", value}, {"weight_decay", "0.1"}})});
  };
  EXPECT_EQ(ResultOf("model.hyperparameters.values", {eps("tiny")}, {eps("tiny")}).verdict(),
            v1::VERDICT_NOT_PERFORMED);
}

TEST(Facts, ANameThatNobodyKnowsIsAWarning) {
  v1::Bundle bundle = Planned(8, {Arguments("yaml", {{"adam_eps", "1e-8"}})});
  (*bundle.mutable_plan()->mutable_facts())["global_bath_size"].set_integer(8);
  (*bundle.mutable_plan()->mutable_facts())["adam_eps"].set_number(1e-8);
  const v1::CheckResult result = ResultOf("model.hyperparameters.values", {bundle}, {bundle});
  EXPECT_TRUE(HasKind(result, v1::SEVERITY_WARNING, "unknown_fact"));
  EXPECT_THAT(Told(result), ::testing::HasSubstr("global_bath_size"));
  EXPECT_NE(result.verdict(), v1::VERDICT_FAIL);
}

}  // namespace
}  // namespace paritect
