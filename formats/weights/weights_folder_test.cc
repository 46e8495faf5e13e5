// Models of several files: Hugging Face's index, Megatron, DeepSpeed, PyTorch's distributed checkpoint.
#include "formats/weights/weights_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string OneTensor(absl::string_view name, absl::string_view more = "") {
  return TorchZip(absl::StrCat("}(", PickleText(name), PickleTensor("0", "FloatStorage", 2, 0, {2}, {1}), more, "u"),
                  {{"0", Floats({1, 2})}});
}
std::string OneSafetensors(absl::string_view name) {
  return SafetensorsFile(absl::StrCat(R"({")", name, R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
                         Floats({1}));
}

// --- Hugging Face
TEST(HfIndex, FilesOfTheIndexAsOneModel) {
  MemoryFileSystem fs;
  fs.AddFile("/m/model.safetensors.index.json",
             R"({"metadata": {"total_size": 8}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
  fs.AddFile("/m/1.safetensors", OneSafetensors("a"));
  fs.AddFile("/m/2.safetensors", OneSafetensors("b"));
  for (const std::string path : {"/m", "/m/model.safetensors.index.json"}) {
    const auto source = OpenWeights(fs, path);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_THAT(Listed(**source), ElementsAre("a F32 [1]", "b F32 [1]"));
    EXPECT_EQ((*source)->tensors()[1].file, "2.safetensors");
    EXPECT_EQ((*source)->about().notes_size(), 0);
    EXPECT_EQ((*source)->about().incomplete_size(), 0);
  }
}

TEST(HfIndex, WhatIsMissingMakesItIncomplete) {
  MemoryFileSystem fs;
  fs.AddFile("/m/model.safetensors.index.json",
             R"({"weight_map": {"a": "1.safetensors", "c": "1.safetensors", "b": "2.safetensors"}})");
  fs.AddFile("/m/1.safetensors", OneSafetensors("a"));
  const auto source = OpenWeights(fs, "/m");
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ((*source)->about().incomplete_size(), 2);
  EXPECT_EQ((*source)->about().incomplete(0).id(), "weights_tensor_missing");
  EXPECT_EQ((*source)->about().incomplete(1).id(), "weights_file_missing");
}

TEST(HfIndex, FilesWithoutAnIndexSayOfHowManyTheyAreOne) {
  MemoryFileSystem fs;
  fs.AddFile("/m/model-00001-of-00003.safetensors", OneSafetensors("a"));
  fs.AddFile("/m/model-00003-of-00003.safetensors", OneSafetensors("c"));
  EXPECT_EQ((*OpenWeights(fs, "/m"))->about().incomplete_size(), 1);
  fs.AddFile("/m/model-00002-of-00003.safetensors", OneSafetensors("b"));
  EXPECT_EQ((*OpenWeights(fs, "/m"))->about().incomplete_size(), 0);
}

TEST(HfIndex, FilesOutsideOfTheFolderAreRefused) {
  for (absl::string_view file : {"../x.safetensors", "/etc/passwd", "a/b.safetensors", "..", "a\\\\b"}) {
    const auto source = OpenBytes(absl::StrCat(R"({"weight_map": {"a": ")", file, R"("}})"));
    EXPECT_THAT(std::string(source.status().message()), HasSubstr("no file beside it")) << file;
  }
  const auto itself = OpenBytes(R"({"weight_map": {"a": "model"}})", "/m/model");
  EXPECT_TRUE(absl::IsUnimplemented(itself.status())) << "an index within an index";
}

// --- Megatron
std::string MegatronRank(std::int32_t tensor_size) {
  return OneTensor(
      "w", absl::StrCat(PickleText("iteration"), PickleInteger(5), PickleText("args"),
                        PickleInstance("argparse", "Namespace",
                                       {PickleText("tensor_model_parallel_size"), PickleInteger(tensor_size)})));
}

TEST(Megatron, EveryRankWithItsFile) {
  MemoryFileSystem fs;
  fs.AddFile("/m/latest_checkpointed_iteration.txt", "5\n");
  fs.AddFile("/m/iter_0000005/mp_rank_00/model_optim_rng.pt", MegatronRank(2));
  fs.AddFile("/m/iter_0000005/mp_rank_01/model_optim_rng.pt", MegatronRank(2));
  for (const std::string path : {"/m", "/m/iter_0000005"}) {
    const auto source = OpenWeights(fs, path);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->about().format(), "megatron");
    EXPECT_EQ((*source)->about().step(), 5);
    ASSERT_EQ((*source)->tensors().size(), 2u);
    EXPECT_EQ((*source)->tensors()[1].file, "mp_rank_01/model_optim_rng.pt");
    EXPECT_THAT(Facts(**source), Contains("args.tensor_model_parallel_size=integer: 2"));
    EXPECT_EQ((*source)->about().incomplete_size(), 0);
  }
}

// The buffers of a distributed optimizer, under the types that they are of.
TEST(Megatron, TheDistributedOptimizerBesideTheModel) {
  const std::string types = PickleTuple({PickleName("torch", "bfloat16"), PickleName("torch", "float32")});
  const auto tensor = [](const char* key) {
    return absl::StrCat(PickleText(key), PickleTensor("0", "FloatStorage", 2, 0, {2}, {1}));
  };
  const std::string buffers =
      PickleDict({PickleInteger(0), PickleDict({types, PickleDict({tensor("param"), tensor("exp_avg")})})});
  MemoryFileSystem fs;
  fs.AddFile("/m/iter_0000005/mp_rank_00/model_optim_rng.pt", MegatronRank(1));
  fs.AddFile("/m/iter_0000005/mp_rank_00/distrib_optim.pt", TorchZip(buffers, {{"0", Floats({1, 2})}}));
  const auto source = OpenWeights(fs, "/m/iter_0000005");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("w F32 [2]", "fp32_flat.0.torch.bfloat16+torch.float32.param F32 [2]",
                                            "fp32_flat.0.torch.bfloat16+torch.float32.exp_avg F32 [2]"));
  EXPECT_EQ((*source)->tensors()[1].role, v1::TENSOR_ROLE_MASTER);
  EXPECT_EQ((*source)->tensors()[2].role, v1::TENSOR_ROLE_OPTIMIZER_STATE);
  EXPECT_EQ((*source)->tensors()[1].file, "mp_rank_00/distrib_optim.pt");
  fs.AddFile("/m/iter_0000005/mp_rank_00/distrib_optim.pt", "no checkpoint");
  EXPECT_EQ(OpenWeights(fs, "/m/iter_0000005").status().code(), absl::StatusCode::kUnimplemented);
}

TEST(Megatron, ARankThatIsMissing) {
  MemoryFileSystem fs;
  fs.AddFile("/m/latest_checkpointed_iteration.txt", "5");
  fs.AddFile("/m/iter_0000005/mp_rank_00/model_optim_rng.pt", MegatronRank(2));
  const auto source = OpenWeights(fs, "/m");
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ((*source)->about().incomplete_size(), 1);
  EXPECT_EQ((*source)->about().incomplete(0).id(), "weights_ranks_missing");
  fs.AddFile("/n/latest_checkpointed_iteration.txt", "../../etc");
  EXPECT_TRUE(absl::IsDataLoss(OpenWeights(fs, "/n").status()));
}

// A layer of two heads of one channel each: rows of query, key, value head by head; two rows of gate, two of up.
std::string MegatronLayer(std::int32_t heads, std::int32_t query_rows = 2) {
  const auto matrix = [](const char* name, const char* key, std::int32_t rows, std::int32_t columns) {
    return absl::StrCat(PickleText(absl::StrCat("decoder.layers.0.", name)),
                        PickleTensor(key, "FloatStorage", rows * columns, 0, {rows, columns}, {columns, 1}));
  };
  const std::string arguments =
      PickleInstance("argparse", "Namespace",
                     {PickleText("num_attention_heads"), PickleInteger(heads), PickleText("hidden_size"),
                      PickleInteger(2), PickleText("tensor_model_parallel_size"), PickleInteger(1)});
  return TorchZip(PickleDict({PickleText("args"), arguments, PickleText("model"),
                              PickleDict({matrix("self_attention.linear_qkv.weight", "0", 6, 2),
                                          matrix("self_attention.linear_proj.weight", "1", 2, query_rows),
                                          matrix("mlp.linear_fc1.weight", "2", 4, 2),
                                          matrix("mlp.linear_fc2.weight", "3", 2, 2)})}),
                  {{"0", Floats({1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6})},
                   {"1", std::string(static_cast<std::size_t>(8 * query_rows), 'p')},
                   {"2", Floats({1, 1, 2, 2, 3, 3, 4, 4})},
                   {"3", std::string(16, 'q')}});
}

TEST(Megatron, RowsOfEachMatrixInAFusedOne) {
  const std::string file = "/m/iter_0000005/mp_rank_00/model_optim_rng.pt", layer = "model.decoder.layers.0.";
  MemoryFileSystem fs;
  fs.AddFile(file, MegatronLayer(2));
  const auto source = OpenWeights(fs, "/m/iter_0000005");
  ASSERT_TRUE(source.ok()) << source.status();
  std::map<std::string, std::string> read;
  for (std::size_t i = 0; i < (*source)->tensors().size(); ++i) {
    const absl::StatusOr<std::string> bytes = ReadTensor(**source, i);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    read[(*source)->tensors()[i].name] = *bytes;
  }
  EXPECT_EQ(read.size(), 7U);
  EXPECT_EQ(read[layer + "self_attention.linear_qkv.q.weight"], Floats({1, 1, 4, 4}));
  EXPECT_EQ(read[layer + "self_attention.linear_qkv.k.weight"], Floats({2, 2, 5, 5}));
  EXPECT_EQ(read[layer + "self_attention.linear_qkv.v.weight"], Floats({3, 3, 6, 6}));
  EXPECT_EQ(read[layer + "mlp.linear_fc1.gate.weight"], Floats({1, 1, 2, 2}));
  EXPECT_EQ(read[layer + "mlp.linear_fc1.up.weight"], Floats({3, 3, 4, 4}));
}

TEST(Megatron, RowsThatTheFileDoesNotTellApartStayTogether) {
  // No heads stated; heads that do not divide the rows; a query that is not what the next layer takes.
  for (const std::string& bytes : {MegatronLayer(0), MegatronLayer(5), MegatronLayer(2, 4)}) {
    MemoryFileSystem fs;
    fs.AddFile("/m/iter_0000005/mp_rank_00/model_optim_rng.pt", bytes);
    const auto source = OpenWeights(fs, "/m/iter_0000005");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_THAT(Listed(**source), Contains("model.decoder.layers.0.self_attention.linear_qkv.weight F32 [6,2]"));
  }
}

// Two experts a rank: three channels in, two within, a gate beside them.
std::string MegatronExperts(std::int32_t experts, std::int32_t given, const char* flag = "other") {
  const auto matrix = [](const char* name, const char* key, std::int32_t rows, std::int32_t columns) {
    return absl::StrCat(PickleText(absl::StrCat("decoder.layers.0.mlp.experts.", name)),
                        PickleTensor(key, "FloatStorage", rows * columns, 0, {rows, columns}, {columns, 1}));
  };
  const std::string arguments =
      PickleInstance("argparse", "Namespace",
                     {PickleText("num_experts"), PickleInteger(experts), PickleText("expert_model_parallel_size"),
                      PickleInteger(2), PickleText("pipeline_model_parallel_size"), PickleInteger(1),
                      PickleText("tensor_model_parallel_size"), PickleInteger(1), PickleText(flag), "\x88"});
  std::vector<float> first, second;
  for (int i = 0; i < 24; ++i) first.push_back(static_cast<float>(i));
  for (int i = 0; i < 3 * given; ++i) second.push_back(static_cast<float>(100 + i));
  return TorchZip(PickleDict({PickleText("args"), arguments, PickleText("model"),
                              PickleDict({matrix("weight1", "0", 3, 8), matrix("weight2", "1", given, 3)})}),
                  {{"0", Floats(first)}, {"1", Floats(second)}});
}

TEST(Megatron, ExpertsThatStandInOneTensor) {
  MemoryFileSystem fs;
  for (const char* rank : {"000", "001"}) {
    fs.AddFile(absl::StrCat("/m/iter_0000005/mp_rank_00_", rank, "/model_optim_rng.pt"),
               MegatronExperts(4, 4, "moe_tp_extend_ep"));
  }
  const auto source = OpenWeights(fs, "/m/iter_0000005");
  ASSERT_TRUE(source.ok()) << source.status();
  const std::string experts = "model.decoder.layers.0.mlp.experts.local_experts.";
  std::vector<std::string> names;
  for (int expert = 0; expert < 4; expert += 2) {
    for (const char* layer : {".linear_fc1.weight F32 [3,4]", ".linear_fc2.weight F32 [2,3]"}) {
      names.push_back(absl::StrCat(experts, expert, layer));
      names.push_back(absl::StrCat(experts, expert + 1, layer));
    }
  }
  EXPECT_EQ(Listed(**source), names);
  EXPECT_EQ(ReadTensor(**source, 1).value(), Floats({12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(ReadTensor(**source, 3).value(), Floats({106, 107, 108, 109, 110, 111}));
}

TEST(Megatron, ExpertsThatTheFileDoesNotTellApartStayTogether) {
  // None stated; more than the rows hold; a second layer that does not take what the first gives.
  for (const std::string& bytes : {MegatronExperts(0, 4), MegatronExperts(6, 4), MegatronExperts(4, 2)}) {
    MemoryFileSystem fs;
    fs.AddFile("/m/iter_0000005/mp_rank_00/model_optim_rng.pt", bytes);
    const auto source = OpenWeights(fs, "/m/iter_0000005");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_THAT(Listed(**source), Contains("model.decoder.layers.0.mlp.experts.weight1 F32 [3,8]"));
  }
}

TEST(Megatron, StagesOfAPipelineAreNumberedThrough) {
  MemoryFileSystem fs;
  for (const char* rank : {"000", "001"}) {
    fs.AddFile(absl::StrCat("/m/iter_0000005/mp_rank_00_", rank, "/model_optim_rng.pt"),
               OneTensor("model.decoder.layers.0.w"));
  }
  const auto source = OpenWeights(fs, "/m/iter_0000005");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), ElementsAre("model.decoder.layers.0.w F32 [2]", "model.decoder.layers.1.w F32 [2]"));
}

// --- MindSpore
TEST(MindsporeRanks, TheLastStepThatAllRanksHave) {
  MemoryFileSystem fs;
  for (const char* rank : {"rank_0", "rank_1"}) {
    for (const char* step : {"1_10", "2_10"}) {
      fs.AddFile(absl::StrCat("/m/", rank, "/net-", step, ".safetensors"), OneSafetensors(step));
    }
  }
  fs.AddFile("/m/rank_1/net-10_10.safetensors", OneSafetensors("later"));
  fs.AddFile("/m/rank_1/graph.meta", "no checkpoint");
  const auto source = OpenWeights(fs, "/m");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->about().format(), "mindspore-ranks");
  EXPECT_THAT(Listed(**source), ElementsAre("2_10 F32 [1]", "2_10 F32 [1]"));
  EXPECT_EQ((*source)->tensors()[1].file, "rank_1/net-2_10.safetensors");
  EXPECT_EQ((*source)->about().incomplete_size(), 0);
}

TEST(MindsporeRanks, RanksThatAreMissingOrHaveNothingInCommon) {
  MemoryFileSystem fs;
  fs.AddFile("/m/rank_0/a-1_1.safetensors", OneSafetensors("w"));
  fs.AddFile("/m/rank_2/a-1_1.safetensors", OneSafetensors("w"));
  const auto source = OpenWeights(fs, "/m");
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ((*source)->about().incomplete_size(), 1);
  EXPECT_EQ((*source)->about().incomplete(0).id(), "weights_ranks_missing");
  fs.AddFile("/n/rank_0/a-1_1.safetensors", OneSafetensors("w"));
  fs.AddFile("/n/rank_1/a-1_2.safetensors", OneSafetensors("w"));
  EXPECT_TRUE(absl::IsDataLoss(OpenWeights(fs, "/n").status()));
}

// --- DeepSpeed
TEST(Deepspeed, LayersOfAPipelineByTheirNumber) {
  MemoryFileSystem fs;
  fs.AddFile("/m/layer_00-model_00-model_states.pt", OneTensor("weight"));
  fs.AddFile("/m/layer_03-model_00-model_states.pt", OneTensor("weight"));
  fs.AddFile("/m/mp_rank_00_model_states.pt", OneTensor("iteration"));
  const auto source = OpenWeights(fs, "/m");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Listed(**source), Contains("0.weight F32 [2]"));
  EXPECT_THAT(Listed(**source), Contains("3.weight F32 [2]"));
}

std::string OptimizerStates(int stage, const std::vector<float>& flat, int ranks) {
  const auto count = static_cast<std::int32_t>(flat.size());
  const std::string list = absl::StrCat("](", PickleTensor("0", "FloatStorage", count, 0, {count}, {1}), "e");
  return TorchZip(
      PickleDict({PickleText("optimizer_state_dict"),
                  PickleDict({PickleText("zero_stage"), PickleInteger(stage), PickleText("partition_count"),
                              PickleInteger(ranks),
                              PickleText(stage == 3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups"), list})}),
      {{"0", Floats(flat)}});
}
std::string ModelStates() {
  const std::string shapes = PickleDict({PickleText("a.w"), PickleCall("torch", "Size", {PickleIntegers({3})}),
                                         PickleText("b"), PickleCall("torch", "Size", {PickleIntegers({1, 2})})});
  return OneTensor("module", absl::StrCat(PickleText("param_shapes"), "](", shapes, "e", PickleText("global_steps"),
                                          PickleInteger(9), PickleText("skipped_steps"), PickleInteger(2)));
}
std::string Name(int rank) {
  return absl::StrCat("/m/global_step9/zero_pp_rank_", rank, "_mp_rank_00_optim_states.pt");
}

TEST(Deepspeed, TheMasterCopyIsPutTogether) {
  for (const int stage : {2, 3}) {
    MemoryFileSystem fs;
    fs.AddFile("/m/latest", "global_step9");
    fs.AddFile("/m/zero_to_fp32.py", "");
    fs.AddFile("/m/global_step9/mp_rank_00_model_states.pt", ModelStates());
    // a.w = 1 2 3, b = 4 5; cut over two ranks as each stage does it, filled up with zeros.
    fs.AddFile(Name(0),
               OptimizerStates(stage, stage == 3 ? std::vector<float>{1, 2, 4} : std::vector<float>{1, 2, 3}, 2));
    fs.AddFile(Name(1),
               OptimizerStates(stage, stage == 3 ? std::vector<float>{3, 0, 5} : std::vector<float>{4, 5, 0}, 2));
    auto source = OpenWeights(fs, "/m");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->about().step(), 7) << "skipped steps are no updates";
    std::map<std::string, std::string> read;
    for (std::size_t i = 0; i < (*source)->tensors().size(); ++i)
      read[(*source)->tensors()[i].name] = ReadTensor(**source, i).value();
    EXPECT_EQ(read["fp32.a.w"], Floats({1, 2, 3})) << "stage " << stage;
    EXPECT_EQ(read["fp32.b"], Floats({4, 5})) << "stage " << stage;
  }
}

// In stage 3 the module holds an empty tensor in place of each parameter.
TEST(Deepspeed, TheMasterCopyStandsForWhatTheModuleDoesNotHold) {
  const std::string shapes = PickleDict({PickleText("a.w"), PickleCall("torch", "Size", {PickleIntegers({3})})});
  const std::string module =
      TorchZip(PickleDict({PickleText("module"),
                           PickleDict({PickleText("a.w"), PickleTensor("0", "HalfStorage", 0, 0, {0}, {1})}),
                           PickleText("param_shapes"), absl::StrCat("](", shapes, "e")}),
               {{"0", ""}});
  for (const bool complete : {true, false}) {
    MemoryFileSystem fs;
    fs.AddFile("/m/global_step9/zero_pp_rank_0_mp_rank_00_model_states.pt", module);
    if (complete) fs.AddFile(Name(0), OptimizerStates(3, {1, 2, 3}, 1));
    auto source = OpenWeights(fs, "/m/global_step9");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->about().incomplete_size(), complete ? 0 : 1);
    EXPECT_THAT(Listed(**source), Contains("placeholder.module.a.w F16 [0]"));
    EXPECT_EQ(complete, testing::Value(Listed(**source), Contains("module.a.w F32 [3]")));
  }
}

TEST(Deepspeed, ARankThatIsMissingLeavesTheMasterCopyOut) {
  MemoryFileSystem fs;
  fs.AddFile("/m/global_step9/mp_rank_00_model_states.pt", ModelStates());
  fs.AddFile(Name(0), OptimizerStates(2, {1, 2, 3}, 2));
  const auto source = OpenWeights(fs, "/m/global_step9");
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ((*source)->about().incomplete_size(), 1);
  EXPECT_EQ((*source)->about().incomplete(0).id(), "weights_ranks_missing");
  for (const TensorInfo& info : (*source)->tensors()) EXPECT_THAT(info.name, ::testing::Not(HasSubstr("fp32.b")));
}

// --- PyTorch's distributed checkpoint
constexpr char kModule[] = "torch.distributed.checkpoint.metadata";
std::string Size(const std::vector<std::int32_t>& extents) {
  return PickleCall("torch", "Size", {PickleIntegers(extents)});
}

struct Chunk {
  std::vector<std::int32_t> offsets, sizes;
  std::vector<float> values;
  bool safetensors = false;
};

// A tensor of that size in one file of chunks.
void AddDcp(MemoryFileSystem& fs, const std::vector<std::int32_t>& size, const std::vector<Chunk>& chunks,
            absl::string_view file = "__0_0.distcp", absl::string_view name = "w") {
  std::string data, list = "](", places;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int32_t>(chunk.values.size());
    std::vector<std::int32_t> strides(chunk.sizes.size(), 1);
    for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * chunk.sizes[i];
    const std::string plain =
        SafetensorsFile(absl::StrCat(R"({"w":{"dtype":"F32","shape":[)", absl::StrJoin(chunk.sizes, ","),
                                     R"(],"data_offsets":[0,)", 4 * count, "]}}"),
                        Floats(chunk.values));
    const std::string part = chunk.safetensors
                                 ? plain
                                 : TorchZip(PickleTensor("0", "FloatStorage", count, 0, chunk.sizes, strides),
                                            {{"0", Floats(chunk.values)}});
    absl::StrAppend(
        &list, PickleInstance(kModule, "ChunkStorageMetadata",
                              {PickleText("offsets"), Size(chunk.offsets), PickleText("sizes"), Size(chunk.sizes)}));
    absl::StrAppend(&places,
                    PickleInstance(kModule, "MetadataIndex",
                                   {PickleText("fqn"), PickleText(name), PickleText("offset"), Size(chunk.offsets)}),
                    PickleInstance("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                                   {PickleText("relative_path"), PickleText(file), PickleText("offset"),
                                    PickleInteger(static_cast<std::int32_t>(data.size())), PickleText("length"),
                                    PickleInteger(static_cast<std::int32_t>(part.size()))}));
    data += part;
  }
  const std::string tensor = PickleInstance(kModule, "TensorStorageMetadata",
                                            {PickleText("size"), Size(size), PickleText("chunks"), list + "e"});
  fs.AddFile("/m/.metadata",
             PickleFile(PickleInstance(kModule, "Metadata",
                                       {PickleText("state_dict_metadata"), PickleDict({PickleText(name), tensor}),
                                        PickleText("storage_data"), absl::StrCat("}(", places, "u")})));
  fs.AddFile("/m/__0_0.distcp", data);
}

std::string ReadDcp(const std::vector<std::int32_t>& size, const std::vector<Chunk>& chunks,
                    absl::string_view file = "__0_0.distcp") {
  MemoryFileSystem fs;
  AddDcp(fs, size, chunks, file);
  auto source = OpenWeights(fs, "/m");
  if (!source.ok()) return std::string(source.status().message());
  const auto read = ReadTensor(**source, 0);
  return read.ok() ? *read : std::string(read.status().message());
}

TEST(TorchDcp, ChunksByRowsColumnsAndBoxes) {
  EXPECT_EQ(ReadDcp({2, 2}, {{{1, 0}, {1, 2}, {3, 4}}, {{0, 0}, {1, 2}, {1, 2}}}), Floats({1, 2, 3, 4}));
  EXPECT_EQ(ReadDcp({2, 2}, {{{0, 1}, {2, 1}, {2, 4}}, {{0, 0}, {2, 1}, {1, 3}}}), Floats({1, 2, 3, 4}));
  EXPECT_EQ(
      ReadDcp({2, 2, 2},
              {{{0, 0, 0}, {1, 2, 2}, {1, 2, 3, 4}}, {{1, 0, 0}, {1, 1, 2}, {5, 6}}, {{1, 1, 0}, {1, 1, 2}, {7, 8}}}),
      Floats({1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(ReadDcp({}, {{{}, {}, {7}}}), Floats({7}));
  EXPECT_EQ(ReadDcp({2, 2}, {{{1, 0}, {1, 2}, {3, 4}, true}, {{0, 0}, {1, 2}, {1, 2}}}), Floats({1, 2, 3, 4}));
}

TEST(TorchDcp, CopiesOfTheOptimizerAreToldFromItsState) {
  for (const auto& [name, role] : {std::pair("optimizer.state.fp32_param.w", v1::TENSOR_ROLE_MASTER),
                                   std::pair("optimizer.state.exp_avg.w", v1::TENSOR_ROLE_UNSPECIFIED)}) {
    MemoryFileSystem fs;
    AddDcp(fs, {2}, {{{0}, {2}, {1, 2}}}, "__0_0.distcp", name);
    const auto source = OpenWeights(fs, "/m");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->tensors()[0].role, role) << name;
  }
}

TEST(TorchDcp, ChunksThatDoNotTile) {
  EXPECT_THAT(ReadDcp({3}, {{{0}, {2}, {1, 2}}}), HasSubstr("its chunks hold 2 elements, its shape has 3"));
  EXPECT_THAT(ReadDcp({2}, {{{1}, {2}, {1, 2}}}), HasSubstr("leaves the tensor"));
  EXPECT_THAT(ReadDcp({2, 2}, {{{0, 0}, {2, 1}, {1, 2}}, {{1, 0}, {1, 2}, {3, 4}}}), HasSubstr("chunks that"));
  EXPECT_THAT(ReadDcp({1}, {{{0}, {1}, {1}}}, "../secret"), HasSubstr("no file of the folder"));
  EXPECT_THAT(ReadDcp({1}, {{{0}, {1}, {1}}}, "__7_0.distcp"), HasSubstr("a part of it is missing"));
}

}  // namespace
}  // namespace paritect
