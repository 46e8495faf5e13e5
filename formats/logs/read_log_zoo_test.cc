// Lines as programs in the field print them: each is claimed by one reader and gives what it tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// "text 10:2.5 20:2.25/0.001": format; step, loss, learning rate, gradient norm, evaluation loss, accuracy.
std::string Shown(absl::string_view text) {
  const v1::RunLog log = Read(text);
  return absl::StrCat(log.format(), log.records().empty() ? "" : " ",
                      absl::StrJoin(log.records(), " ", [](std::string* out, const v1::StepRecord& r) {
                        absl::StrAppend(out, r.step(), ":");
                        if (r.has_loss()) absl::StrAppend(out, FormatDouble(r.loss()));
                        if (r.has_lr()) absl::StrAppend(out, "/", FormatDouble(r.lr()));
                        if (r.has_grad_norm()) absl::StrAppend(out, "^", FormatDouble(r.grad_norm()));
                        if (r.has_loss_scale()) absl::StrAppend(out, "*", FormatDouble(r.loss_scale()));
                        if (r.has_eval_loss()) absl::StrAppend(out, "~", FormatDouble(r.eval_loss()));
                        if (r.has_accuracy()) absl::StrAppend(out, "@", FormatDouble(r.accuracy()));
                      }));
}

TEST(LogZoo, EpochAndBatch) {
  EXPECT_EQ(Shown("Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.300000\nTrain Epoch: 1 [640/60000 (1%)]\tLoss: 2.200000\n"
                  "Train Epoch: 2 [0/60000 (0%)]\tLoss: 0.500000\n"),
            "text 0:2.3 640:2.2 60000:0.5");
  EXPECT_EQ(Shown("Epoch [1/5], Step [100/600], Loss: 2.1\nEpoch [2/5], Step [100/600], Loss: 1.1\n"),
            "text 100:2.1 700:1.1");
  // Steps that go on over the ends of epochs are the run's own.
  EXPECT_EQ(Shown("epoch 0 step 59/120 loss 2.1\nepoch 0 step 60/120 loss 2.0\nepoch 1 step 61/120 loss 1.9\n"
                  "epoch 1 step 120/120 loss 1.5\n"),
            "text 59:2.1 60:2 61:1.9 120:1.5");
  EXPECT_EQ(Shown("batch 10 epoch 1 loss 2.5\nbatch 20 epoch 1 loss 2.25\n"), "text 10:2.5 20:2.25");
  EXPECT_EQ(Shown("batch 32 step 7 loss 2.5\n"), "text 7:2.5");
  EXPECT_EQ(Shown("Epoch: 0, Batch: 10/200, Loss: 1.5, LR: 0.01\nEpoch: 1, Batch: 10/200, Loss: 1.25, LR: 0.01\n"),
            "text 10:1.5/0.01 210:1.25/0.01");
  EXPECT_EQ(Shown("Epoch 0:  50%|#####     | 469/938 [00:05<00:05, 90.12it/s, v_num=0, train_loss=0.321]\r"
                  "Epoch 1:  10%|#         | 93/938 [00:01<00:05, 90.12it/s, v_num=0, train_loss=0.25]\n"),
            "text 469:0.321 1031:0.25");
}

TEST(LogZoo, BatchesBehindTheEpoch) {
  EXPECT_EQ(Shown("| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 5.60 | loss  7.60 | ppl  1998.20\n"
                  "| epoch   1 |   400/ 2983 batches | lr 20.00 | ms/batch 5.60 | loss  6.70 | ppl   812.41\n"),
            "text 200:7.6/20 400:6.7/20");
  EXPECT_EQ(Shown("step 1 throughput is 408.4 records/second. Loss is 1.25. Current learning rate is 0.5.\n"),
            "text 1:1.25/0.5");
}

TEST(LogZoo, PlacesInBrackets) {
  EXPECT_EQ(Shown("[100/30000] Train loss: 0.75, Valid loss: 0.5, Elapsed_time: 9.1\n"
                  "2030-01-01 00:00:00,123 - INFO - [200/30000] Train loss: 0.5, Valid loss: 0.25\n"),
            "text 100:0.75~0.5 200:0.5~0.25");
  EXPECT_EQ(Shown("[0/2][1/10] loss: 2.5\n[1/2][1/10] loss: 2.25\n"), "text 1:2.5 11:2.25");
  // What an evaluation prints of its own batches is no training, and a rank is no step.
  EXPECT_EQ(Shown("step 7 loss 2.5\nTest: [ 3/10] loss 9.0\nValidation [4/10] loss: 9.0\n"), "text 7:2.5");
  EXPECT_EQ(Shown("[1/8] step 7 loss 2.5\n"), "text 7:2.5");
}

TEST(LogZoo, NormsAndBatchesByOtherNames) {
  EXPECT_EQ(Shown("step     0 | loss: 10.5 | lr 8.5e-07 | norm: 15.25 | dt: 23547.83ms\n"
                  "step    1/19560 | loss 11.0 (+nanz)| norm 15.5 (+nanz)| lr 8.5e-07 | 4230.95 ms\n"),
            "text 0:10.5/8.5e-07^15.25 1:11/8.5e-07^15.5");
  EXPECT_EQ(Shown("epoch: 0, batch_id: 500, AUC:0.5, loss:0.75, ips: 1000.7 ins/s\n"
                  "epoch: 1, batch_id: 500, AUC:0.5, loss:0.5, ips: 1000.7 ins/s\n"),
            "text 500:0.75 1000:0.5");
  EXPECT_EQ(Shown("Step 500/30000; acc: 23.5; ppl:  40.9; xent: 3.75; lr: 0.00025; sents:  128096;\n"),
            "text 500:3.75/0.00025@23.5");
}

TEST(LogZoo, AShareThatIsToldTwice) {
  EXPECT_EQ(Shown("step 7 loss 2.5\nHellaSwag accuracy: 2500/10000=0.2500\n"), "text 7:2.5@0.25");
}

TEST(LogZoo, BatchesThatNoLineNumbers) {
  std::string text;
  for (int i = 0; i < 30; ++i) absl::StrAppend(&text, "Epoch 1 - Batch loss: ", 60 - i, "\n");
  EXPECT_THAT(Shown(text), ::testing::StartsWith("text 1:60 2:59 3:58 "));
  // A few an epoch are those of ranks, or of an epoch itself.
  EXPECT_EQ(Shown("Epoch 1 - loss: 2.5\nEpoch 2 - loss: 2.25\n"), "text 1:2.5 2:2.25");
}

TEST(LogZoo, DictsThatNameTheirStep) {
  EXPECT_EQ(
      Shown("{'loss': 2.5, 'grad_norm': 1.5, 'learning_rate': 0.25, 'epoch': 0.1, 'global_step/max_steps': '5/20'}\n"
            "{'loss': '2.25', 'grad_norm': '1.5', 'learning_rate': '0.25', 'global_step/max_steps': '10/20'}\n"
            "{'eval_loss': 2.0, 'eval_runtime': 1.0, 'epoch': 0.2, 'global_step/max_steps': '10/20'}\n"),
      "hf-trainer-stdout 5:2.5/0.25^1.5 10:2.25/0.25^1.5~2");
}

TEST(LogZoo, AHistoryBehindTheLinesThatItRepeats) {
  EXPECT_EQ(Shown("{\"loss\": 2.5, \"learning_rate\": 0.25, \"epoch\": 0.1, \"global_step/max_steps\": \"1/2\"}\n"
                  "{\"loss\": 2.25, \"learning_rate\": 0.25, \"epoch\": 0.2, \"global_step/max_steps\": \"2/2\"}\n"
                  "{\"last_model_checkpoint\": \"x\", \"log_history\": [{\"loss\": 2.5, \"step\": 1}]}\n"),
            "jsonl 1:2.5/0.25 2:2.25/0.25");
}

TEST(LogZoo, MlperfLinesBesideTheScriptsOwn) {
  EXPECT_EQ(Shown("iter: 50  loss: 1.5 (2.5)\n:::MLLOG {\"key\": \"tracked_stats\", \"value\": {\"loss\": 2.5}, "
                  "\"metadata\": {\"step\": 50}}\niter: 100  loss: 1.25 (2.0)\n"),
            "text 50:1.5 100:1.25");
}

TEST(LogZoo, ValuesOneALineUnderTheirStep) {
  EXPECT_EQ(Shown("Iteration 10 (90 left)\nAverage data load time: 0.5\nloss:0.75\nm3 cls:0.25\n"
                  "Iteration 20 (80 left)\nloss:nan\n"),
            "blocks 10:0.75 20:nan");
  // A second loss under one step names none of its own.
  EXPECT_EQ(Shown("Start at step 0\nloss: 2.5\nloss: 2.25\nloss: 2.0\n"), "blocks 0:2.5");
  EXPECT_EQ(Shown("Resuming from step 5\nloss: 2.5\n"), "unknown");
}

TEST(LogZoo, Chinese) {
  EXPECT_EQ(Shown("第 10 步 损失: 2.5 学习率: 0.001\n第 20 步 损失: 2.25 学习率: 0.001\n"),
            "text 10:2.5/0.001 20:2.25/0.001");
  EXPECT_EQ(Shown("训练步数：10，损失：2.5，梯度范数：1.5\n"), "text 10:2.5^1.5");
  EXPECT_EQ(Shown("迭代 30，loss为 2.5\n"), "text 30:2.5");
  EXPECT_EQ(Shown("步数: 40 训练loss: 2.5\n"), "text 40:2.5");
}

TEST(LogZoo, Numbers) {
  EXPECT_EQ(Shown("step 1 loss 3.4K acc 76.1%\nstep 2 loss 1,234.5\nstep 3 loss 1.2e+03\nstep 4 loss -inf\n"
                  "step 5 loss nan(ind)\n"),
            "text 1:3400@76.1 2:1234.5 3:1200 4:-inf 5:nan");
}

TEST(LogZoo, NumbersThatAreNone) {
  // A value of a count is no loss; a value and its mean are.
  EXPECT_EQ(Shown("step 1 loss 2.5\nstep 2 loss 2.3/4\nstep 3 loss 2.3/2.4\n"), "text 1:2.5 2: 3:2.3");
  EXPECT_EQ(Shown("step 1 loss 1'234.5\n"), "text 1:1234.5");
  for (const char* odd : {"step 2 loss \xE2\x88\x92"
                          "1.5\n",
                          "step 2 loss \xEF\xBC\x91\xEF\xBC\x92\n"}) {
    const v1::RunLog log = Read(absl::StrCat("step 1 loss 2.5\n", odd));
    ASSERT_EQ(log.records_size(), 2) << odd;
    EXPECT_TRUE(log.records(1).loss_absent());
    ASSERT_GT(log.notes_size(), 0);
    EXPECT_EQ(log.notes(0).kind(), "number_refused");
  }
  const v1::RunLog log = Read("step 1 loss 2.5\nstep: \xEF\xBC\x91\xEF\xBC\x92 loss: 2.5\nstep 1e300 loss 2.5\n");
  EXPECT_EQ(log.records_size(), 1);
  EXPECT_EQ(log.unparsed_total(), 2);
}

TEST(LogZoo, CountsBelowZeroAreNone) {
  const v1::RunLog log = Read(
      "[2030-01-01 00:00:00,001] [INFO] [logging.py:96:log_dist] [Rank 0] step=4, skipped=-1, lr=[0.5], mom=[]\n"
      "[2030-01-01 00:00:00,001] [INFO] [logging.py:96:log_dist] [Rank 0] step=5, skipped=2, lr=[0.5], mom=[]\n");
  ASSERT_EQ(log.records_size(), 2);
  EXPECT_FALSE(log.records(0).has_skipped());
  EXPECT_EQ(log.records(1).skipped(), 2);
}

std::string Wide(absl::string_view text, std::size_t width, bool big) {
  std::string out;
  for (const char c : text) {
    std::string unit(width, '\0');
    unit[big ? width - 1 : 0] = c;
    out += unit;
  }
  return out;
}

TEST(LogZoo, WideEncodings) {
  const std::string text = "step 1 loss 2.5\nstep 2 loss 2.25\n";
  for (const std::size_t width : {2, 4}) {
    for (const bool big : {false, true}) EXPECT_EQ(Shown(Wide(text, width, big)), "text 1:2.5 2:2.25") << width << big;
  }
  EXPECT_EQ(Shown(absl::StrCat(absl::string_view("\xFF\xFE\0\0", 4), Wide(text, 4, false))), "text 1:2.5 2:2.25");
}

TEST(LogZoo, BinaryIsNoText) {
  std::string integers;
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t value = i * 37;
    integers.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  std::string shorts;
  for (int i = 0; i < 5000; ++i) {
    const auto value = static_cast<std::int16_t>(i * 7 % 251);
    shorts.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  for (const std::string& bytes : {integers, shorts, std::string(100'000, '\0')}) {
    const v1::RunLog log = Read(bytes);
    EXPECT_EQ(log.format(), "unknown");
    ASSERT_EQ(log.notes_size(), 1);
    EXPECT_EQ(log.notes(0).message(), "binary data that no reader of logs knows");
  }
}

// A log of any length fits into memory, whatever its lines tell.
TEST(LogZoo, FloodsAreBounded) {
  std::string overflows;
  for (int i = 0; i < 510'000; ++i) overflows += "Gradient overflow.  Skipping step, loss scaler 0\n";
  const v1::RunLog flood = Read(absl::StrCat("step 1 loss 2.5\n", overflows));
  EXPECT_LE(flood.records_size(), 500'001);
  ASSERT_GT(flood.notes_size(), 0);
  EXPECT_EQ(flood.notes(0).kind(), "overflows_left_out");
  std::string evaluations;
  for (int i = 1; i <= 1'200'000; ++i) absl::StrAppend(&evaluations, "step ", i, " loss 2.5 val_loss 2.5\n");
  EXPECT_LE(Read(evaluations).records_size(), 1'000'000);
}

TEST(LogZoo, Frameworks) {
  // fairseq, simple format
  EXPECT_EQ(Shown("2020-05-20 10:15:10 | INFO | train_inner | epoch 001:     10 / 1102 loss=2.5, ppl=5.6, wps=100, "
                  "num_updates=10, lr=0.0001, gnorm=1.8, loss_scale=64, train_wall=48, wall=60\n"),
            "fairseq 10:2.5/1e-04^1.8*64");
  // detectron2
  EXPECT_EQ(Shown("[08/20 10:11:12 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 2.5  loss_cls: 1.5  "
                  "loss_box_reg: 1  time: 0.21  data_time: 0.01  lr: 0.0004  max_mem: 2000M\n"),
            "text 19:2.5/4e-04");
  // ColossalAI, NeMo, torchtune
  EXPECT_EQ(Shown("Epoch 0:  10%|#         | 10/100 [00:10<01:30, 1.0it/s, loss=2.5, lr=0.001]\n"),
            "text 10:2.5/0.001");
  EXPECT_EQ(Shown("Training epoch 0, iteration 9/99 | lr: 0.001 | global_batch_size: 8 | global_step: 9 | "
                  "reduced_train_loss: 2.5 | train_step_timing in s: 1.2\n"),
            "text 9:2.5/0.001");
  EXPECT_EQ(Shown("Step 10 | loss:2.5 lr:2e-05 tokens_per_second_per_gpu:123.4\n"), "text 10:2.5/2e-05");
  // PaddleDetection
  EXPECT_EQ(
      Shown("[08/20 10:11:12] ppdet.engine INFO: Epoch: [0] [ 20/100] learning_rate: 0.001 loss: 2.5 eta: 0:10\n"
            "[08/20 10:11:12] ppdet.engine INFO: Epoch: [1] [ 20/100] learning_rate: 0.001 loss: 2.25 eta: 0:10\n"),
      "text 20:2.5/0.001 120:2.25/0.001");
  // YOLOv5's table has no step: it is no curve of steps
  EXPECT_EQ(Shown("      1/299     4.2G    0.05   0.03   0.02   120   640: 100%|##########| 100/100 [00:10<00:00]\n"),
            "unknown");
  // MindSpore's model zoo
  EXPECT_EQ(Shown("2023-02-17 14:27:31,711:INFO:epoch: [2/90] loss: 1.5, epoch time: 2.413 s, per step time: 12 ms\n"),
            "mindspore 2:1.5");
  EXPECT_EQ(Shown("epoch[0], iter[100], loss:1699.77, 0.45 imgs/sec, lr:0.25\n"
                  "epoch[1], iter[200], loss:699.77, 0.45 imgs/sec, lr:0.25\n"),
            "text 100:1699.77/0.25 200:699.77/0.25");
  EXPECT_EQ(Shown("step 3 loss[0] 7 loss: 2.5\n"), "text 3:2.5");
  // Swin, OpenRLHF
  EXPECT_EQ(Shown("INFO Train: [0/300][10/1251]\teta 1:00 lr 0.25\tloss 6.5 (6.9)\tgrad_norm 1.5 (1.6)\tmem 5MB\n"
                  "INFO Train: [1/300][10/1251]\teta 1:00 lr 0.25\tloss 5.5 (6.9)\tgrad_norm 1.5 (1.6)\tmem 5MB\n"),
            "text 10:6.5/0.25^1.5 1261:5.5/0.25^1.5");
  EXPECT_EQ(Shown("Train epoch [1/2]:  10%|#   | 10/100 [00:10<01:30, gpt_loss=2.5, loss_mean=2.6, lr=1e-5]\n"),
            "text 10:2.6/1e-05");
  // tqdm without epoch
  EXPECT_EQ(Shown(" 10%|#         | 10/100 [00:10<01:30, 1.0it/s, step=10, loss=2.5]\n"), "text 10:2.5");
}

// Rows that say of which part of the data they are.
TEST(ReadLogZoo, RowsOfAnEvaluationAreNoTraining) {
  for (const char* text : {"{\"split\": \"train\", \"step\": 8, \"loss\": 3.5}\n"
                           "{\"split\": \"val\", \"step\": 8, \"loss\": 9.0}\n",
                           "{\"step\": 8, \"loss\": 3.5}\n{\"step\": 8, \"loss\": 9.0, \"mode\": \"test\"}\n",
                           "split,step,loss\ntrain,8,3.5\nval,8,9.0\n"}) {
    const v1::RunLog log = Read(text);
    ASSERT_EQ(log.records_size(), 1) << text;
    EXPECT_EQ(log.records(0).loss(), 3.5) << text;
    EXPECT_EQ(log.records(0).eval_loss(), 9.0) << text;
  }
}

// pandas writes NaN as an empty cell.
TEST(ReadLogZoo, AnEmptyCellAfterManyLossesIsAMissingLoss) {
  const auto missing = [](const std::string& text) {
    int count = 0;
    const v1::RunLog log = Read(text);
    for (const v1::StepRecord& record : log.records()) count += record.loss_absent() ? 1 : 0;
    return count;
  };
  std::string text = "step,lr,loss\n";
  for (int step = 1; step <= 12; ++step) absl::StrAppend(&text, step, ",0.25,3.5\n");
  EXPECT_EQ(missing(text + "13,0.25,\n14,0.25,\n"), 2);
  // A loss every other row is printed so; a row with a column of its own is about that.
  std::string now_and_then = "step,lr,loss\n";
  for (int step = 1; step <= 30; ++step) {
    absl::StrAppend(&now_and_then, step, ",0.25,", step % 2 == 1 ? "3.5" : "", "\n");
  }
  EXPECT_EQ(missing(now_and_then), 0);
  std::string beside = "step,loss,val_loss\n";
  for (int step = 1; step <= 12; ++step) absl::StrAppend(&beside, step, ",3.5,\n");
  EXPECT_EQ(missing(beside + "13,,9.0\n"), 0);
}

}  // namespace
}  // namespace paritect
