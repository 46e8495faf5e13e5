// Lines that have lost their loss, in dialects of every kind, and lines that never carry one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/cut_loss.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Line = std::function<std::string(int step, bool loss)>;

std::vector<std::int64_t> MissingIn(const std::string& text) {
  const auto log = ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text, 1 << 20); }, {});
  EXPECT_TRUE(log.ok()) << log.status();
  std::vector<std::int64_t> steps;
  if (!log.ok()) return steps;
  for (const v1::StepRecord& record : log->records()) {
    EXPECT_FALSE(record.has_loss() && record.loss() > 1e100) << record.ShortDebugString();
    for (const auto& [name, value] : record.metrics()) EXPECT_LT(value, 1e100) << name;
    if (record.loss_absent()) steps.push_back(record.step());
  }
  return steps;
}

// Twenty lines; those of `without` have no loss.
std::vector<std::int64_t> Missing(const Line& line, const std::set<int>& without, const std::string& head = "") {
  std::string text = head;
  for (int step = 1; step <= 20; ++step) text += line(step, !without.contains(step)) + "\n";
  return MissingIn(text);
}

const std::pair<const char*, Line> kDialects[] = {
    {"text",
     [](int s, bool loss) {
       return absl::StrCat("INFO step ", s, "/20 ", loss ? "loss 2.5 " : "", "lr 1e-4 grad_norm 0.5");
     }},
    {"text, a value in brackets behind the loss",
     [](int s, bool loss) {
       return absl::StrCat("step ", s, "/20 | ", loss ? "loss 2.5 (+0.12z)| " : "", "norm 0.5 (+0.3z)| lr 1e-4");
     }},
    {"text, a loss of two words",
     [](int s, bool loss) { return absl::StrCat("[", s, "/20] ", loss ? "Train loss: 2.5, " : "", "lr: 1e-4"); }},
    {"hf",
     [](int s, bool loss) {
       return absl::StrCat("{", loss ? "'loss': 2.5, " : "", "'grad_norm': 0.5", s,
                           ", 'learning_rate': 1e-05, 'epoch': 0.", s + 10, "}");
     }},
    {"jsonl",
     [](int s, bool loss) {
       return absl::StrCat(R"({"step": )", s, loss ? R"(, "loss": 2.5)" : "", R"(, "lr": 0.001})");
     }},
    {"torchtitan",
     [](int s, bool loss) {
       return absl::StrCat("[titan] 2026-01-01 00:00:0", s % 10, ",000 - root - INFO - step: ", s, "  ",
                           loss ? "loss:  8.04910  " : "", "grad_norm:  1.2345  memory:  1.23GiB(1.55%)  tps: 12,345");
     }},
    {"mindformers",
     [](int s, bool loss) {
       return absl::StrCat("2025-07-20 10:00:00,123 - mindformers[callback.py:490] - INFO - { Epoch:[  1/  2], step:[",
                           s, "/   20],", loss ? " loss:[ 2.500/ 2.500]," : "",
                           " per_step_time: 812ms, lr: 1e-05, "
                           "overflow cond: False, loss_scale: 65536.0, global_norm: [0.5]");
     }},
    {"fairseq",
     [](int s, bool loss) {
       return absl::StrCat("2024-01-01 00:00:00 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.1, ",
                           loss ? "\"loss\": \"2.5\", \"nll_loss\": \"2.4\", " : "",
                           "\"wps\": \"1000\", \"num_updates\": \"", s, "\", \"lr\": \"0.001\", \"gnorm\": \"0.5\"}");
     }},
    {"timm",
     [](int s, bool loss) {
       return absl::StrCat("Train: 0 [   ", s, "/20 (  5%)]  ", loss ? "Loss: 6.9 (6.9)  " : "",
                           "Time: 0.393s,  651.30/s  (0.393s,  651.30/s)  LR: 1.000e-06  Data: 0.005 (0.005)");
     }},
    {"verl",
     [](int s, bool loss) {
       return absl::StrCat("step:", s, " - ", loss ? "actor/pg_loss:0.25 - " : "",
                           "actor/grad_norm:0.5 - actor/lr:1e-06 - critic/score/mean:0.31 - training/epoch:0");
     }},
    {"mmengine",
     [](int s, bool loss) {
       return absl::StrCat("2024/01/01 00:00:00 - mmengine - INFO - Iter(train) [  ", s,
                           "/20]  lr: 1.0e-04  eta: 0:10:00  time: 0.2100  data_time: 0.0100  memory: 1234  ",
                           loss ? "loss: 2.5  " : "", "grad_norm: 0.5");
     }},
};

TEST(MissingLoss, AnywhereInEveryDialect) {
  for (const auto& [name, line] : kDialects) {
    EXPECT_THAT(Missing(line, {}), IsEmpty()) << name;
    EXPECT_THAT(Missing(line, {1}), ElementsAre(1)) << name;
    EXPECT_THAT(Missing(line, {10}), ElementsAre(10)) << name;
    EXPECT_THAT(Missing(line, {20}), ElementsAre(20)) << name;
    EXPECT_THAT(Missing(line, {17, 18, 19, 20}), ElementsAre(17, 18, 19, 20)) << name;
  }
}

TEST(MissingLoss, LossesThatArePrintedNowAndThen) {
  for (const auto& [name, line] : kDialects) {
    EXPECT_THAT(Missing(line, {1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20}), IsEmpty()) << name;
    // Every step at first, then every third.
    EXPECT_THAT(Missing(line, {8, 9, 11, 12, 14, 15, 17, 18, 20}), IsEmpty()) << name;
  }
}

TEST(MissingLoss, CaffesLineAlwaysNamesItsLoss) {
  const Line display = [](int s, bool loss) {
    const std::string glog = "I0101 10:00:00.000000  42 ";
    return absl::StrCat(glog, "solver.cpp:218] Iteration ", s, " (8.5 iter/s, 2.5s/20 iters)",
                        loss ? ", loss = 2.5" : "", "\n", glog, "sgd_solver.cpp:105] Iteration ", s, ", lr = 0.25");
  };
  EXPECT_THAT(Missing(display, {}), IsEmpty());
  EXPECT_THAT(Missing(display, {1}), ElementsAre(1));
  EXPECT_THAT(Missing(display, {10, 20}), ElementsAre(10, 20));
}

TEST(MissingLoss, LinesOfAnotherKind) {
  std::string text;
  for (int step = 1; step <= 20; ++step) {
    absl::StrAppend(&text, R"({"step": )", step, R"(, "loss": 2.5, "lr": 0.001, "tps": 100})", "\n");
    if (step % 10 != 0) continue;
    absl::StrAppend(&text, R"({"step": )", step, R"(, "val_loss": 2.6})", "\n", R"({"step": )", step,
                    R"(, "lr": 0.001, "val/ppl": 9.5})", "\n", R"({"epoch": )", step / 10, R"(, "time": 3.5})", "\n");
  }
  EXPECT_THAT(MissingIn(text), IsEmpty());
  std::string hf;
  for (int step = 1; step <= 20; ++step) {
    absl::StrAppend(&hf, "{'loss': 2.5, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': ", step, "}\n");
    absl::StrAppend(&hf, "{'eval_loss': 2.5, 'eval_runtime': 3.1, 'epoch': ", step, "}\n");
  }
  absl::StrAppend(&hf, "{'train_runtime': 9.5, 'train_loss': 2.5, 'epoch': 20}\n");
  EXPECT_THAT(MissingIn(hf), IsEmpty());
}

TEST(CutLoss, PutsBackWhatNamesALossAndNothingElse) {
  CutLoss cut;
  cut.Take("step 7 loss 2.5 lr 0.1 time 3.5");
  EXPECT_EQ(cut.PutBack("step 8 lr 0.2 time 9").value_or(""), "step 8 loss 8.642e+299 lr 0.2 time 9");
  EXPECT_EQ(cut.PutBack("step 8 loss 2.5 lr 0.2"), std::nullopt);       // the time is gone
  EXPECT_EQ(cut.PutBack("step 8 lr 0.2 time 9 more 1"), std::nullopt);  // a line of another kind
  EXPECT_EQ(cut.PutBack("validation 8 lr 0.2 time 9"), std::nullopt);
  EXPECT_EQ(cut.PutBack(""), std::nullopt);
  cut.Take("step 7 lr 0.1 loss=nan");
  EXPECT_EQ(cut.PutBack("step 8 lr nan").value_or(""), "step 8 lr nan loss=8.642e+299");
}

}  // namespace
}  // namespace paritect
