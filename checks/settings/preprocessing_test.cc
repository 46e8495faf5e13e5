#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

std::string Judge(absl::string_view check, const KeysAndTexts& baseline, const KeysAndTexts& migrated) {
  return Verdict(absl::StrCat("data.preprocessing.", check), {Gpu({Arguments("yaml", baseline)})},
                 {Npu({Arguments("yaml", migrated)})});
}

TEST(PreprocessingSettings, ADifferenceFailsAndEqualityNeverPasses) {
  EXPECT_EQ(Judge("shuffle", {{"shuffle", "true"}}, {{"shuffle", "False"}}), "fail: shuffle_differs shuffle, !npu");
  EXPECT_EQ(Judge("shuffle", {{"shuffle", "true"}}, {{"shuffle", "1"}}), "not_performed: !npu");
  EXPECT_EQ(Judge("shuffle", {{"shuffle_buffer_size", "10000"}}, {{"buffer_size", "1e4"}}), "not_performed: !npu");
  EXPECT_EQ(Judge("shuffle", {{"buffer_size", "10000"}}, {{"buffer_size", "4096"}}),
            "fail: shuffle_differs shuffle_buffer, !npu");
  EXPECT_EQ(Judge("padding", {{"cutoff_len", "2048"}, {"drop_last", "true"}},
                  {{"seq_length", "2048"}, {"drop_remainder", "no"}}),
            "fail: padding_differs drop_last, !npu");
  EXPECT_EQ(Judge("transform", {{"template", "qwen"}}, {{"template", "llama3"}}),
            "fail: transform_differs prompt_template, !npu");
  EXPECT_EQ(Judge("read-count", {{"num_examples", "52,002"}}, {{"num_examples", "52000"}}),
            "fail: read_count_differs samples_read, !npu");
  EXPECT_EQ(Judge("read-count", {{"num_examples", "52,002"}}, {{"num_examples", "52002"}}), "not_performed: !npu");
  EXPECT_EQ(Judge("padding", {{"lr", "1"}}, {{"lr", "1"}}), "not_performed: !npu");
}

TEST(PreprocessingSettings, ParallelismIsAWarningUnlessTheOrderIsFree) {
  EXPECT_EQ(Judge("parallelism", {{"num_workers", "8"}}, {{"dataloader_num_workers", "4"}}),
            "not_performed: ~parallelism_differs dataloader_workers, !npu");
  EXPECT_EQ(Judge("parallelism", {{"num_parallel_calls", "8"}}, {{"num_parallel_calls", "AUTOTUNE"}}),
            "not_performed: ~parallelism_differs map_parallelism, !npu");
  EXPECT_EQ(Judge("parallelism", {{"num_parallel_calls", "8"}, {"deterministic_order", "false"}},
                  {{"num_parallel_calls", "4"}, {"deterministic_order", "false"}}),
            "fail: parallelism_differs map_parallelism, !npu");
}

TEST(PreprocessingSettings, NamesOfTwoPartsAreNoConflict) {
  const KeysAndTexts both = {{"dataloader_num_workers", "4"}, {"preprocessing_num_workers", "16"}};
  EXPECT_EQ(Judge("parallelism", both, both), "not_performed: !npu");
  const KeysAndTexts packed = {{"packing", "true"},          {"neat_packing", "false"}, {"truncation", "true"},
                               {"truncation_side", "right"}, {"pad_token", "<pad>"},    {"pad_token_id", "0"}};
  EXPECT_EQ(Judge("padding", packed, packed), "not_performed: !npu");
  EXPECT_EQ(Judge("shuffle", {{"shuffle", "true"}, {"shuffle", "false"}}, {{"shuffle", "true"}}),
            "fail: conflict_within_side baseline: shuffle, !npu");
}

TEST(PreprocessingSettings, OneSideAloneIsNoDifference) {
  EXPECT_EQ(Judge("shuffle", {{"shuffle", "true"}}, {{"lr", "1"}}), "not_performed: !npu, !npu");
  EXPECT_EQ(Verdict("data.preprocessing.shuffle", {}, {Npu({Arguments("yaml", {{"shuffle", "true"}})})}),
            "not_performed: !baseline");
}

v1::Bundle Host(const std::string& node, const std::string& memory, const std::string& buffer) {
  return NodeOf(
      "npu", node, "atlas-a2", "tensorflow",
      {SettingsOf("host", "host", {{"host.memory_bytes", memory}}), Arguments("yaml", {{"buffer_size", buffer}})});
}

TEST(PreprocessingSettings, AValueThatMovesWithTheHost) {
  const v1::Bundle gpu = Gpu({Arguments("yaml", {{"lr", "1"}})}, "tensorflow");
  constexpr absl::string_view kCheck = "data.preprocessing.host-dependent";
  EXPECT_EQ(Verdict(kCheck, {gpu}, {Host("n1", "1000000", "500"), Host("n2", "2000000", "1000")}),
            "fail: follows_host shuffle_buffer, !");
  EXPECT_EQ(Verdict(kCheck, {gpu}, {Host("n1", "1000000", "500"), Host("n2", "2000000", "500")}), "not_performed: !");
  EXPECT_EQ(Verdict(kCheck, {gpu}, {Host("n1", "1000000", "500"), Host("n2", "2000000", "700")}), "not_performed: !");
}

}  // namespace
}  // namespace paritect
