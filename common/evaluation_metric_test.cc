#include "common/evaluation_metric.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

std::string NameOf(absl::string_view key) {
  const EvaluationMetric* metric = FindEvaluationMetric(key);
  return metric == nullptr ? "" : std::string(metric->name);
}

TEST(EvaluationMetric, OneNameForManySpellings) {
  for (const char* key : {"mAP", "coco/bbox_mAP", "val_mAP", "AP", "bbox_AP"}) EXPECT_EQ(NameOf(key), "map") << key;
  for (const char* key : {"AP50", "mAP50", "mAP_50", "coco/bbox_mAP_50"}) EXPECT_EQ(NameOf(key), "map50") << key;
  EXPECT_EQ(NameOf("metrics/mAP50-95(B)"), "map");
  EXPECT_EQ(NameOf("metrics/mAP50(B)"), "map50");
  EXPECT_EQ(NameOf("bbox/AP"), "map");
  EXPECT_EQ(NameOf("val_top_k_categorical_accuracy"), "top5_accuracy");
  EXPECT_EQ(NameOf("mIoU"), "miou");
  EXPECT_EQ(NameOf("BLEU"), "bleu");
  EXPECT_EQ(NameOf("eval_bleu"), "bleu");
  EXPECT_EQ(NameOf("WER"), "wer");
  EXPECT_FALSE(FindEvaluationMetric("WER")->higher_is_better);
}

TEST(EvaluationMetric, OfTrainingIsNone) {
  EXPECT_EQ(NameOf("ppl"), "");  // fairseq prints it at every step
  EXPECT_EQ(NameOf("valid_ppl"), "perplexity");
  EXPECT_EQ(NameOf("eval/perplexity"), "perplexity");
  EXPECT_EQ(NameOf("train/mAP"), "");
  EXPECT_EQ(NameOf("loss"), "");
  EXPECT_EQ(NameOf("grad_norm"), "");
  EXPECT_EQ(NameOf(""), "");
}

}  // namespace
}  // namespace paritect
