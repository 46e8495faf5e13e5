// What a log tells of one step in several lines counts once, and what it tells of several steps in lines alike counts
// for each: overflows, counters beside other dialects, bars of validation, steps printed twice.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

v1::RunLog Read(absl::string_view text) {
  auto log = ReadLog([&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text); },
                     LogOptions());
  return log.ok() ? *std::move(log) : v1::RunLog();
}

int Overflows(const v1::RunLog& log) {
  int overflows = 0;
  for (const v1::StepRecord& record : log.records()) overflows += record.overflow() ? 1 : 0;
  return overflows;
}

std::int64_t Skipped(const v1::RunLog& log) {
  std::int64_t skipped = 0;
  for (const v1::StepRecord& record : log.records()) skipped += record.skipped();
  return skipped;
}

int Losses(const v1::RunLog& log) {
  int losses = 0;
  for (const v1::StepRecord& record : log.records()) losses += record.has_loss() ? 1 : 0;
  return losses;
}

bool HasNote(const v1::RunLog& log, absl::string_view kind) {
  for (const v1::Note& note : log.notes()) {
    if (note.kind() == kind) return true;
  }
  return false;
}

// '#' the step, '<' the scale before, '>' the scale behind.
constexpr const char* kMessages[] = {
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to >",
    "[2030-01-01 00:00:00,001] [INFO] [fused_optimizer.py:1:_update_scale] \nGrad overflow on iteration #\n"
    "[2030-01-01 00:00:00,001] [INFO] [fused_optimizer.py:2:_update_scale] Reducing dynamic loss scale from < to >",
    "[2030-01-01 00:00:00,001] [INFO] [logging.py:1:log_dist] [Rank 0] Overflow detected. Skipping step. Attempted "
    "loss "
    "scale: <, reducing to >",
    "[2030-01-01 00:00:00,001] [INFO] [loss_scaler.py:1:x] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss "
    "scale: <, reducing to >",
    "2030-01-01 00:00:00 | INFO | fairseq.trainer | NOTE: overflow detected, setting loss scale to: >",
    "step #: overflow, update skipped",
    "WARNING: inf/nan in gradients, skipping the update, scale < -> >",
    "> overflow detected, skipping iteration # (loss scale < -> >)",
    "[警告] 第 # 步梯度溢出，跳过本次更新，损失缩放系数降为 >",
};

std::string Message(const char* form, int step, double scale) {
  return absl::StrCat(
      absl::StrReplaceAll(form,
                          {{"#", absl::StrCat(step)}, {"<", absl::StrCat(scale)}, {">", absl::StrCat(scale / 2)}}),
      "\n");
}

// A log of 100 steps, one line an interval, with overflows at three of them.
std::string Log(const std::vector<const char*>& messages, int interval) {
  std::string text = "step 0 loss 3\n";
  double scale = 65536;
  for (int step = 1; step <= 100; ++step) {
    if (step == 12 || step == 13 || step == 78) {
      for (const char* message : messages) absl::StrAppend(&text, Message(message, step, scale));
      scale /= 2;
    }
    if (step % interval == 0) absl::StrAppend(&text, "step ", step, " loss ", 2.5 - 0.001 * step, "\n");
  }
  return text;
}

TEST(ToldOnce, AnOverflowInEachWording) {
  for (const char* message : kMessages) {
    EXPECT_EQ(Overflows(Read(Log({message}, 1))), 3) << message;
    EXPECT_EQ(Overflows(Read(Log({message}, 10))), 3) << message;
  }
}

TEST(ToldOnce, AnOverflowInTwoWordings) {
  for (const char* first : kMessages) {
    for (const char* second : kMessages) {
      if (first == second) continue;
      const v1::RunLog log = Read(Log({first, second}, 10));
      EXPECT_EQ(Overflows(log), 3) << first << "\n" << second;
      EXPECT_FALSE(HasNote(log, "overflow_lines_merged")) << first << "\n" << second;
    }
  }
}

TEST(ToldOnce, AFlagAndAMessage) {
  const auto log = [](bool behind) {
    std::string text;
    for (int step = 1; step <= 20; ++step) {
      const std::string message =
          step == 7 ? "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8\n" : "";
      const std::string line = absl::StrCat(
          "[INFO] 2030-01-01 00:00:00,123 [callback.py:1] f: { Epoch:[  1/  1], step:[    ", step,
          "/   20], loss: 3.5, per_step_time: 9ms, lr: 0.25, overflow cond: ", step == 7 ? "True" : "False",
          ", loss_scale: 512.0, global_norm: [1.5]\n");
      absl::StrAppend(&text, behind ? "" : message, line, behind ? message : "");
    }
    return text;
  };
  for (const bool behind : {false, true}) EXPECT_EQ(Overflows(Read(log(behind))), 1) << behind;
}

TEST(ToldOnce, OverflowsThatAreSeveral) {
  // The scale came down twice: two steps, though no record stands between.
  EXPECT_EQ(Overflows(Read("step 1 loss 2\nGradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 64\n"
                           "[Rank 0] Overflow detected. Skipping step. Attempted loss scale: 64, reducing to 32\n"
                           "step 10 loss 2\n")),
            2);
  // The hysteresis of one scaler is told in other words behind the same ones.
  EXPECT_EQ(Overflows(Read("step 1 loss 2\n[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64, but "
                           "hysteresis is 2. Reducing hysteresis to 1\n[deepspeed] OVERFLOW! Rank 0 Skipping step. "
                           "Attempted loss scale: 64, reducing to 32\nstep 10 loss 2\n")),
            2);
}

TEST(ToldOnce, WordsThatTellOfNoOverflow) {
  for (const char* line : {"RuntimeWarning: overflow encountered in exp", "显存溢出，跳过该批次",
                           "check_overflow=True, skip", "skip_nonfinite_grad_steps ............ True",
                           "No Grad overflow for 100 iterations", "overflows: 0, skipped: 0"}) {
    EXPECT_EQ(Overflows(Read(absl::StrCat("step 1 loss 2\n", line, "\nstep 2 loss 2\n"))), 0) << line;
  }
}

std::string Counter(int step, int skipped) {
  return absl::StrCat("[2030-01-01 00:00:00,001] [INFO] [logging.py:96:log_dist] [Rank 0] step=", step,
                      ", skipped=", skipped, ", lr=[0.1], mom=[[0.9, 0.999]]\n");
}

// The lines of those that print the loss beside DeepSpeed; '#' the step.
constexpr const char* kLossLines[] = {
    "{'loss': 2.5, 'grad_norm': 1.5, 'learning_rate': 0.1, 'epoch': 0.#}",
    "{\"current_steps\": #, \"total_steps\": 9, \"loss\": 2.5, \"lr\": 0.1, \"epoch\": 0.5}",
    "{\"step\": #, \"loss\": 2.5}",
    "2030/01/01 00:00:00 - mmengine - INFO - Iter(train) [ #/99]  lr: 1.0e-01  loss: 2.5",
    "[titan] 2030-01-01 00:00:00,000 - root - INFO - step:  #  loss:  2.5  grad_norm:  1.2345  memory:  1.23GiB(1.55%)",
    "iter #: loss 2.5, time 123.45ms, mfu 30.12%",
    "INFO:tensorflow:loss = 2.5, step = # (1.5 sec)",
    " iteration  #/ 99 | elapsed time per iteration (ms): 1.5 | learning rate 1.0E-01 | total loss 2.5E+00 | loss "
    "scale "
    "8.0 |",
    " iteration  #/ 99 | elapsed time per iteration (ms): 1.5 | learning rate: 1.0E-01 | total loss: 2.5E+00 |",
    "step # loss 2.5",
    "step:# - actor/pg_loss:2.5 - actor/grad_norm:0.45 - actor/lr:0.1",
    "[2030-01-01 00:00:00,568] [    INFO] - loss: 2.5, learning_rate: 0.1, global_step: #, interval_runtime: 4.8",
};

TEST(ToldOnce, ACounterBesideTheLossesOfAnother) {
  for (const char* form : kLossLines) {
    for (const bool before : {false, true}) {
      std::string text;
      for (int step = 1; step <= 9; ++step) {
        const std::string loss = absl::StrCat(absl::StrReplaceAll(form, {{"#", absl::StrCat(step)}}), "\n");
        const std::string counter = Counter(step, step > 7 ? 3 : step > 4 ? 1 : 0);
        absl::StrAppend(&text, before ? counter : "", loss, before ? "" : counter);
      }
      const v1::RunLog log = Read(text);
      EXPECT_EQ(Losses(log), 9) << form;
      EXPECT_EQ(Skipped(log), 3) << form;
      EXPECT_TRUE(log.skipped_counted()) << form;
      EXPECT_EQ(log.segments_size(), 1) << form;
      EXPECT_LE(log.records_size(), before ? 9 : 10) << form;
    }
  }
}

TEST(ToldOnce, ACounterBesideOneLossAnEpoch) {
  for (const char* form : {"epoch #: mean train loss: 2.5", "{\"epoch\": #, \"train_loss\": 2.5}"}) {
    std::string text;
    for (int step = 10; step <= 90; step += 10) {
      absl::StrAppend(&text, Counter(step, step / 30));
      if (step % 30 == 0) absl::StrAppend(&text, absl::StrReplaceAll(form, {{"#", absl::StrCat(step / 30)}}), "\n");
    }
    const v1::RunLog log = Read(text);
    EXPECT_EQ(Losses(log), 3) << form;
    EXPECT_EQ(Skipped(log), 3) << form;
    EXPECT_EQ(log.records(log.records_size() - 2).step(), 90) << form;
  }
}

TEST(ToldOnce, ARunningTotalOnTheLossLine) {
  const v1::RunLog log = Read(
      "INFO x.py -- step=0 loss=2.5 lr=0.1 grad_norm={'0_default': 3.0, '1_fp32': 4.0} inf_nan_skip_batches=0\n"
      "INFO x.py -- step=1 loss=2.5 lr=0.1 grad_norm={'0_default': nan, '1_fp32': 0.0} inf_nan_skip_batches=2\n"
      "INFO x.py -- step=2 loss=2.5 lr=0.1 grad_norm={'0_default': 3.0, '1_fp32': 0.0} inf_nan_skip_batches=2\n");
  ASSERT_EQ(log.records_size(), 3);
  EXPECT_EQ(Skipped(log), 2);
  EXPECT_EQ(log.records(0).grad_norm(), 5);
  EXPECT_TRUE(std::isnan(log.records(1).grad_norm()));
  EXPECT_EQ(log.records(2).metrics().at("grad_norm.1_fp32"), 0);
}

TEST(ToldOnce, NormsUnderOtherNames) {
  const auto norm = [](absl::string_view fields) {
    return Read(absl::StrCat("{\"step\": 1, \"loss\": 2.5, ", fields, "}\n")).records(0).grad_norm();
  };
  EXPECT_EQ(norm("\"optim/total_grad_norm\": 1.5"), 1.5);
  EXPECT_EQ(norm("\"grad_norm\": 2.5, \"optim/total_grad_norm\": 1.5"), 2.5);
  EXPECT_EQ(norm("\"optim/total_grad_norm\": 1.5, \"grad_norm\": 2.5"), 2.5);
  EXPECT_EQ(norm("\"grad_norm\": {\"a\": 3.0, \"b\": 4.0}"), 5);
  EXPECT_EQ(norm("\"critic/grad_norm\": 3.0"), 0);
}

std::string Bars(std::initializer_list<int> done, int total, double loss) {
  std::string text;
  for (const int one : done) absl::StrAppend(&text, " ", one, "/", total, " [==>...] - ETA: 1s - loss: ", loss, "\n");
  return text;
}

TEST(ToldOnce, BarsOfAValidation) {
  const std::string result = "60/60 [====] - 1s 9ms/step - loss: 2.0 - val_loss: 7.0\n";
  for (const char* head : {"Epoch 1/2\n", ""}) {
    for (const int total : {60, 20, 100}) {
      std::string text;
      for (int epoch = 1; epoch <= 2; ++epoch) {
        absl::StrAppend(&text, "Epoch ", epoch, "/2\n", Bars({20, 40, 59}, 60, 2.5), "compiled\n", head);
        absl::StrAppend(&text, Bars({total / 20, total / 2, total}, total, 7.5), result);
      }
      const v1::RunLog log = Read(text);
      EXPECT_EQ(Losses(log), 8) << head << total;
      for (const v1::StepRecord& record : log.records()) EXPECT_LT(record.loss(), 3) << head << total;
      EXPECT_EQ(log.segments_size(), 1) << head << total;
      EXPECT_EQ(log.end().state(), v1::RunEnd::STATE_FINISHED) << head << total;
    }
  }
}

TEST(ToldOnce, ARunThatBeginsAnewIsNoValidation) {
  // Broken off in the middle of its first epoch.
  const v1::RunLog log =
      Read(absl::StrCat("Epoch 1/2\n", Bars({1, 20, 40}, 100, 2.5), "Epoch 1/2\n",
                        Bars({1, 20, 40, 60, 80, 100}, 100, 1.5), "Epoch 2/2\n", Bars({50, 100}, 100, 1)));
  EXPECT_TRUE(HasNote(log, "two_runs_in_one_file"));
  EXPECT_EQ(Losses(log), 11);
  // Behind a whole one it is another fit: nothing is lost, and its steps go on with the count.
  const std::string run = absl::StrCat("Epoch 1/1\n", Bars({1, 50, 100}, 100, 2.5));
  const v1::RunLog two = Read(run + run);
  EXPECT_TRUE(HasNote(two, "next_fit"));
  EXPECT_EQ(Losses(two), 6);
  EXPECT_EQ(two.records(5).step(), 200);
}

// A bar whose values move before its count (`before`) or behind it.
std::string TwiceDrawn(bool before, int steps) {
  std::string text;
  const auto draw = [&](int count, int of) {
    absl::StrAppend(&text, "\rEpoch 1/1:  50%|##  | ", count, "/", steps,
                    " [00:07<20:13,  7.93s/it, loss: ", 9 - 0.5 * of, ", grad_norm: ", of + 0.25, "]");
  };
  for (int step = 1; step <= steps; ++step) {
    if (before || step > 1) draw(before ? step - 1 : step, before ? step : step - 1);
    draw(step, step);
  }
  return text + "\n";
}

TEST(ToldOnce, BarsThatAreDrawnTwiceGiveEachStepItsOwnValues) {
  for (const bool before : {true, false}) {
    const v1::RunLog log = Read(TwiceDrawn(before, 8));
    EXPECT_TRUE(HasNote(log, "bars_redrawn")) << before;
    EXPECT_FALSE(HasNote(log, "interleaved_writers")) << before;
    ASSERT_EQ(log.records_size(), 8) << before;
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(log.records(i).step(), i + 1);
      EXPECT_EQ(log.records(i).loss(), 9 - 0.5 * (i + 1)) << before << i;
      EXPECT_EQ(log.records(i).grad_norm(), i + 1.25) << before << i;
    }
  }
}

TEST(ToldOnce, AStepPrintedTwiceIsNoResume) {
  for (const char* form : {"global_step=# loss=", "step # loss ", "INFO:tensorflow:step = #, loss = "}) {
    std::string text;
    for (int step = 1; step <= 40; ++step) {
      const std::string head = absl::StrReplaceAll(form, {{"#", absl::StrCat(step)}});
      absl::StrAppend(&text, head, 2.5, "\n");
      if (step == 7 || step == 8 || step == 30) absl::StrAppend(&text, head, 2.25, "\n");
    }
    const v1::RunLog log = Read(text);
    EXPECT_EQ(log.records_size(), 40) << form;
    EXPECT_EQ(log.segments_size(), 1) << form;
    EXPECT_FALSE(HasNote(log, "resumed")) << form;
    EXPECT_EQ(log.records(6).loss(), 2.25) << form;
  }
}

TEST(ToldOnce, LinesAlikeOfOtherSteps) {
  std::string bars;
  std::string plain;
  std::string ranks;
  for (int step = 1; step <= 30; ++step) {
    const double loss = step < 4 ? 2.5 : 0.5 + 0.5 * (step / 5);
    const std::string dict = absl::StrCat("{'loss': ", loss, ", 'learning_rate': 1e-05, 'epoch': 0.1}\n");
    absl::StrAppend(&bars, "  1%|          | ", step, "/30 [00:01<10:00,  1.05s/it]\n", dict);
    absl::StrAppend(&plain, dict);
    const std::string own = absl::StrCat("{'loss': ", 2.5 - 0.01 * step, ", 'learning_rate': 1e-05, 'epoch': 0.1}\n");
    absl::StrAppend(&ranks, own, own);
  }
  EXPECT_EQ(Losses(Read(bars)), 30);
  EXPECT_EQ(Read(bars).records(29).step(), 30);
  EXPECT_EQ(Losses(Read(plain)), 30);
  // Each line twice: two ranks.
  EXPECT_EQ(Losses(Read(ranks)), 30);
}

TEST(ToldOnce, TheShareOfABarIsNoStep) {
  for (const char* word : {"Steps: ", "step ", "Iteration: ", "train step: ", "batch "}) {
    std::string text;
    for (int step = 1; step <= 40; ++step) {
      absl::StrAppend(&text, word, step * 100 / 400, "%|##        | ", step,
                      "/400 [00:10<01:07,  1.09s/it, loss=2.5]\n");
    }
    const v1::RunLog log = Read(text);
    EXPECT_EQ(log.records_size(), 40) << word;
    EXPECT_EQ(log.segments_size(), 1) << word;
    EXPECT_EQ(log.records(39).step(), 40) << word;
    EXPECT_EQ(log.end().total_steps(), 400) << word;
  }
  EXPECT_EQ(Read("step 3 (30%) loss 2.5\n").records(0).step(), 3);
  EXPECT_EQ(Read("progress 30% step 3 loss 2.5\n").records(0).step(), 3);
}

TEST(ToldOnce, AFirstStepPrintedByItself) {
  const auto dicts = [](bool first_step, bool banner) {
    std::string text = banner ? "***** Running training *****\n  Num examples = 640\n  Total train batch size (w. "
                                "parallel, distributed & accumulation) = 8\n  Total optimization steps = 80\n"
                              : "";
    for (int step = 1; step <= 80; ++step) {
      if (step % 10 != 0 && !(first_step && step == 1)) continue;
      absl::StrAppend(&text, "{'loss': ", 2.5 - 0.01 * step, ", 'learning_rate': 0.1, 'epoch': ", step / 80.0, "}\n");
    }
    return Read(text);
  };
  EXPECT_EQ(dicts(false, true).records(0).step(), 10);
  EXPECT_EQ(dicts(true, true).records(0).step(), 1);
  EXPECT_EQ(dicts(true, true).records(1).step(), 10);
  EXPECT_EQ(dicts(true, true).records(8).step(), 80);
  // Without the length of an epoch the places agree all the same.
  EXPECT_EQ(dicts(false, false).records(0).step(), 1);
  EXPECT_EQ(dicts(true, false).records(1).step(), 1);
}

TEST(ToldOnce, TracebacksThatEndNothing) {
  const std::string run = "Epoch 1/1\n" + Bars({5, 10}, 10, 2.5);
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n    raise "
      "RuntimeError('CUDA error: x')\n";
  for (const char* head :
       {"Exception ignored in: <function f at 0x7f>", "Error in atexit._run_exitfuncs:",
        "Exception in thread Thread-5 (_heartbeat):", "--- Logging error ---", "Task exception was never retrieved"}) {
    const std::string noise = absl::StrCat(head, "\n", traceback, "BrokenPipeError: [Errno 32] Broken pipe\n");
    EXPECT_EQ(Read(run + noise).end().state(), v1::RunEnd::STATE_FINISHED) << head;
    const std::string chained = absl::StrCat(head, "\n", traceback,
                                             "ValueError: x\n\nDuring handling of the above "
                                             "exception, another exception occurred:\n\n",
                                             traceback, "OSError: y\n");
    EXPECT_EQ(Read(run + chained).end().state(), v1::RunEnd::STATE_FINISHED) << head;
    EXPECT_EQ(Read(run + noise + traceback + "RuntimeError: HCCL error\n").end().state(), v1::RunEnd::STATE_ABORTED)
        << head;
  }
  EXPECT_EQ(Read(run + traceback + "RuntimeError: x\n").end().state(), v1::RunEnd::STATE_ABORTED);
}

}  // namespace
}  // namespace paritect
