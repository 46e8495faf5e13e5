// What the names of a training's own figures tell: terms of the loss and gradient norms, by whatever name a program
// prints them. Readers of logs and checks go by the same words.
#ifndef PARITECT_COMMON_TRAINING_METRIC_H_
#define PARITECT_COMMON_TRAINING_METRIC_H_

#include "absl/strings/string_view.h"

namespace paritect {

// The loss or a part of it: "loss_bbox", "train/box_loss", "mtp_1 loss", "aux.d0.loss_cls", "分类损失". Not what only
// has to do with one: "loss_scale", "loss_weight", "packet loss".
bool NamesLossTerm(absl::string_view key);

// "optim/total_grad_norm", "critic/grad_norm", "grad_norm.0_default", "grad_2.0_norm_total", "gnorm".
bool NamesGradientNorm(absl::string_view key);

// Of a validation or a test: "val/box_loss", "eval_loss", "验证损失".
bool NamesEvaluationFigure(absl::string_view key);

}  // namespace paritect

#endif  // PARITECT_COMMON_TRAINING_METRIC_H_
