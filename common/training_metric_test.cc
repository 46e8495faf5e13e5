#include "common/training_metric.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

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

}  // namespace
}  // namespace paritect
