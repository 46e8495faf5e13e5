#include "formats/logs/machinery/line_letters.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/logs/recognise.h"

namespace paritect {
namespace {

bool Holds(absl::string_view line, absl::string_view groups) {
  for (std::size_t g = 0; g + 3 <= groups.size(); g += 3) {
    const bool any = groups[g + 2] == LineLetters::kAny;
    for (std::size_t i = 0; i + 2 <= line.size(); ++i) {
      if (line.substr(i, 2) != groups.substr(g, 2)) continue;
      if (any || (i + 3 <= line.size() && line[i + 2] == groups[g + 2])) return true;
    }
  }
  return false;
}

std::string Naive(absl::string_view text, const std::vector<absl::string_view>& readers) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    std::uint64_t who = 0;
    for (std::size_t r = 0; r < readers.size(); ++r) who |= std::uint64_t{Holds(line, readers[r])} << r;
    if (who != 0) absl::StrAppend(&out, line, " ", who, "\n");
  }
  return out;
}

std::string Found(absl::string_view text, const std::vector<absl::string_view>& readers) {
  std::string out;
  for (const LineLetters::Line& line : LineLetters(readers).Find(text)) {
    absl::StrAppend(&out, line.text, " ", line.readers, "\n");
  }
  return out;
}

TEST(LineLetters, FindsTheLinesOfEachReader) {
  const std::vector<absl::string_view> readers = {"oss", "{\"\x01", "och{\"\x01", "\xE6\x8D\x9F"};
  EXPECT_EQ(Found("nothing\nloss\n {\"a\nepoch loss\nlos\ns\n\xE6\x8D\x9F\n", readers),
            Naive("nothing\nloss\n {\"a\nepoch loss\nlos\ns\n\xE6\x8D\x9F\n", readers));
  EXPECT_EQ(Found("", readers), "");
  EXPECT_EQ(Found("oss", readers), "oss 1\n");
  EXPECT_EQ(Found("os", readers), "");
}

// Few letters, so that groups stand at every place of a vector, in the last bytes too.
TEST(LineLetters, AgreesWithANaiveSearch) {
  const std::vector<absl::string_view> readers = {"abcbca", "cc\x01", "aaa", "", "ba\xE6"};
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::string text;
    const std::size_t size = random() % (round < 300 ? 300 : 20'000);
    for (std::size_t i = 0; i < size; ++i) {
      text.push_back("abcdefghijkl\xE6\x8D_____________\n"[random() % (round % 2 == 0 ? 28 : 6)]);
      if (random() % 23 == 0) text.push_back('\n');
    }
    text.push_back('\n');
    ASSERT_EQ(Found(text, readers), Naive(text, readers)) << round;
  }
}

// What a format's own sniffing would claim of a text, it claims when it is shown the lines with its letters alone.
TEST(LineLetters, NoFormatNamesLettersThatItsLinesLack) {
  const absl::string_view lines[] = {
      ":::MLLOG {\"event_type\": \"POINT_IN_TIME\", \"key\": \"train_loss\", \"value\": 1, \"metadata\": {}}",
      " iteration 3/ 10 | consumed samples: 3 | elapsed time per iteration (ms): 1.0 | lm loss: 2.5E+00 |",
      "{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.1}",
      "{'train_runtime': 1.5, 'train_loss': 0.5, 'epoch': 1.0}",
      "{\"current_steps\": 1, \"total_steps\": 2, \"loss\": 2.5, \"epoch\": 0.1}",
      "{ Epoch:[  1/  2], step:[   10/  100], loss: 2.5, lr: 1e-5",
      "epoch: 1 step: 195, loss is 1.2345678",
      "epoch: 1, current epoch percent: 0.003, step: 100, outputs are (Tensor(x))",
      "Epoch 1/200, Step 10/3995, imgsize (640, 640), loss: 2.5000, lbox: 1.0, cur_lr: 1e-4",
      "epoch: [2/90] loss: 1.045892, epoch time: 2.413 s, per step time: 12.377 ms",
      "| INFO | train_inner | {\"epoch\": 1, \"loss\": \"2.5\", \"num_updates\": \"10\"}",
      "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0",
      "{\"lr\": 0.01, \"loss\": 0.69, \"epoch\": 1, \"iter\": 10, \"step\": 10}",
      "Epoch(train) [9][ 10/270]  lr: 1.0e-02  loss: 0.5",
      "Iter(train) [  50/1000]  lr: 1.0e-02  loss: 0.5",
      "Train: 0 [  10/1000 (  1%)]  Loss: 2.500 (2.50)  LR: 1.000e-04",
      "step:  1  loss:  8.04910  grad_norm:  1.2345  memory:  1.23GiB(1.55%)  tps: 12,345",
      "step:1 - actor/pg_loss:-0.0012 - actor/grad_norm:0.45",
      "loss: 1.08, learning_rate: 4e-08, global_step: 1, interval_runtime: 4.8704",
      "iter 100: loss 2.1234, time 123.45ms, mfu 30.12%",
      "step 250: train loss 2.1234, val loss 2.2345",
      "step:125/3225 train_time:23.965s step_avg:191.72ms",
      "step:125/3225 val_loss:4.62997",
      "INFO:tensorflow:loss = 0.5, step = 100",
      "INFO:tensorflow:Saving dict for global step 100: accuracy = 0.5, global_step = 100, loss = 0.5",
      "DLLL {\"type\": \"LOG\", \"step\": [0, 10], \"data\": {\"loss\": 1.2}}",
      "DLLL 2019-10-10 16:42:54.501155 - Epoch: 0 Iteration: 0  loss : 130.0 nat",
      "[Rank 0] step=10, skipped=6, lr=[9.6e-06], mom=[(0.9, 0.95)]",
      "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4294967296, reducing to 4294967296",
      "[deepspeed] fp16 dynamic loss scale overflow! Skipping step.",
      "Grad overflow on iteration 5",
      "Overflow detected. Skipping step. Attempted loss scale: 65536.0",
      "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
      "After processing overrides, optimization options are:",
      "  {\"step\": 3, \"loss\": 2.5}",
      "step 3 loss 2.5",
      "第 3 轮 损失 2.5 准确率 0.5",
      "Epoch 3 accuracy: 0.5",
      "Epoch: [1][ 11/100]\tLoss 3.5e+00 (3.6)",
      "checkpoint last.pt test WER 3.2",
      "evaluated best.pt: f1 0.5, accuracy 0.7",
  };
  std::vector<absl::string_view> all(std::begin(lines), std::end(lines));
  for (const absl::string_view line : lines) {
    const std::string text = absl::StrCat(line, "\n");
    std::string with_letters;
    for (const LogFormat* format : FormatsThatClaim({text, text, true})) {
      absl::StrAppend(&with_letters, format->name, " ");
    }
    std::string without;
    for (const LogFormat* format : AllLogFormats()) {
      if (format->sniff({text, text, true})) absl::StrAppend(&without, format->name, " ");
    }
    EXPECT_EQ(with_letters, without) << line;
  }
}

}  // namespace
}  // namespace paritect
