// What evaluations print, in logs of every kind: where it goes and what is not taken for it.
#include "formats/logs/machinery/evaluation_lines.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

v1::RunLog Read(absl::string_view text) {
  auto log = ReadLog([&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text); },
                     LogOptions());
  return log.ok() ? *std::move(log) : v1::RunLog();
}

// "text 10:2.5~0.5@76.1% mAP=0.4": step, loss, evaluation loss, accuracy ('t': of training), metrics.
std::string Shown(const v1::RunLog& log) {
  return absl::StrCat(log.format(), log.records().empty() ? "" : " ",
                      absl::StrJoin(log.records(), " ", [](std::string* out, const v1::StepRecord& r) {
                        absl::StrAppend(out, r.step_unknown() ? "after " : "", r.step(), ":");
                        if (r.has_loss()) absl::StrAppend(out, FormatDouble(r.loss()));
                        if (r.has_eval_loss()) absl::StrAppend(out, "~", FormatDouble(r.eval_loss()));
                        if (r.has_accuracy())
                          absl::StrAppend(out, r.accuracy_of_training() ? "t@" : "@", FormatDouble(r.accuracy()));
                        if (r.accuracy_in_points()) absl::StrAppend(out, "%");
                        for (absl::string_view name : {"mAP", "AP50", "mIoU", "BLEU", "val perplexity"}) {
                          const auto found = r.metrics().find(std::string(name));
                          if (found != r.metrics().end())
                            absl::StrAppend(out, " ", name, "=", FormatDouble(found->second));
                        }
                      }));
}

std::string Shown(absl::string_view text) {
  return Shown(Read(text));
}

// The last record, of a training of two steps and the line behind it.
std::string After(absl::string_view line) {
  const v1::RunLog log = Read(absl::StrCat("step 10 loss 2.5 lr 0.1\nstep 20 loss 2.25 lr 0.1\n", line, "\n"));
  const std::string all = Shown(log);
  constexpr absl::string_view kBefore = "text 10:2.5 20:2.25";
  return absl::StartsWith(all, kBefore) ? all.substr(kBefore.size()) : all;
}

TEST(EvaluationLines, BelongToTheStepBefore) {
  EXPECT_EQ(After("Epoch 4 val_accuracy: 0.76"), "@0.76");
  EXPECT_EQ(After("Test set: Average loss: 0.0264, Accuracy: 9912/10000 (99%)"), "~0.0264@0.9912");
  EXPECT_EQ(After("Accuracy: 76.10%"), "@76.1%");
  EXPECT_EQ(After("Accuracy: 76 %"), "@76%");
  EXPECT_EQ(After("accuracy = 0.5 %"), "@0.5%");
  EXPECT_EQ(After(" * Acc@1 76.130 Acc@5 92.862"), "@76.13");
  EXPECT_EQ(After(" * Prec@1 76.130 Prec@5 92.862"), "@76.13");
  EXPECT_EQ(After("eval_accuracy = 0.85"), "@0.85");
  EXPECT_EQ(After("  eval_accuracy           =     0.8578"), "@0.8578");
  EXPECT_EQ(After("top1: 75.3"), "@75.3");
  EXPECT_EQ(After("top-1: 75.3 top-5: 92.1"), "@75.3");
  EXPECT_EQ(After("Top-5 accuracy: 92.1"), "");
  EXPECT_EQ(After("Top-1 accuracy: 75.3, Top-5 accuracy: 92.1"), "@75.3");
  EXPECT_EQ(After("epoch: 1, accuracy: 0.97"), "@0.97");
  EXPECT_EQ(After("{'Accuracy': 0.98}"), "@0.98");
  EXPECT_EQ(After("metric: {'acc': 0.98}"), "@0.98");
  EXPECT_EQ(After("Accuracy of the network on the 10000 test images: 55 %"), "@55%");
  EXPECT_EQ(After("[npu id: 0 ] [AVG-ACC] * Acc@1 76.13"), "@76.13");
}

TEST(EvaluationLines, InChinese) {
  EXPECT_EQ(After("准确率: 97.5%"), "@97.5%");
  EXPECT_EQ(After("验证准确率：0.975"), "@0.975");
  EXPECT_EQ(After("测试精度为 0.85"), "@0.85");
  EXPECT_EQ(After("第 3 轮 验证准确率 0.975"), "@0.975");
  EXPECT_EQ(After("最佳准确率: 98.5%"), "");
  EXPECT_EQ(After("训练准确率: 98.5%"), "");
  EXPECT_EQ(After("混合精度: fp16"), "");
}

TEST(EvaluationLines, OtherMeasures) {
  EXPECT_EQ(After("mIoU: 45.2"), " mIoU=45.2");
  EXPECT_EQ(After("mAP: 0.376, AP50: 0.58"), " mAP=0.376 AP50=0.58");
  EXPECT_EQ(After(" Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.376"), " mAP=0.376");
  EXPECT_EQ(After(" Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.58"), " AP50=0.58");
  EXPECT_EQ(After(" Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = 0.2"), "");
  EXPECT_EQ(After("BLEU = 27.3"), " BLEU=27.3");
  EXPECT_EQ(After("val perplexity: 12.5"), " val perplexity=12.5");
}

TEST(EvaluationLines, WhatIsNoResult) {
  EXPECT_EQ(After("Best accuracy: 76.5"), "");
  EXPECT_EQ(After(" * Max accuracy: 81.30%"), "");
  EXPECT_EQ(After("target accuracy: 0.759"), "");
  EXPECT_EQ(After("Train accuracy: 0.9"), "");
  EXPECT_EQ(After("Epoch 3 train accuracy: 0.9"), "");
  EXPECT_EQ(After("args: accuracy=0.9"), "");
  EXPECT_EQ(After("the accuracy is discussed below"), "");
  EXPECT_EQ(After("Epoch[0] Batch [0-20] Speed: 1234.5 samples/sec accuracy=0.0005"), "");
  EXPECT_EQ(After("Test: [  0/10]\tTime  0.1 ( 0.1)\tLoss 1.2e+00 (1.2e+00)\tAcc@1  70.00 ( 70.00)\n * Acc@1 74.100"),
            "@74.1");
  EXPECT_EQ(After("Validation [ 3/10] acc 0.5"), "");
  EXPECT_EQ(After("step 30 accuracy 0.5"), "");  // of a batch, if nothing else is said
}

TEST(EvaluationLines, TrainingAccuracyGivesWay) {
  EXPECT_EQ(Shown("step 10 loss 2.5 acc 0.5\nstep 20 loss 2.25 acc 0.6\nval_acc: 0.55\n"),
            "text 10:2.5t@0.5 20:2.25@0.55");
}

TEST(EvaluationLines, ASecondResultStandsByItself) {
  EXPECT_EQ(After("val_accuracy: 0.76\ntest_accuracy: 0.75"), "@0.76 after 20:@0.75");
  EXPECT_EQ(After("val_accuracy: 0.7612\n  eval_accuracy = 0.76"), "@0.7612");  // the same with fewer digits
}

TEST(EvaluationLines, AnEpochStandsForAStepWhereNoneIsTold) {
  const v1::RunLog log = Read(
      "Epoch 1/3 - loss: 2.5 - val_loss: 2.6 - val_acc: 0.5\n"
      "Epoch 2/3 - loss: 2.25 - val_loss: 2.4 - val_acc: 0.6\n"
      "Epoch 3/3 - loss: 2.0 - val_loss: 2.2 - val_acc: 0.7\n");
  EXPECT_EQ(Shown(log), "text 1:2.5~2.6@0.5 2:2.25~2.4@0.6 3:2~2.2@0.7");
  ASSERT_GT(log.notes_size(), 0);
  EXPECT_EQ(log.notes(0).kind(), "step_is_epoch");
  EXPECT_EQ(log.end().state(), v1::RunEnd::STATE_FINISHED);
  EXPECT_EQ(Shown("Epoch 0: val_accuracy 0.5\nEpoch 1: val_accuracy 0.6\n"), "text 0:@0.5 1:@0.6");
  EXPECT_EQ(Read("Epoch 0/2 loss: 2.5\nEpoch 1/2 loss: 2.25\n").end().state(), v1::RunEnd::STATE_FINISHED);
}

// Where steps are told, the mean over an epoch is no record of its own.
TEST(EvaluationLines, EpochMeansBesideSteps) {
  EXPECT_EQ(Shown("epoch 1 step 10 loss 2.5\nepoch 1 step 20 loss 2.25\nEpoch 1 average loss: 2.4\n"),
            "text 10:2.5 20:2.25");
  EXPECT_EQ(Shown("Epoch 0 val_acc: 0.1\nepoch 1 step 10 loss 2.5\nepoch 1 step 20 loss 2.25\nEpoch 1 val_acc: 0.6\n"),
            "text after 0:@0.1 10:2.5 20:2.25@0.6");
}

TEST(EvaluationLines, InLogsOfOtherDialects) {
  const std::string mindspore = "epoch: 1 step: 1, loss is 2.5\nepoch: 1 step: 2, loss is 2.25\n";
  EXPECT_EQ(Shown(absl::StrCat(mindspore, "epoch: 1, accuracy: 0.97\n")), "mindspore 1:2.5 2:2.25@0.97");
  EXPECT_EQ(Shown(absl::StrCat(mindspore, "{'Accuracy': 0.98}\n")), "mindspore 1:2.5 2:2.25@0.98");
  EXPECT_EQ(Shown(absl::StrCat("[2030-01-01 00:00:00,001] [INFO] [logging.py:96:log_dist] [Rank 0] step=4, skipped=0, "
                               "lr=[0.5], mom=[(0.9, 0.95)]\nvalidation accuracy: 81.5%\n")),
            "deepspeed 4:@81.5%");
}

TEST(EvaluationLines, MllogTellsItsOwn) {
  const v1::RunLog log = Read(
      "0: {'eval_loss': 4.125, 'global_steps': 335}\n0: :::MLLOG {\"namespace\": \"\", \"key\": "
      "\"eval_accuracy\", \"value\": 0.5, \"metadata\": {\"step_num\": 40}}\n");
  EXPECT_EQ(Shown(log), "mllog 40:@0.5");
}

TEST(EvaluationLines, PyTorchExampleOfMnist) {
  EXPECT_EQ(Shown("Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.300000\nTrain Epoch: 1 [640/60000 (1%)]\tLoss: 2.200000\n"
                  "\nTest set: Average loss: 0.0264, Accuracy: 9912/10000 (99%)\n\n"),
            "text 0:2.3 640:2.2~0.0264@0.9912");
}

// How the run ended, by its last words.
v1::RunEnd::State EndOf(absl::string_view behind) {
  return Read(absl::StrCat("step 1/2 loss 2.5\nstep 2/2 loss 2.25\n", behind)).end().state();
}

TEST(RunEndOf, WhatBreaksOffIsAborted) {
  EXPECT_EQ(EndOf(""), v1::RunEnd::STATE_FINISHED);
  for (const char* words :
       {"Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\nRuntimeError: x\n",
        "Aborted (core dumped)\n", "run.sh: line 3: 1234 Segmentation fault      (core dumped) python train.py\n",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
        "RuntimeError: CUDA error: device-side assert triggered\n", "EZ9999: Inner Error!\n",
        "EI0002: The wait execution of the Notify register times out\n",
        "[ERROR] 2030-01-01-00:00:00 (PID:1, Device:0, RankID:0) ERR02200 DIST call hccl api failed.\n",
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n", "Killed\n",
        "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2030-01-01T00:00:00 DUE TO TIME LIMIT ***\n",
        "KeyboardInterrupt\n"}) {
    EXPECT_EQ(EndOf(words), v1::RunEnd::STATE_ABORTED) << words;
  }
}

TEST(RunEndOf, WhatFollowsCounts) {
  const std::string trace = "Traceback (most recent call last):\nRuntimeError: x\n";
  // The run went on.
  EXPECT_EQ(Read(absl::StrCat("step 1/3 loss 2.5\n", trace, "step 2/3 loss 2.25\nstep 3/3 loss 2.125\n")).end().state(),
            v1::RunEnd::STATE_FINISHED);
  // A restart that says so and goes to the end.
  EXPECT_EQ(Read(absl::StrCat("step 1/3 loss 2.5\nstep 2/3 loss 2.25\n", trace,
                              "resuming from step 1\nstep 2/3 loss 2.25\nstep 3/3 loss 2.125\n"))
                .end()
                .state(),
            v1::RunEnd::STATE_FINISHED);
  // One that broke off again before any step.
  EXPECT_EQ(EndOf(absl::StrCat("resuming from step 1\n", trace)), v1::RunEnd::STATE_ABORTED);
  // What the interpreter says while it shuts down ends nothing.
  EXPECT_EQ(EndOf("Exception ignored in: <function A.__del__ at 0x7f>\nTraceback (most recent call last):\n"),
            v1::RunEnd::STATE_FINISHED);
  // Another rank's last line does not bring the broken one back.
  EXPECT_EQ(Read("[rank0]: step 1 loss 2.5\n[rank1]: step 1 loss 2.5\n[rank0]: Traceback (most recent call last):\n"
                 "[rank1]: step 2 loss 2.25\n")
                .end()
                .state(),
            v1::RunEnd::STATE_ABORTED);
}

TEST(RunEndOf, AFinishedPartIsNoFinishedRun) {
  const std::string first =
      "{'loss': 2.5, 'learning_rate': 0.1, 'epoch': 1.0}\n"
      "{'train_runtime': 1.0, 'train_loss': 2.5, 'epoch': 1.0}\n";
  EXPECT_EQ(Read(first).end().state(), v1::RunEnd::STATE_FINISHED);
  EXPECT_NE(
      Read(absl::StrCat(first, "***** Running training *****\n{'loss': 2.5, 'learning_rate': 0.1, 'epoch': 0.5}\n"))
          .end()
          .state(),
      v1::RunEnd::STATE_FINISHED);
  EXPECT_EQ(Read("INFO:tensorflow:loss = 2.5, step = 10\nINFO:tensorflow:Loss for final step: 2.5.\n"
                 "INFO:tensorflow:Saving dict for global step 10: accuracy = 0.9, global_step = 10, loss = 0.5\n")
                .end()
                .state(),
            v1::RunEnd::STATE_FINISHED);
  EXPECT_NE(Read("INFO:tensorflow:loss = 2.5, step = 10\nINFO:tensorflow:Loss for final step: 2.5.\n"
                 "INFO:tensorflow:loss = 2.25, step = 20\n")
                .end()
                .state(),
            v1::RunEnd::STATE_FINISHED);
}

}  // namespace
}  // namespace paritect
