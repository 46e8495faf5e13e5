#include "formats/logs/machinery/line_form.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

std::string ReadToText(const std::string& text, absl::string_view format, bool every_line_anew) {
  LogOptions options;
  options.format = std::string(format);
  options.every_line_anew = every_line_anew;
  auto log = ReadLog([&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text); },
                     options);
  return log.ok() ? log->DebugString() : log.status().ToString();
}

// Lines as frameworks print them; '#' stands for a number that differs from line to line.
constexpr absl::string_view kLines[] = {
    " [2026-08-20 10:11:#.123456] iteration @/  5000 | consumed samples: # | elapsed time per iteration (ms): # | "
    "learning rate: # | global batch size: # | lm loss: # | load_balancing_loss: # | loss scale: # | grad norm: # | "
    "number of skipped iterations: # | number of nan iterations: # |",
    " validation loss at iteration @ | lm loss value: # | lm loss PPL: # |",
    "step @ loss # lr #",
    "step: @/5000, loss: #, acc: #, time #ms, lr=#",
    "Epoch: [1][@/5000] Time # (#) Loss # (#) Acc@1 # (#) Acc@5 #",
    "Train Epoch: 1 [@/60000 (1%)] Loss: #",
    "[eval] step @ loss # accuracy #",
    "epoch 1 step @ total loss = # grad_norm # rank #",
    "{\"step\": @, \"loss\": #, \"lr\": #, \"time\": \"10:11:#\", \"acc1\": #}",
    "{\"step\": @, \"eval_loss\": \"#\", \"data\": {\"x1\": #}}",
    "{\"current_steps\": @, \"total_steps\": 5000, \"loss\": #, \"lr\": #, \"epoch\": #, \"elapsed_time\": \"0:00:#\"}",
    "{ Epoch:[  1/  2], step:[ @/ 5000], loss:[#/ #], per_step_time: #ms, lr: #, overflow cond: False, loss_scale: #, "
    "global_norm: [#]",
    "[2024-03-03 18:06:33,#] [    INFO] - loss: #, learning_rate: #, global_step: @, interval_runtime: #, "
    "progress_or_epoch: #",
    "[titan] step:  @  loss:  #  grad_norm:  #  memory: #GiB(#%)  tps: #  mfu: #%",
    "iter @: loss #, time #ms, mfu #%",
    "[rank0]: step @ loss # lr #",
    "{'loss': #, 'grad_norm': #, 'learning_rate': #, 'epoch': #}",
    "{'loss': '#', 'learning_rate': '#', 'epoch': '#'}",
    "{'eval_loss': #, 'eval_runtime': #, 'epoch': #}",
    " 66%|###   | @/1352 [05:32<01:07, #s/it]{'loss': #, 'grad_norm': #, 'learning_rate': #, 'epoch': #}",
    "some words # and nothing else",
};

class Text {
 public:
  explicit Text(unsigned seed) : random_(seed) {}

  std::size_t Below(std::size_t n) { return random_() % n; }

  std::string Number() {
    static constexpr const char* kOdd[] = {
        "nan",   "-inf",  "1,234.5", "2,3",  "1.2.3",  "5.",          ".5",
        "1_000", "0x1p3", "1e400",   "--2",  "2.3e",   "N/A",         "None",
        "-0",    "007",   "12K",     "3.5%", "1e-320", "tensor(2.5)", "9007199254740993.25",
        ""};
    switch (Below(12)) {
      case 0: return kOdd[Below(std::size(kOdd))];
      case 1: return absl::StrCat(static_cast<int>(Below(100)) - 50);
      case 2: return absl::StrFormat("%.6E", static_cast<double>(random_()) / 7e8);
      case 3: return absl::StrFormat("%.17g", static_cast<double>(random_()) / 7e11);
      case 4: return absl::StrFormat("%12.3f", static_cast<double>(random_()) / 7e8);
      case 5: return absl::StrCat(random_(), random_(), ".", random_());
      default: return absl::StrFormat("%.4f", static_cast<double>(random_()) / 7e8);
    }
  }

  std::string Line(absl::string_view form, int step) {
    std::string out;
    for (const char c : form) {
      if (c == '#') {
        out += Number();
      } else if (c == '@') {
        out += Below(40) == 0 ? Number() : absl::StrFormat("%*d", static_cast<int>(Below(9)), step);
      } else {
        out.push_back(c);
      }
    }
    while (Below(20) == 0 && !out.empty()) {  // a byte goes, comes or changes
      const std::size_t at = Below(out.size());
      static constexpr absl::string_view kBytes = "0123456789.-+eE,:|/[]{}\"' xX_@%";
      const char c = kBytes[Below(kBytes.size())];
      switch (Below(3)) {
        case 0: out.erase(at, 1); break;
        case 1: out.insert(at, 1, c); break;
        default: out[at] = c;
      }
    }
    return out + "\n";
  }

 private:
  std::mt19937 random_;
};

// Whatever numbers and damage the lines hold, the short cut changes nothing.
TEST(LineForms, GiveWhatReadingEveryLineAnewGives) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Text text(seed);
    const absl::string_view forms[] = {kLines[text.Below(std::size(kLines))], kLines[text.Below(std::size(kLines))]};
    std::string log;
    for (int step = 1; step <= 200; ++step) log += text.Line(forms[text.Below(4) == 0], step);
    for (const absl::string_view format : {"", "text", "jsonl", "megatron"}) {
      ASSERT_EQ(ReadToText(log, format, false), ReadToText(log, format, true)) << format << "\n" << log;
    }
  }
}

TEST(LineForms, AreKnownAgain) {
  LineFields fields;
  const std::string first = "step   9 loss 2.5 (acc1 7)";
  fields.Add(0, ReadLogNumber(absl::string_view(first).substr(5)));
  fields.Add(1, ReadLogNumber(absl::string_view(first).substr(14)));
  auto form = LineForm::Learn(first, fields);
  ASSERT_NE(form, nullptr);
  const LineFields* found = form->Match("step 1000 loss -1.25E-02 (acc1 12)");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->values[0].number.value, 1000);
  EXPECT_EQ(found->values[1].number.value, -0.0125);
  EXPECT_EQ(found->values[1].number.text, "-1.25E-02");
  // A digit of a word is text, so is every other spelling of a number.
  EXPECT_EQ(form->Match("step 1000 loss 2.5 (acc5 12)"), nullptr);
  EXPECT_EQ(form->Match("step 1000 loss nan (acc1 12)"), nullptr);
  EXPECT_EQ(form->Match("step 1000 loss 1,000.5 (acc1 12)"), nullptr);
  EXPECT_EQ(form->Match("step 1000 loss 2.5. (acc1 12)"), nullptr);
  EXPECT_EQ(form->Match("step1000 loss 2.5 (acc1 12)"), nullptr);
  EXPECT_EQ(form->Match("step 1000 loss 2.5 (acc1 12) more"), nullptr);
  EXPECT_EQ(form->Match("step 1000 loss 2.5 (acc1"), nullptr);
  EXPECT_EQ(form->Match(""), nullptr);
}

TEST(LineForms, OddSpellingsHaveNoForm) {
  for (const std::string line : {"loss 1,234.5", "loss 0x1p3", "loss 12K", "loss 2.3."}) {
    LineFields fields;
    fields.Add(0, ReadLogNumber(absl::string_view(line).substr(5)));
    EXPECT_EQ(LineForm::Learn(line, fields), nullptr) << line;
  }
  EXPECT_EQ(LineForm::Learn("no number", {}), nullptr);
}

// The quick reading of a plain number gives the same double as the careful one.
TEST(LogNumbers, PlainNumbersAreExact) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double value = static_cast<double>(random()) * std::pow(10.0, static_cast<int>(random() % 60) - 40);
    for (const char* form : {"%.6E", "%.3f", "%.17g", "%.9g", "%.0f", "%.20e"}) {
      char text[400];
      std::snprintf(text, sizeof(text), form, value);
      LogNumber number;
      if (ReadPlainLogNumber(text, number) != std::strlen(text)) continue;
      const LogNumber careful = ReadLogNumber(text);
      ASSERT_EQ(number.value, careful.value) << text;
      ASSERT_EQ(number.resolution, careful.resolution) << text;
      ASSERT_EQ(number.text, text);
    }
  }
}

}  // namespace
}  // namespace paritect
