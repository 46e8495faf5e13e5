#include "rules/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

std::string NameOf(absl::string_view key) {
  const EvaluationMetric* metric = FindEvaluationMetric(key);
  return metric == nullptr ? "" : metric->name;
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
  EXPECT_FALSE(FindEvaluationMetric("WER")->sense.higher_is_better);
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

TEST(TrainingMetric, TermsOfTheLoss) {
  for (const char* name :
       {"loss", "lm loss", "mtp_1 loss", "loss_bbox", "d0.loss_cls", "train/box_loss", "actor/pg_loss", "nll_loss",
        "output_1_loss", "loss/policy", "分类损失", "Loss_CE", "losses/aux", "lobj"}) {
    EXPECT_TRUE(NamesLossTerm(name)) << name;
  }
  for (const char* name : {"loss_scale", "lossscale", "loss_scaler", "loss_weight", "packet loss", "损失缩放", "lr",
                           "accuracy", "loss_tokens", "perplexity"}) {
    EXPECT_FALSE(NamesLossTerm(name)) << name;
  }
}

TEST(TrainingMetric, GradientNorms) {
  for (const char* name : {"grad_norm", "optim/total_grad_norm", "critic/grad_norm", "grad_norm.0_default",
                           "grad_2.0_norm_total", "gnorm", "train/gradient norm", "梯度范数", "grad_norm/layers.0"}) {
    EXPECT_TRUE(NamesGradientNorm(name)) << name;
  }
  for (const char* name : {"params norm", "max_grad_norm", "clip_grad_norm", "norm_time", "weight_norm", "gradient"}) {
    EXPECT_FALSE(NamesGradientNorm(name)) << name;
  }
}

TEST(TrainingMetric, FiguresOfAnEvaluation) {
  for (const char* name : {"val/box_loss", "eval_loss", "coco/val_loss", "loss_test", "验证损失"}) {
    EXPECT_TRUE(NamesEvaluationFigure(name)) << name;
  }
  for (const char* name : {"train/box_loss", "loss", "value_loss", "latest_loss"}) {
    EXPECT_FALSE(NamesEvaluationFigure(name)) << name;
  }
}

TEST(Metrics, AWrongTableSaysWhere) {
  const auto read = [](absl::string_view text) {
    auto root = ParseDocument(text);
    return root.ok() ? ReadMetrics(*root).status() : root.status();
  };
  const absl::Status sense = read("metrics:\n  - {name: a, sense: upwards}\n");
  EXPECT_EQ(sense.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(sense.message(), testing::HasSubstr("unknown sense 'upwards'"));
  EXPECT_THAT(read("metrics:\n  - {name: a, sense: share, spellings: [x, x]}\n").message(),
              testing::HasSubstr("'x' stands twice"));
  EXPECT_THAT(read("metric: []\n").message(), testing::HasSubstr("1:1"));
  EXPECT_THAT(read("fields: {stepp: [a]}\n").message(), testing::HasSubstr("unknown field 'stepp'"));
  EXPECT_THAT(read("fields: {step: [a], loss: [a]}\n").message(), testing::HasSubstr("'a' stands twice"));
  EXPECT_THAT(read("fields: {step: [A]}\n").message(), testing::HasSubstr("'A' is not in plain form"));
  EXPECT_THAT(read("metrics: []\n").message(), testing::HasSubstr("`fields` is needed"));
}

TEST(Metrics, SenseOfLongerNames) {
  EXPECT_TRUE(SenseOf("val/mAP50-95(B)")->points);
  EXPECT_FALSE(SenseOf("eval_wer")->higher_is_better);
  EXPECT_FALSE(SenseOf("val_rmse")->points);
  EXPECT_TRUE(SenseOf("eval/box_loss")->is_loss);
  EXPECT_FALSE(SenseOf("bbox_loss").has_value());
  EXPECT_FALSE(SenseOf("train/acc").has_value());
}

}  // namespace
}  // namespace paritect
