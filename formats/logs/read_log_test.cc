#include "formats/logs/read_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <clocale>
#include <cmath>
#include <random>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "common/status_testing.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<v1::RunLog> Read(absl::string_view text, std::size_t chunk = 1 << 20, const LogOptions& options = {}) {
  return ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> {
        return std::make_unique<GunzipBytes>(std::make_unique<TextBytes>(text, chunk));
      },
      options);
}

// "10:2.5/0.0001 20:2.4" : step, loss, lr; then what else there is.
std::string Show(const v1::RunLog& log) {
  return absl::StrJoin(log.records(), " ", [](std::string* out, const v1::StepRecord& r) {
    absl::StrAppend(out, r.step_unknown() ? "after " : "", r.step(), ":");
    if (r.has_rank()) absl::StrAppend(out, "r", r.rank(), ":");
    if (r.has_engine()) absl::StrAppend(out, "e", r.engine(), ":");
    if (r.loss_absent()) absl::StrAppend(out, "none");
    if (r.has_loss()) absl::StrAppend(out, FormatDouble(r.loss()));
    if (r.has_lr()) absl::StrAppend(out, "/", FormatDouble(r.lr()));
    if (r.overflow()) absl::StrAppend(out, "!");
    if (r.overflow_applied()) absl::StrAppend(out, "applied");
    if (r.skipped() > 0) absl::StrAppend(out, "-", r.skipped());
    if (r.has_eval_loss()) absl::StrAppend(out, "~", FormatDouble(r.eval_loss()));
    if (r.has_accuracy()) absl::StrAppend(out, "@", FormatDouble(r.accuracy()));
  });
}

std::string NoteKinds(const v1::RunLog& log) {
  return absl::StrJoin(log.notes(), " ",
                       [](std::string* out, const v1::Note& note) { absl::StrAppend(out, note.kind()); });
}

struct Sample {
  const char* format;
  const char* text;
  const char* records;
};

const Sample kSamples[] = {
    {"megatron",
     " [2030-01-01 00:00:01] iteration        5/      10 | consumed samples:          40 | elapsed time per iteration "
     "(ms): 9.5 | "
     "learning rate: 2.000E-04 | global batch size:     8 | lm loss: 3.500000E+00 | moe loss: 1.0E-02 | loss scale: "
     "512.0 | "
     "grad norm: 1.250 | number of skipped iterations:   1 | number of nan iterations:   0 |\n"
     " validation loss at iteration 5 | lm loss value: 3.250000E+00 | lm loss PPL: 2.5E+01 |\n"
     " iteration       10/      10 | consumed samples:          80 | elapsed time per iteration (ms): 9.5 | learning "
     "rate: "
     "1.000E-04 | global batch size:     8 | loss scale: 256.0 | number of skipped iterations:   5 | number of nan "
     "iterations:   0 |\n",
     "5:3.5/2e-04-1~3.25 10:/1e-04-5"},
    {"megatron",
     "iteration: 2 | consumed samples: 16 | elapsed time per iteration (ms): 8.5 | learning rate: 1.0E-05 | lm loss: "
     "1.5 | grad norm: 1.0\n",
     "2:1.5/1e-05"},
    {"deepspeed",
     "[2030-01-01 00:00:00,001] [INFO] [logging.py:96:log_dist] [Rank 0] step=4, skipped=1, lr=[0.5, 0.5], mom=[(0.9, "
     "0.95)]\n"
     "[2030-01-01 00:00:00,002] [INFO] [logging.py:96:log_dist] [Rank 0] step=4, skipped=0, lr=[0.25], mom=[(0.9, "
     "0.95)]\n"
     "[2030-01-01 00:00:00,003] [INFO] [logging.py:96:log_dist] [Rank 0] step=8, skipped=3, lr=[0.5, 0.5], mom=[(0.9, "
     "0.95)]\n"
     "[2030-01-01 00:00:00,004] [INFO] [logging.py:96:log_dist] [Rank 0] step=8, skipped=1, lr=[0.25], mom=[(0.9, "
     "0.95)]\n",
     "4:e0:/0.5-1 4:e1:/0.25 8:e0:/0.5-2 8:e1:/0.25-1"},
    {"hf-trainer-stdout",
     "{'loss': 3.5, 'learning_rate': 0.01, 'epoch': 0.5}\n{'loss': '3.25', 'learning_rate': '0.005', 'epoch': '1.0'}\n"
     "{'eval_loss': 3.0, 'eval_runtime': 1.5, 'epoch': 1.0}\n{'train_runtime': 9.0, 'train_loss': 3.375, 'epoch': "
     "1.0}\n",
     "1:3.5/0.01 2:3.25/0.005~3"},
    {"hf-trainer-state",
     "{\"global_step\": 4, \"max_steps\": 4, \"log_history\": [{\"epoch\": 0.5, \"learning_rate\": 0.01, \"loss\": "
     "3.5, \"step\": 2},\n"
     "{\"epoch\": 1.0, \"learning_rate\": 0.0, \"loss\": NaN, \"step\": 4}, {\"eval_loss\": 3.0, \"step\": 4, "
     "\"epoch\": 1.0}]}\n",
     "2:3.5/0.01 4:nan/0~3"},
    {"llamafactory-jsonl",
     "{\"current_steps\": 5, \"total_steps\": 10, \"loss\": 3.5, \"eval_loss\": null, \"learning_rate\": 0.01, "
     "\"epoch\": 0.5}\n"
     "{\"current_steps\": 10, \"total_steps\": 10, \"loss\": 3.25, \"lr\": 0.005, \"epoch\": 1.0}\n",
     "5:3.5/0.01 10:3.25/0.005"},
    {"mllog",
     "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"POINT_IN_TIME\", \"key\": "
     "\"global_batch_size\", \"value\": 64, \"metadata\": {}}\n"
     "0: :::MLLOG {\"key\": \"eval_accuracy\", \"value\": 0.5, \"metadata\": {\"epoch_num\": 4, \"step_num\": 40}}\n"
     "0: :::MLLOG {\"key\": \"run_stop\", \"value\": null, \"metadata\": {\"status\": \"success\"}}\n",
     "40:@0.5"},
    {"mindspore", "epoch: 1 step: 2, loss is 3.5\nepoch: 1 step: 4, loss is 3.25\nepoch: 2 step: 2, loss is 3.0\n",
     "2:3.5 4:3.25 6:3"},
    {"mindspore",
     "2030-01-01 00:00:00,236 [WARNING] overflow, still update, loss scale adjust to 512.0\n"
     "2030-01-01 00:00:00,236 [INFO] Epoch 2/9, Step 10/100, imgsize (64, 64), loss: 3.5000, lbox: 1.0, cur_lr: 0.25\n",
     "after 0:!applied 110:3.5/0.25"},
    {"mindspore",
     "epoch: 1, current epoch percent: 0.5, step: 10, outputs are (Tensor(shape=[], dtype=Float32, value= 3.5), "
     "Tensor(shape=[], "
     "dtype=Bool, value= True), Tensor(shape=[], dtype=Float32, value= 512))\n",
     "10:3.5!"},
    {"mindformers",
     "[INFO] 2030-01-01 00:00:00,123 [callback.py:1] f: { Epoch:[  2/  3], step:[    5/   10], loss:[ 3.500/ 3.600], "
     "per_step_time: "
     "9ms, lr: 0.25, overflow cond: True, loss_scale: 512.0, global_norm: [1.5]\n",
     "15:3.5/0.25!"},
    {"tf-estimator",
     "INFO:tensorflow:loss = 3.5, step = 100 (1.5 sec)\nINFO:tensorflow:Saving dict for global step 100: accuracy = "
     "0.5, global_step "
     "= 100, loss = 3.25\nINFO:tensorflow:Loss for final step: 3.5.\n",
     "100:3.5~3.25@0.5"},
    {"keras",
     "Epoch 1/2\n 5/10 [==>..] - ETA: 1s - loss: 3.5000\r10/10 [====] - 1s 9ms/step - loss: 3.2500 - val_loss: "
     "3.0000\nEpoch 2/2\n"
     "10/10 [====] - 1s 9ms/step - loss: 3.0000\n",
     "5:3.5 10:3.25~3 20:3"},
    {"keras",
     "Epoch 1/1\n10/10 - 1s - loss: 3.5000 - val_loss: 3.2500\nEpoch 1/1\n10/10 - 1s - loss: 3.0000 - val_loss: "
     "2.7500\n",
     "10:3.5~3.25 20:3~2.75"},
    {"caffe",
     "I0101 10:00:00.000000  42 solver.cpp:330] Iteration 0, Testing net\nI0101 10:00:00.000000  42 "
     "solver.cpp:397]     Test net output #0: accuracy = 0.125\nI0101 10:00:00.000000  42 solver.cpp:218] Iteration 0 "
     "(8.5 iter/s, 2.5s/20 iters), loss = 3.5\nI0101 10:00:00.000000  42 sgd_solver.cpp:105] Iteration 0, lr = 0.25\n",
     "0:3.5/0.25@0.125"},
    {"yolo",
     "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n        1/2      2.61G      1.500 "
     "    "
     " 1.250      0.750         81        640: 100%|####| 8/8 [00:02<00:00]\n",
     "8:3.5"},
    {"tqdm",
     "Map: 100%|####| 8/8 [00:00<00:00, 9.5it/s]\n  0%|    | 0/4 [00:00<?, ?it/s]\r 25%|#   | 1/4 [00:01<00:03, "
     "1.1s/it, "
     "loss=3.5, lr=0.25]\r 50%|##  | 2/4 [00:02<00:02, 1.1s/it, loss=3.25, lr=0.125]\n",
     "1:3.5/0.25 2:3.25/0.125"},
    {"tqdm",
     "1|3|Loss: 3.5:  75%|###   | 3/4 [00:05<00:40,  1.15s/it]\r1|4|Loss: 3.25: 100%|####  | 4/4 [00:06<00:00, "
     "1.15s/it]\n2|5|Loss: 3:  25%|#   | 1/4 [00:01<00:03,  1.15s/it]\n",
     "3:3.5 4:3.25 5:3"},
    {"dllogger",
     "DLL 2020-01-01 00:00:01.5 - (0, 1) glob_iter/iters_per_epoch : 1/2\nDLL 2020-01-01 00:00:01.6 - (0, 1) "
     "train_loss "
     ": 3.5\nDLL 2020-01-01 00:00:02.5 - (0, 2) train_loss : 3.25\nDLL 2020-01-01 00:00:02.6 - (0,) val_loss : 3.0\n",
     "1:3.5 2:3.25~3"},
    {"dllogger",
     "DLLL {\"type\": \"LOG\", \"step\": [0, 1], \"data\": {\"loss\": 3.5}}\nDLLL {\"type\": \"LOG\", \"step\": [0, "
     "2], \"data\": {\"loss\": 3.25}}\n",
     "1:3.5 2:3.25"},
    {"nanogpt",
     "step 0: train loss 3.5000, val loss 3.7500\niter 0: loss 3.5000, time 9.00ms, mfu 1.0%\niter 10: loss 3.2500, "
     "time 9.00ms, mfu 1.0%\n",
     "0:3.5~3.75 10:3.25"},
    {"nanogpt", "step:125/250 val_loss:3.5 train_time:9.5s step_avg:1.5ms\n", "125:~3.5"},
    {"torchtitan",
     "[titan] 2030-01-01 00:00:00,000 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  3.50000  grad_norm:  1.25  "
     "\x1b[0mmemory: "
     "1.5GiB(1.5%)  tps: 12,345  mfu: 1%\n",
     "1:3.5"},
    {"fairseq",
     "2030-01-01 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.1, \"loss\": \"3.5\", \"nll_loss\": \"3.4\", "
     "\"num_updates\": \"10\", \"lr\": "
     "\"0.25\", \"gnorm\": \"1.5\"}\n2030-01-01 | INFO | x | NOTE: gradient overflow detected, ignoring gradient, "
     "setting loss scale to: 64.0\n",
     "10:3.5/0.25 after 10:!"},
    {"mmengine",
     "{\"lr\": 0.25, \"data_time\": 0.1, \"loss\": 3.5, \"time\": 0.5, \"epoch\": 1, \"iter\": 10, \"memory\": 1, "
     "\"step\": 10}\n"
     "{\"accuracy/top1\": 50.5, \"step\": 1}\n",
     "10:3.5/0.25@50.5"},
    {"mmengine",
     "2030/01/01 00:00:00 - mmengine - INFO - Epoch(train)   [2][ 10/100]  lr: 2.5e-01  eta: 0:10:00  time: 0.2  loss: "
     "3.5000\n",
     "110:3.5/0.25"},
    {"mmengine",
     "{\"hook_msgs\": {}}\n"
     "{\"mode\": \"train\", \"epoch\": 1, \"iter\": 1, \"lr\": 0.25, \"memory\": 1, \"heatmap_loss\": 3.5, \"loss\": "
     "3.5, \"time\": 0.5}\n"
     "{\"mode\": \"train\", \"epoch\": 1, \"iter\": 2, \"lr\": 0.25, \"memory\": 1, \"loss\": 3.25, \"time\": 0.5}\n"
     "{\"mode\": \"val\", \"epoch\": 1, \"iter\": 9, \"lr\": 0.25, \"top1_acc\": 0.5}\n"
     "{\"mode\": \"train\", \"epoch\": 2, \"iter\": 1, \"lr\": 0.125, \"memory\": 1, \"loss\": 3.0, \"time\": 0.5}\n",
     "1:3.5/0.25 2:3.25/0.25@0.5 3:3/0.125"},
    {"mmengine",
     "{}\n"
     "{\"mode\": \"train\", \"epoch\": 1, \"iter\": 10, \"lr\": 0.25, \"loss\": 3.5}\n"
     "{\"mode\": \"val\", \"epoch\": 2, \"iter\": 64, \"lr\": 0.25, \"mIoU\": 0.5}\n"
     "{\"mode\": \"train\", \"epoch\": 2, \"iter\": 20, \"lr\": 0.125, \"loss\": 3.25}\n",
     "10:3.5/0.25 20:3.25/0.125"},
    {"timm", "Train: 1 [  10/100 ( 10%)]  Loss: 3.500 (3.60)  Time: 0.4s  LR: 2.500e-01\nTest: [ 10/20]  Loss: 9.0\n",
     "110:3.5/0.25"},
    {"verl", "(main_task pid=7) step:3 - actor/pg_loss:-0.5 - actor/lr:1e-06 - critic/score/mean:np.float64(0.31)\n",
     "3:-0.5/1e-06"},
    {"apex", "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 512.0\nstep 3 loss 3.5\n",
     "after 0:! 3:3.5"},
    {"paddle",
     "[2030-01-01] [    INFO] - loss: 3.5, learning_rate: 0.25, global_step: 7, interval_runtime: 4.8, "
     "progress_or_epoch: 0.25\n",
     "7:3.5/0.25"},
    {"lightning", "epoch,step,train_loss,val_loss\n0,9,3.5,\n0,9,,3.25\n1,19,3.0,\n", "9:3.5~3.25 19:3"},
    {"csv", "step,train_loss\n8,3.5\n16,3.25\n", "8:3.5 16:3.25"},
    {"msprobe-monitor", "vpp_stage,name,step,norm\n0,layer.weight,0,1.5\n0,layer.bias,0,0.5\n", "0:"},
    {"jsonl", "{\"train_lr\": 0.25, \"train_loss\": 3.5, \"test_acc1\": 12.5, \"epoch\": 3}\n", "3:3.5/0.25@12.5"},
    {"columns", "1 3.5\n2 3.25\n", "1:3.5 2:3.25"},
    {"mlflow", "1700000000000 3.5 1\n1700000000100 3.25 2\n", "1: 2:"},
    {"megatron",
     "{\"lm loss\": {\"start_step\": 1, \"end_step\": 9, \"step_interval\": 1, \"values\": {\"2\": \"nan\", \"10\": "
     "3.25, \"1\": 3.5}}}\n",
     "1:3.5 2:nan 10:3.25"},
    {"text",
     "epoch 0, total_step 20, total loss is 3.5 , inference loss is 3.0, weight loss is 0.5\n[rank1]: step=21 "
     "loss=3.25 lr=0.25\n",
     "20:3.5 21:r1:3.25/0.25"},
    {"blocks",
     "2030-01-01 00:00:00\thost:0\tolmo.train:979\tINFO\t[step=1/10,epoch=0]\n    optim/total_grad_norm=1.25\n"
     "    train/CrossEntropyLoss=3.5\n    train/Perplexity=4,027\n"
     "2030-01-01 00:00:01\thost:0\tolmo.train:979\tINFO\t[step=2/10,epoch=0]\n    train/CrossEntropyLoss=3.25\n",
     "1:3.5 2:3.25"},
    {"text", "Epoch: [1][ 11/100]\tTime 0.1 (0.1)\tLoss 3.5e+00 (3.6)\tAcc@1 1.5 (1.0)\n", "11:3.5@1.5"},
};

TEST(ReadLog, ReadsEveryDialect) {
  for (const Sample& sample : kSamples) {
    auto log = Read(sample.text);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(log->format(), sample.format) << sample.text;
    EXPECT_EQ(Show(*log), sample.records) << sample.text;
    EXPECT_EQ(log->unparsed_total(), 0) << sample.text;
  }
}

TEST(ReadLog, OneFormatClaimsASample) {
  for (const Sample& sample : kSamples) {
    std::string text;
    TextLines lines;
    lines.Feed(sample.text, [&](const TextLine& line) { absl::StrAppend(&text, line.text, "\n"); });
    std::vector<std::string> claims;
    for (const LogFormat* format : AllLogFormats()) {
      const bool general = format->name == "text" || format->name == "jsonl";
      if (!general && format->sniff({sample.text, text, true})) claims.emplace_back(format->name);
    }
    const std::string name = sample.format;
    if (name == "text" || name == "jsonl") {
      EXPECT_EQ(absl::StrJoin(claims, " "), "") << sample.text;
    } else {
      EXPECT_EQ(absl::StrJoin(claims, " "), name) << sample.text;
    }
  }
}

TEST(ReadLog, ChunkBordersChangeNothing) {
  for (const Sample& sample : kSamples) {
    const std::string whole = Read(sample.text)->ShortDebugString();
    for (std::size_t chunk : {1, 2, 3, 5, 7, 11, 64, 65, 66}) {
      EXPECT_EQ(Read(sample.text, chunk)->ShortDebugString(), whole) << chunk << "\n" << sample.text;
    }
  }
}

TEST(ReadLog, EveryCutOfASampleIsRead) {
  for (const Sample& sample : kSamples) {
    const std::string text = sample.text;
    for (std::size_t n = 0; n < text.size(); ++n) {
      auto log = Read(absl::string_view(text).substr(0, n));
      ASSERT_TRUE(log.ok());
      EXPECT_LE(log->records_size(), 6);
    }
  }
}

TEST(ReadLog, FlippedBytesNeverCrash) {
  std::mt19937 random(7);  // NOLINT: the same bytes every time
  for (const Sample& sample : kSamples) {
    for (int round = 0; round < 200; ++round) {
      std::string text = sample.text;
      for (int flips = 0; flips < 4; ++flips) text[random() % text.size()] = static_cast<char>(random());
      (void)Read(text, 1 + random() % 64);
    }
  }
  for (int round = 0; round < 300; ++round) {
    std::string noise(random() % 3000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    (void)Read(noise);
  }
}

TEST(ReadLog, UnknownSaysWhatWasSeen) {
  EXPECT_EQ(Read("hello\nworld\n")->format(), "unknown");
  EXPECT_THAT(Read("hello\nworld\n")->notes(0).message(), HasSubstr("2 lines"));
  EXPECT_EQ(Read("")->notes(0).kind(), "empty");
  EXPECT_THAT(Read("version https://git-lfs.github.com/spec/v1\noid x\n")->notes(0).message(), HasSubstr("LFS"));
  EXPECT_THAT(Read("<!DOCTYPE html><html>")->notes(0).message(), HasSubstr("HTML"));
  std::string binary;
  for (int i = 0; i < 2000; ++i) binary.push_back(static_cast<char>(i * 7 + 1));
  EXPECT_THAT(Read(binary)->notes(0).message(), HasSubstr("binary"));
}

TEST(ReadLog, ASentenceIsNoRecord) {
  EXPECT_EQ(Read("Iteration 100: 0.2, 0.53\nIteration 200: 0.1, 0.60\n")->format(), "unknown");
  EXPECT_EQ(Read("name metaval_Post-update loss, step 1 is illegal\n")->records_size(), 0);
}

TEST(ReadLog, TheLaterSegmentWins) {
  auto log = Read(
      "step 1 loss 9\nstep 2 loss 8\nstep 3 loss 7\nResuming from checkpoint (global_step 1)\nstep 2 loss 6\nstep 3 "
      "loss 5\n");
  EXPECT_EQ(Show(*log), "1:9 2:6 3:5");
  EXPECT_EQ(log->segments_size(), 2);
  EXPECT_EQ(log->segments(1).resumed_from(), 1);
  EXPECT_EQ(NoteKinds(*log), "resumed steps_replaced");
}

TEST(ReadLog, AMarkerGivesTheOffset) {
  auto log =
      Read("step 1 loss 9\nstep 2 loss 8\nResuming from checkpoint (global_step 2)\nstep 1 loss 7\nstep 2 loss 6\n");
  EXPECT_EQ(Show(*log), "1:9 2:8 3:7 4:6");
  EXPECT_EQ(log->segments(1).offset(), 2);
}

TEST(ReadLog, TwoRunsAreNotMerged) {
  auto log = Read(
      "***** Running training *****\nstep 1 loss 9\nstep 2 loss 8\n***** Running training *****\nstep 1 loss 7\nstep 2 "
      "loss 6\n");
  EXPECT_EQ(log->records_size(), 4);
  EXPECT_EQ(log->segments_size(), 2);
  EXPECT_EQ(NoteKinds(*log), "two_runs_in_one_file");
}

TEST(ReadLog, WritersThatInterleaveKeepFileOrder) {
  std::string text;
  for (int i = 1; i <= 5; ++i) absl::StrAppend(&text, "step ", i, " loss ", i, "\nstep ", i, " loss ", i, ".5\n");
  auto log = Read(text);
  EXPECT_EQ(log->records_size(), 10);
  EXPECT_EQ(NoteKinds(*log), "interleaved_writers");
}

TEST(ReadLog, SplicedLinesAreUnparsed) {
  auto log = Read(
      "step=0 loss=2.7\n[rank0]: step=1 lo[rank1]: step=1 loss=2ss=2.5 grad_norm=1.0\n[rank2]: step=1 loss=2.5[rank3]: "
      "step=1 loss=2.6\n");
  EXPECT_EQ(Show(*log), "0:2.7 1:r2:2.5 1:r3:2.6");
  EXPECT_EQ(log->unparsed_total(), 2);
}

TEST(ReadLog, ARefusedNumberNamesItsStep) {
  auto log = Read("step: 7 loss: 2,3 lr: 0.5\nstep: 8 loss: N/A lr: 0.5\nstep: 9 loss: 2.5 lr: 0.5\n");
  EXPECT_EQ(Show(*log), "7:none/0.5 8:none/0.5 9:2.5/0.5");
  EXPECT_THAT(log->notes(0).message(), HasSubstr("step 7: loss '2,3'"));
}

TEST(ReadLog, RanksThatPrintTheSameOverflowCountOnce) {
  std::string text = "step 1 loss 3.5\n";
  for (int rank : {0, 1})
    absl::StrAppend(&text, "[1,", rank,
                    "]<stdout>:Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8.0\n");
  absl::StrAppend(&text, "step 4 loss 3.25\n");
  for (int rank : {0, 1}) absl::StrAppend(&text, "[rank", rank, "]: Grad overflow on iteration 4\n");
  auto log = Read(text);
  EXPECT_EQ(Show(*log), "1:3.5 after 1:r0:! 4:3.25 5:!");
}

TEST(ReadLog, TellsHowTheRunEnded) {
  EXPECT_EQ(Read("step: 5/10 loss: 3.5\n")->end().state(), v1::RunEnd::STATE_UNFINISHED);
  EXPECT_EQ(Read("step: 10/10 loss: 3.5\n")->end().state(), v1::RunEnd::STATE_FINISHED);
  EXPECT_EQ(Read("step 5 loss 3.5\nTraceback (most recent call last)\n")->end().state(), v1::RunEnd::STATE_ABORTED);
  EXPECT_EQ(Read("step 5 loss 3.5\nTraceback (most recent call last)\nstep 6 loss 3\n")->end().state(),
            v1::RunEnd::STATE_UNSPECIFIED);
  EXPECT_EQ(Read("step 5 loss 3.5\nfinal acc@1 76.1\n")->end().state(), v1::RunEnd::STATE_FINISHED);
}

TEST(ReadLog, ALineWithoutEndIsNoRecord) {
  auto log = Read("step 1 loss 3.5\nstep 2 loss 3.2");
  EXPECT_EQ(Show(*log), "1:3.5");
  EXPECT_TRUE(log->incomplete_tail());
  EXPECT_EQ(Show(*Read("{\"step\": 1, \"loss\": 3.5}\n{\"step\": 2, \"loss\": 3.2}")), "1:3.5 2:3.2");
}

TEST(ReadLog, HolesAreNoted) {
  auto log = Read("step 1 loss 3.5\nstep 2 lo" + std::string(8192, '\0') + "3 loss 9\nstep 4 loss 3.2\n");
  EXPECT_EQ(Show(*log), "1:3.5 4:3.2");
  EXPECT_EQ(NoteKinds(*log), "gap");
  EXPECT_EQ(log->unparsed_total(), 2);
}

TEST(ReadLog, APatternBeatsRecognition) {
  LogOptions options;
  options.pattern = R"(at (?P<step>\d+) cost (?P<loss>[\d.]+))";
  EXPECT_EQ(Show(*Read("at 3 cost 3.5\nat 4 cost 3.25\n", 99, options)), "3:3.5 4:3.25");
  EXPECT_EQ(NoteKinds(*Read("step 1 loss 3.5\n", 99, options)), "pattern_never_matches");
  // Steps that count within their epoch, a share, a value that is none.
  options.pattern = R"(E(?P<epoch>\d+) i(?P<step>\S+) c(?P<loss>\S+)(?: a(?P<val_acc>.*))?)";
  EXPECT_EQ(Show(*Read("E0 i1 c3.5\nE0 i2 cnan\nE1 i1 c3.25 a76.1%\nE1 i2.5 c3\nE1 i2 c2,3\n", 99, options)),
            "1:3.5 2:nan 3:3.25@76.1 4:none");
  for (const char* bad :
       {"(?P<step>", "(?<step>\\d+)", "(?=x)(?P<loss>.)", "(?P<loss>.)\\1", "[(?P<loss>.)", "(?P<what>.)", ""}) {
    options.pattern = bad;
    const auto read = Read("step 1 loss 3.5\n", 99, options);
    EXPECT_EQ(read.ok(), options.pattern.empty()) << bad;
    EXPECT_THAT(std::string(read.status().message()), read.ok() ? HasSubstr("") : HasSubstr("pattern `")) << bad;
  }
  options.pattern = "(?P<step>";
  EXPECT_EQ(CodeOf(Read("step 1 loss 3.5\n", 99, options)), absl::StatusCode::kInvalidArgument);
  options.pattern = R"((\d+))";
  EXPECT_EQ(CodeOf(Read("step 1 loss 3.5\n", 99, options)), absl::StatusCode::kInvalidArgument);
}

std::string Gzip(absl::string_view text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string input(text);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.erase(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(ReadLog, InflatesMembers) {
  const std::string packed = Gzip("step 1 loss 3.5\n") + Gzip("step 2 loss 3.25\n");
  for (std::size_t chunk : {1, 2, 3, 1000}) EXPECT_EQ(Show(*Read(packed, chunk)), "1:3.5 2:3.25");
  const auto cut = Read(absl::string_view(packed).substr(0, packed.size() - 9));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(NoteKinds(*cut), "gap");
  EXPECT_TRUE(cut->incomplete_tail());
  std::string broken = packed;
  broken[14] = static_cast<char>(broken[14] ^ 0x55);
  (void)Read(broken);
}

TEST(ReadLog, ALongLogIsThinnedAndItsCountsStayWhole) {
  std::string text;
  for (int step = 1; step <= 600'000; ++step) {
    absl::StrAppend(&text, " iteration ", step,
                    "/ 600000 | consumed samples: 1 | lm loss: 2.5 | number of skipped iterations: ",
                    step % 1000 == 1 ? 1 : 0, " |\n");
  }
  auto log = Read(text);
  EXPECT_LE(log->records_size(), static_cast<int>(kLogRecordsMax));
  EXPECT_EQ(NoteKinds(*log), "records_thinned");
  std::int64_t skipped = 0;
  for (const v1::StepRecord& record : log->records()) skipped += record.skipped();
  EXPECT_EQ(skipped, 600);
  EXPECT_EQ(log->records(log->records_size() - 1).step(), 600'000);
}

std::string JsonLinesWithNaN(int steps, absl::FunctionRef<bool(int)> is_nan) {
  std::string text;
  for (int step = 1; step <= steps; ++step) {
    absl::StrAppend(&text, "{\"step\": ", step, ", \"loss\": ", is_nan(step) ? "NaN" : "2.5", "}\n");
  }
  return text;
}

std::vector<std::int64_t> StepsWithoutFiniteLoss(const v1::RunLog& log) {
  std::vector<std::int64_t> steps;
  for (const v1::StepRecord& record : log.records()) {
    if (record.has_loss() && !std::isfinite(record.loss())) steps.push_back(record.step());
  }
  return steps;
}

// No neighbour tells it in its place, wherever the intervals fall.
TEST(ReadLog, ANumberThatIsNotFiniteStaysInALongLog) {
  for (const int steps : {600'000, 2'300'000}) {
    const auto log =
        Read(JsonLinesWithNaN(steps, [](int step) { return step == 7 || step == 100'005 || step == 555'555; }));
    EXPECT_LE(log->records_size(), static_cast<int>(kLogRecordsMax));
    EXPECT_THAT(NoteKinds(*log), testing::HasSubstr("records_thinned"));
    EXPECT_THAT(StepsWithoutFiniteLoss(*log), testing::ElementsAre(7, 100'005, 555'555));
  }
}

// A spike of one step lies between two intervals that are kept.
TEST(ReadLog, ASpikeOfOneStepStaysInALongLog) {
  std::string text;
  for (int step = 1; step <= 1'200'000; ++step) {
    absl::StrAppend(&text, "{\"step\": ", step, ", \"loss\": ",
                    step == 100'005 ? "25.0"
                    : step % 2 == 0 ? "2.5"
                                    : "2.25",
                    "}\n");
  }
  const auto log = Read(text);
  EXPECT_LE(log->records_size(), static_cast<int>(kLogRecordsMax));
  std::vector<std::int64_t> high;
  for (const v1::StepRecord& record : log->records()) {
    if (record.loss() > 20) high.push_back(record.step());
  }
  EXPECT_THAT(high, testing::ElementsAre(100'005));
}

// Too many of them give way, too, but where they begin.
TEST(ReadLog, ALongLogOfNothingButNaNIsBounded) {
  const auto log = Read(JsonLinesWithNaN(2'500'000, [](int step) { return step >= 1'003; }));
  EXPECT_LE(log->records_size(), static_cast<int>(2 * kLogRecordsMax));
  EXPECT_EQ(StepsWithoutFiniteLoss(*log).front(), 1'003);
  const auto every_second = Read(JsonLinesWithNaN(2'500'000, [](int step) { return step >= 1'003 && step % 2 != 0; }));
  EXPECT_LE(every_second->records_size(), static_cast<int>(2 * kLogRecordsMax));
  EXPECT_EQ(StepsWithoutFiniteLoss(*every_second).front(), 1'003);
}

// `copies`: how many ranks print each dict.
std::string TrainerDicts(int lines, int copies) {
  std::string text;
  for (int line = 0; line < lines; ++line) {
    const int step = line / copies + 1;
    absl::StrAppend(&text, "{'loss': ", 2 + step % 997 * 0.001, ", 'grad_norm': ", 1 + step % 89 * 0.01,
                    ", 'learning_rate': 1e-05, 'epoch': ", step * 0.001, "}\n");
  }
  return text;
}

// Its dicts name no step: the order tells it, also of those whose neighbours are gone.
TEST(ReadLog, ALongLogWithoutStepsIsThinnedAndKeepsItsPlaces) {
  constexpr int kLines = 800'000;
  auto log = Read(TrainerDicts(kLines, 1));
  EXPECT_LE(log->records_size(), static_cast<int>(kLogRecordsMax));
  EXPECT_GE(log->records_size(), static_cast<int>(kLogRecordsMax) / 4);
  EXPECT_THAT(NoteKinds(*log), testing::HasSubstr("records_thinned"));
  int wrong = 0;
  for (const v1::StepRecord& record : log->records()) wrong += record.step() != record.line() ? 1 : 0;
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(log->records(log->records_size() - 1).step(), kLines);
}

TEST(ReadLog, ALongLogOfSeveralRanksWithoutStepsCountsEachStepOnce) {
  constexpr int kLines = 800'000;
  auto log = Read(TrainerDicts(kLines, 2));
  EXPECT_LE(log->records_size(), static_cast<int>(kLogRecordsMax));
  int wrong = 0;
  for (const v1::StepRecord& record : log->records()) wrong += record.step() != (record.line() + 1) / 2 ? 1 : 0;
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(log->records(log->records_size() - 1).step(), kLines / 2);
}

TEST(ReadLog, AnotherLocaleChangesNothing) {
  const char* before = std::setlocale(LC_ALL, nullptr);
  const std::string saved = before == nullptr ? "C" : before;
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(Show(*Read("step 1 loss 3.5\n")), "1:3.5");
  std::setlocale(LC_ALL, saved.c_str());
}

TEST(ReadLog, TheAccuracyOfATrainingBatchIsMarked) {
  const auto log = Read(
      "step 1 loss 2.5 acc 0.91\nstep 2 loss 2.4 acc 0.92\nstep 2 val_acc 0.76 val_loss 2.6\n"
      "step 3 loss 2.3 acc 0.93\nstep 3 val_acc 0.77\nstep 4 val_loss 2.2\n");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(Show(*log), "1:2.5@0.91 2:2.4~2.6@0.76 3:2.3@0.77 4:~2.2");
  EXPECT_TRUE(log->records(0).accuracy_of_training());
  EXPECT_FALSE(log->records(1).accuracy_of_training());
  EXPECT_FALSE(log->records(2).accuracy_of_training());
}

TEST(ReadLog, ALineOfAnEvaluationGivesNoTrainingLoss) {
  const auto log = Read(
      "step 1 loss 2.5\nstep 2 loss 2.4\n[eval] step 2 loss 2.9 acc 0.7\nstep 3 loss 2.3 val loss 2.8\n"
      "Test step 4 loss 2.2\n");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(Show(*log), "1:2.5 2:2.4~2.9@0.7 3:2.3~2.8 4:~2.2");
}

TEST(ReadLog, ProseAboutOtherLossesGivesNone) {
  for (const char* line : {"step 3: packet loss 3 %\n", "step 4: rx ok, packets loss: 0\n", "step 5 signal loss 9\n"}) {
    const auto log = Read(line);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(log->format(), "unknown") << line;
  }
  const auto both = Read("step 3 packet loss 3 % loss 2.5\n");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(Show(*both), "3:2.5");
}

TEST(ReadLog, ALossThatIsLeftOutOfItsLinesIsMissing) {
  std::string text;
  for (int step = 1; step <= 6; ++step) absl::StrAppend(&text, "step ", step, " loss 2.5 lr 0.1\n");
  auto log = Read(text + "step 7 lr 0.1\nstep 8 lr 0.1\nstep 9 loss 2.5 lr 0.1\n");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_TRUE(absl::EndsWith(Show(*log), "6:2.5/0.1 7:none/0.1 8:none/0.1 9:2.5/0.1")) << Show(*log);
  // Losses every third step only: nothing is missing.
  text.clear();
  for (int step = 1; step <= 30; ++step) {
    absl::StrAppend(&text, "step ", step, " lr 0.1", step % 3 == 0 ? " loss 2.5\n" : "\n");
  }
  log = Read(text);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(Show(*log), Not(HasSubstr("none")));
}

TEST(ReadLog, TabsAndPrintedDictsAreHandWrittenToo) {
  for (const char* line : {"step\t3\tloss\t2.5\tlr\t0.1\n", "{'step': 3, 'loss': 2.5, 'lr': 0.1}\n"}) {
    const auto log = Read(line);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(Show(*log), "3:2.5/0.1") << line;
  }
}

TEST(ReadLog, RanksWithoutPrefixThatPrintOneOverflowCountOnce) {
  const std::string line = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n";
  const std::string next = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0\n";
  const auto log = Read("step 1 loss 2.5\n" + line + line + line + line + next + next + "step 4 loss 2.4\n" + line +
                        "step 5 loss 2.4\n" + line + "step 6 loss 2.3\n");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(Show(*log), "1:2.5 after 1:! after 1:! 4:2.4 after 4:! 5:2.4 after 5:! 6:2.3");
}

TEST(ReadLog, AStaticScaleAtItsFloorOverflowsEachTime) {
  const std::string line = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.0\n";
  const auto log = Read("step 1 loss 2.5\n" + line + line + "step 4 loss 2.4\n");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(Show(*log), "1:2.5 after 1:! after 1:! 4:2.4");
}

}  // namespace
}  // namespace paritect
