// Logs that hold lines of several dialects, and lines that look like a restart or an overflow and are none.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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

std::string Shown(const v1::RunLog& log) {
  return absl::StrCat(log.format(), log.records().empty() ? "" : " ",
                      absl::StrJoin(log.records(), " ", [](std::string* out, const v1::StepRecord& r) {
                        absl::StrAppend(out, r.step_unknown() ? "after " : "", r.step(), ":");
                        if (r.has_loss()) absl::StrAppend(out, FormatDouble(r.loss()));
                        if (r.overflow()) absl::StrAppend(out, "!");
                        if (r.has_eval_loss()) absl::StrAppend(out, "~", FormatDouble(r.eval_loss()));
                        if (r.has_accuracy()) absl::StrAppend(out, "@", FormatDouble(r.accuracy()));
                      }));
}

std::string Shown(absl::string_view text) {
  return Shown(Read(text));
}

// Lines of a run of `steps` steps, '#' standing for the step.
std::string Lines(absl::string_view form, int steps, int first = 1) {
  std::string out;
  for (int i = first; i < first + steps; ++i)
    absl::StrAppend(&out, absl::StrReplaceAll(form, {{"#", absl::StrCat(i)}}), "\n");
  return out;
}

int Losses(absl::string_view text) {
  int losses = 0;
  const v1::RunLog log = Read(text);
  for (const v1::StepRecord& record : log.records()) losses += record.has_loss() ? 1 : 0;
  return losses;
}

int Overflows(const v1::RunLog& log) {
  int overflows = 0;
  for (const v1::StepRecord& record : log.records()) overflows += record.overflow() ? 1 : 0;
  return overflows;
}

bool HasNote(const v1::RunLog& log, absl::string_view kind) {
  for (const v1::Note& note : log.notes()) {
    if (note.kind() == kind) return true;
  }
  return false;
}

constexpr const char* kOwnLines[] = {
    "step #/40 loss: 2.5",
    "Epoch: [0][ #/40]\tTime 0.1 (0.1)\tLoss 2.5 (2.6)\tPrec@1 10.0 (9.0)",
    "Epoch: [0]  [ #/40]  eta: 0:01:00  lr: 0.1  loss: 2.5 (2.6)  time: 0.1",
    "Epoch [1/1], Step [#/40], Loss: 2.5",
    "Train Epoch: 1 [#/40 (3%)]\tLoss: 2.500000",
};

TEST(MixedLogs, AScalersMessagesLeaveTheScriptsLines) {
  const std::string overflow = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n";
  const std::string deepspeed =
      "[2030-01-01 00:00:00,001] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, "
      "lr=[0.1], mom=[(0.9, 0.95)]\n";
  for (const char* line : kOwnLines) {
    const std::string half = Lines(line, 20);
    const std::string rest = Lines(line, 20, 21);
    EXPECT_EQ(Losses(absl::StrCat(half, overflow, rest)), 40) << line;
    EXPECT_EQ(Losses(absl::StrCat("After processing overrides, optimization options are:\n", half, rest)), 40) << line;
    EXPECT_GE(Losses(absl::StrCat(half, deepspeed, rest)), 40) << line;
  }
}

TEST(MixedLogs, TheDialectThatGivesTheCurveReads) {
  const char* const foreign[] = {
      "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"POINT_IN_TIME\", \"key\": "
      "\"global_batch_size\", "
      "\"value\": 256, \"metadata\": {\"file\": \"a.py\", \"lineno\": 1}}\n",
      "DLLL {\"timestamp\": \"1\", \"type\": \"PARAMETER\", \"step\": \"PARAMETER\", \"data\": {\"lr\": 0.1}}\n",
      "{\"step\": 1, \"foo\": 2}\n",
      "{'loss': 2.5, 'learning_rate': 0.1, 'epoch': 0.5}\n",
      "epoch: 1 step: 195, loss is 2.5\n",
      "[titan] step:  7  loss:  2.5  grad_norm:  1.2  memory: 1GiB(1%)  tps: 12  mfu: 1%\n",
  };
  const std::string megatron =
      " iteration #/ 40 | consumed samples: 256 | elapsed time per iteration (ms): 9.5 | learning rate: 1.0E-04 | "
      "global batch size: 256 | lm loss: 2.5 | loss scale: 1.0 | number of skipped iterations: 0 |";
  for (const char* line :
       {"step #/40 loss: 2.5", "Epoch: [0]  [ #/40]  eta: 0:01  loss: 2.5 (2.6)", megatron.c_str()}) {
    for (const char* other : foreign) {
      const std::string half = Lines(line, 20);
      const std::string rest = Lines(line, 20, 21);
      EXPECT_GE(Losses(absl::StrCat(other, half, rest)), 40) << line << other;
      EXPECT_GE(Losses(absl::StrCat(half, other, rest)), 40) << line << other;
    }
  }
}

TEST(MixedLogs, HelpersTellResultsAndTheEnd) {
  const std::string log = absl::StrCat(Lines("step #/40 loss: 2.5", 40),
                                       "0: :::MLLOG {\"namespace\": \"\", \"key\": \"eval_accuracy\", \"value\": 0.75, "
                                       "\"metadata\": {\"step_num\": 9000}}\n",
                                       "0: :::MLLOG {\"namespace\": \"\", \"key\": \"run_stop\", \"value\": null, "
                                       "\"metadata\": {\"status\": \"aborted\"}}\n");
  const v1::RunLog read = Read(log);
  EXPECT_EQ(read.format(), "text");
  ASSERT_EQ(read.records_size(), 40);
  EXPECT_EQ(read.records(39).accuracy(), 0.75);
  EXPECT_EQ(read.end().state(), v1::RunEnd::STATE_ABORTED);
}

TEST(MixedLogs, TwoResultsOfOneStepAreNoRestart) {
  const std::string step =
      " iteration 5/ 5 | consumed samples: 40 | elapsed time per iteration (ms): 9.5 | learning rate: "
      "1.0E-04 | lm loss: 3.5 | loss scale: 1.0 | number of skipped iterations: 1 |\n";
  const v1::RunLog megatron = Read(
      absl::StrCat(step, " validation loss at iteration 5 | lm loss value: 2.0E+00 | lm loss PPL: 7.4 |\n",
                   " validation loss at iteration 5 on validation set | lm loss value: 2.1E+00 | lm loss PPL: 8.2 |\n",
                   " validation loss at iteration 5 on test set | lm loss value: 2.3E+00 | lm loss PPL: 10 |\n"));
  EXPECT_EQ(Shown(megatron), "megatron 5:3.5~2.1");
  EXPECT_EQ(megatron.segments_size(), 1);
  EXPECT_FALSE(HasNote(megatron, "resumed"));
  const v1::RunLog text =
      Read("step 1 loss 2.5\nstep 2 loss 2.25\n[eval] step 2 loss 2.1\n[eval] step 2 loss 2.6\nstep 3 loss 2.0\n");
  EXPECT_EQ(Shown(text), "text 1:2.5 2:2.25~2.1 2:~2.6 3:2");
  EXPECT_EQ(text.segments_size(), 1);
}

TEST(MixedLogs, KerasDrawsTheLastBarAgain) {
  EXPECT_EQ(
      Shown("Epoch 1/2\n 5/5 [====] - ETA: 0s - loss: 2.5 - accuracy: 0.5\r 5/5 [====] - 6s 15ms/step - loss: 2.5 - "
            "accuracy: 0.5 - val_loss: 2.6 - val_accuracy: 0.45\nEpoch 2/2\n 5/5 [====] - ETA: 0s - loss: 2.25 - "
            "accuracy: 0.6\r 5/5 [====] - 6s 15ms/step - loss: 2.25 - accuracy: 0.6 - val_loss: nan - val_accuracy: "
            "0.1\n"),
      "keras 5:2.5~2.6@0.45 10:2.25~nan@0.1");
}

TEST(MixedLogs, OfSeveralValidationLossesTheWholeCounts) {
  EXPECT_EQ(Shown("{\"step\": 1, \"loss\": 2.5, \"val_loss\": 2.1, \"val_nll_loss\": 1.5}\n"), "jsonl 1:2.5~2.1");
  EXPECT_EQ(Shown("{\"step\": 1, \"loss\": 2.5, \"val_nll_loss\": 1.5, \"val_loss\": 2.1}\n"), "jsonl 1:2.5~2.1");
  EXPECT_EQ(Shown("{\"step\": 1, \"loss\": 2.5, \"val_nll_loss\": 1.5}\n"), "jsonl 1:2.5~1.5");
  EXPECT_EQ(
      Shown("{\"step\": 1, \"loss\": 2.5, \"val/box_loss\": 1.5, \"val/cls_loss\": 0.5, \"val/dfl_loss\": 0.25}\n"),
      "jsonl 1:2.5");
  EXPECT_EQ(Shown("{\"step\": 1, \"loss\": 2.5, \"eval_val_accuracy\": 0.6, \"eval_test_accuracy\": 0.85}\n"),
            "jsonl 1:2.5@0.6");
}

TEST(MixedLogs, ResumesThatNameTheirStep) {
  for (const char* words : {"Resuming from checkpoint step 2", "=> loaded checkpoint 'ckpt.pth' (epoch 1, step 2)",
                            "Resume training from step 2", "resuming from global step 2"}) {
    EXPECT_EQ(Shown(absl::StrCat("step 1 loss 2.5\nstep 2 loss 2.25\n", words, "\nstep 1 loss 2.125\nstep 2 loss 2\n")),
              "text 1:2.5 2:2.25 3:2.125 4:2")
        << words;
  }
}

TEST(MixedLogs, OverflowsThatOneProcessPrints) {
  std::string deepspeed = "{'loss': 2.5, 'learning_rate': 0.1, 'epoch': 0.5}\n";
  std::string fairseq =
      "2030-01-01 00:00:00 | INFO | train_inner | {\"epoch\": 1, \"loss\": \"2.5\", \"num_updates\": \"100\", "
      "\"lr\": \"0.1\", \"gnorm\": \"2.5\"}\n";
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(&deepspeed, "[2030-01-01 00:00:0", i,
                    ",001] [INFO] [loss_scaler.py:1:x] [deepspeed] OVERFLOW! Rank 0 "
                    "Skipping step. Attempted loss scale: 65536, reducing to 32768\n");
    absl::StrAppend(&fairseq, "2030-01-01 00:00:0", i,
                    " | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring "
                    "gradient, setting loss scale to: 64.0\n");
  }
  EXPECT_EQ(Overflows(Read(deepspeed)), 5);
  EXPECT_EQ(Overflows(Read(fairseq)), 5);
  // Of apex the number of ranks is not known.
  std::string apex = "step 1 loss 2.5\n";
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(&apex, "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n");
  }
  const v1::RunLog read = Read(absl::StrCat(apex, "step 100 loss 2.5\n"));
  EXPECT_EQ(Overflows(read), 1);
  EXPECT_TRUE(HasNote(read, "overflow_lines_merged"));
}

TEST(MixedLogs, NoMoreOverflowsThanSteps) {
  const std::string three =
      "Overflow occurred, skip update\nOverflow occurred, skip update\nOverflow occurred, skip update\n";
  EXPECT_EQ(Overflows(Read(absl::StrCat("step 1 loss 2.5\n", three, "step 2 loss 2.5\nstep 3 loss 2.5\n"))), 1);
  EXPECT_EQ(Overflows(Read(absl::StrCat("step 1 loss 2.5\n", three, "step 9 loss 2.5\n"))), 3);
  EXPECT_EQ(Overflows(Read("INFO: check_overflow=True, overflow_policy=skip\nstep 1 loss 2.5\n")), 0);
}

TEST(MixedLogs, ALossThatEndsTheRunIsNone) {
  const v1::RunLog log = Read(
      "epoch: 1 step: 1, loss is 2.5\nepoch: 1 step: 2, loss is 2.25\n"
      "epoch: 1 step: 3. Invalid loss, terminating training.\n");
  EXPECT_EQ(Shown(log), "mindspore 1:2.5 2:2.25 3:nan");
  EXPECT_EQ(log.end().state(), v1::RunEnd::STATE_ABORTED);
}

TEST(MixedLogs, RatesOfGroups) {
  const v1::RunLog log = Read(
      "[2030-01-01 00:00:00,001] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, "
      "lr=[0.1, 0.1, 0.5], mom=[]\n");
  ASSERT_EQ(log.records_size(), 1);
  EXPECT_EQ(log.records(0).lr(), 0.1);
  EXPECT_EQ(log.records(0).metrics().size(), 1u);
  EXPECT_EQ(log.records(0).metrics().at("lr group 3"), 0.5);
  const v1::RunLog csv = Read("epoch,lr-AdamW,step,train_loss\n0,0.25,1,2.5\n");
  ASSERT_EQ(csv.records_size(), 1);
  EXPECT_EQ(csv.records(0).lr(), 0.25);
}

TEST(MixedLogs, ChineseInGbk) {
  // "第 N 步 损失: X" in GBK
  const std::string gbk = Lines("\xB5\xDA # \xB2\xBD \xCB\xF0\xCA\xA7: 2.5 \xD1\xA7\xCF\xB0\xC2\xCA: 0.1", 300);
  EXPECT_EQ(Losses(gbk), 300);
}

TEST(MixedLogs, TimmsLastTestBatch) {
  EXPECT_EQ(
      Shown("Train: 0 [   0/2 (  0%)]  Loss: 2.5 (2.5)  LR: 0.1\nTrain: 0 [   1/2 (100%)]  Loss: 2.25 (2.4)  LR: 0.1\n"
            "Test: [   0/1]  Time: 0.1 (0.1)  Loss: 2.0 (2.0)  Acc@1: 50.0 (50.0)  Acc@5: 80.0 (80.0)\n"
            "Test: [   1/1]  Time: 0.1 (0.1)  Loss: 1.0 (1.5)  Acc@1: 70.0 (60.0)  Acc@5: 90.0 (85.0)\n"),
      "timm 0:2.5 1:2.25~1.5@60");
}

}  // namespace
}  // namespace paritect
