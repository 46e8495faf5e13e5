#include "formats/logs/machinery/evaluation_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes.h"

namespace paritect {
namespace {

// "train ckpt_1 62 (accuracy in: val top1)"; "" where the line tells nothing.
std::string Shown(absl::string_view line) {
  std::string all;
  for (const v1::EvaluationTold& one : EvaluationsTold(line)) {
    const char* mode = one.mode() == v1::EvaluationTold::MODE_TRAINING     ? "train"
                       : one.mode() == v1::EvaluationTold::MODE_EVALUATION ? "eval"
                                                                           : "?";
    absl::StrAppend(&all, all.empty() ? "" : "; ", mode, " ", one.checkpoint(), " ", FormatDouble(one.value()));
  }
  return all;
}

TEST(EvaluationModes, WordsOfTheMode) {
  EXPECT_EQ(Shown("[val] checkpoint=ckpt_0040 mode=train top1=59.244"), "train ckpt_0040 59.244");
  EXPECT_EQ(Shown("[val] checkpoint=ckpt_0040 mode=eval top1=62.000"), "eval ckpt_0040 62");
  EXPECT_EQ(Shown("Evaluating ./out/epoch_1.pt (model.training=True): accuracy = 56.731"),
            "train ./out/epoch_1.pt 56.731");
  EXPECT_EQ(Shown("Evaluating ./out/epoch_1.pt (model.training=False): accuracy = 56.731"),
            "eval ./out/epoch_1.pt 56.731");
  EXPECT_EQ(Shown("validation of out/iter_500.pth in training mode, accuracy: 55.1"), "train out/iter_500.pth 55.1");
  EXPECT_EQ(Shown("eval ckpt: step-500 train_mode: false accuracy: 0.62"), "eval step-500 0.62");
  EXPECT_EQ(Shown("{\"event\": \"eval\", \"ckpt\": \"step-500\", \"mode\": \"train\", \"accuracy\": 0.62}"),
            "train step-500 0.62");
  EXPECT_EQ(Shown("验证 checkpoint=ckpt_40 训练模式 准确率: 59.5"), "train ckpt_40 59.5");
  EXPECT_EQ(Shown("test checkpoint-300 accuracy: 0.5"), "? checkpoint-300 0.5");
}

TEST(EvaluationModes, LinesOfTheTrainingTellNothing) {
  for (const char* line :
       {"step 5 loss 2.1 mode=train",
        "{\"mode\": \"train\", \"epoch\": 1, \"iter\": 50, \"loss\": 2.5, \"accuracy\": 50.0}",
        "{\"mode\": \"val\", \"epoch\": 1, \"accuracy_top-1\": 70.1}", "model.training: loss 2.5 accuracy 0.5",
        "train: accuracy 0.8 | val: accuracy 0.7 mode=train epoch_3.pt",
        "Namespace(mode='train', accuracy=0.5, ckpt='a.pt')", "Saving model.pt", "val accuracy 0.75",
        "step 100 loss 2.1 lr 1e-4 ckpt_1 mode=train accuracy 0.5"}) {
    EXPECT_EQ(Shown(line), "") << line;
  }
}

TEST(EvaluationModes, WhatStandsBesideTheResultSaysWhatItIsOf) {
  const auto about = [](absl::string_view line) {
    const std::vector<v1::EvaluationTold> told = EvaluationsTold(line);
    return told.empty() ? std::string("none") : told.front().metric();
  };
  EXPECT_EQ(about("2026-01-02 03:04:05,678 [val] ckpt_1.pt mode=eval accuracy=0.5 took 3.5 s"),
            about("2026-01-03 13:14:15,016 [val] ckpt_2.pt mode=train accuracy=0.6 took 4.5 s"));
  EXPECT_NE(about("eval ckpt_1.pt on val accuracy=0.5"), about("eval ckpt_1.pt on test accuracy=0.5"));
  EXPECT_NE(about("eval ckpt_1.pt fold 1 accuracy=0.5"), about("eval ckpt_1.pt fold 2 accuracy=0.5"));
}

TEST(EvaluationModes, AFileOfSuchLinesIsALog) {
  const std::string text =
      "[val] checkpoint=ckpt_0040 mode=train top1=59.244\n[val] checkpoint=ckpt_0040 mode=train top1=59.502\n";
  const auto log = ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text); }, LogOptions());
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_EQ(log->evaluations_size(), 2);
  EXPECT_EQ(log->evaluations(1).line(), 2);
  EXPECT_EQ(log->evaluations(1).value(), 59.502);
}

}  // namespace
}  // namespace paritect
