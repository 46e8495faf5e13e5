#include "formats/logs/machinery/evaluation_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

// "train ckpt_1 62"; "" where the line tells nothing.
std::string Shown(absl::string_view line) {
  std::string all;
  for (const EvaluationTold& one : EvaluationsTold(line)) {
    const char* mode = one.mode == EvaluationTold::Mode::kTraining     ? "train"
                       : one.mode == EvaluationTold::Mode::kEvaluation ? "eval"
                                                                       : "?";
    absl::StrAppend(&all, all.empty() ? "" : "; ", mode, " ", one.checkpoint, " ", FormatDouble(one.value));
  }
  return all;
}

// "evaluated_in_training_mode@3 ...": the notes of a log of such lines.
std::string NotesOf(absl::string_view text) {
  const auto log = ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text); }, LogOptions());
  if (!log.ok()) return log.status().ToString();
  std::string all;
  for (const v1::Note& note : log->notes()) {
    if (absl::StartsWith(note.kind(), "evaluat")) absl::StrAppend(&all, note.kind(), "@", note.line(), " ");
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
    const std::vector<EvaluationTold> told = EvaluationsTold(line);
    return told.empty() ? std::string("none") : told.front().about;
  };
  EXPECT_EQ(about("2026-01-02 03:04:05,678 [val] ckpt_1.pt mode=eval accuracy=0.5 took 3.5 s"),
            about("2026-01-03 13:14:15,016 [val] ckpt_2.pt mode=train accuracy=0.6 took 4.5 s"));
  EXPECT_NE(about("eval ckpt_1.pt on val accuracy=0.5"), about("eval ckpt_1.pt on test accuracy=0.5"));
  EXPECT_NE(about("eval ckpt_1.pt fold 1 accuracy=0.5"), about("eval ckpt_1.pt fold 2 accuracy=0.5"));
}

TEST(EvaluationModes, AFileOfSuchLinesIsALog) {
  EXPECT_EQ(
      NotesOf("[val] checkpoint=ckpt_0040 mode=train top1=59.244\n[val] checkpoint=ckpt_0080 mode=train top1=62\n"),
      "evaluated_in_training_mode@1 evaluated_in_training_mode@2 ");
  EXPECT_EQ(NotesOf("step 1 loss 2.5\n[val] checkpoint=ckpt_0040 mode=eval top1=59.244\n"),
            "evaluated_in_evaluation_mode@2 ");
}

TEST(EvaluationModes, OneCheckpointGivesOneResult) {
  const std::string twice = "eval ckpt_40: accuracy 60.1\neval ckpt_80: accuracy 61\neval ckpt_40: accuracy 60.4\n";
  EXPECT_EQ(NotesOf(twice), "evaluation_not_repeated@3 ");
  EXPECT_EQ(NotesOf("step 1 loss 2.5\n" + twice), "evaluation_not_repeated@4 ");
  EXPECT_EQ(NotesOf("eval ckpt_40: accuracy 60.1\neval ckpt_40: accuracy 60.1\n"), "");
  // Between two results the training went on, or may have: the name does not tell its place in the training.
  EXPECT_EQ(NotesOf("step 1 loss 2.5\neval model.pt accuracy 60\nstep 2 loss 2.4\neval model.pt accuracy 61\n"), "");
  EXPECT_EQ(NotesOf("step 1 loss 2.5\neval model.pt accuracy 60\neval model.pt accuracy 61\n"),
            "evaluation_not_repeated@3 ");
  for (const char* name : {"resnet50.pth", "step_best.pt", "epoch_latest.pt"}) {
    EXPECT_EQ(NotesOf(absl::StrCat("eval ", name, " accuracy 60\neval ", name, " accuracy 61\n")), "") << name;
  }
  EXPECT_EQ(NotesOf("eval ckpt_1 on val accuracy 60\neval ckpt_1 on test accuracy 58\n"), "");
}

}  // namespace
}  // namespace paritect
