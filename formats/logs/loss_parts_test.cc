// Logs that print parts of the loss and not the whole: which records have a loss, in lines, rows and event series.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "formats/logs/machinery/series_table.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::RunLog Read(const std::string& text) {
  const auto log = ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text, 1 << 20); }, {});
  EXPECT_TRUE(log.ok()) << log.status();
  return log.ok() ? *log : v1::RunLog();
}

// "2.75*17 - absent 2.75*2": the losses in order, equal ones together; "-": none, "absent": none and said to be
// missing.
std::string Losses(const v1::RunLog& log) {
  std::vector<std::pair<std::string, int>> rows;
  for (const v1::StepRecord& record : log.records()) {
    const std::string one = record.has_loss() ? FormatDouble(record.loss()) : record.loss_absent() ? "absent" : "-";
    if (rows.empty() || rows.back().first != one) rows.emplace_back(one, 0);
    ++rows.back().second;
  }
  return absl::StrJoin(rows, " ", [](std::string* out, const auto& row) {
    absl::StrAppend(out, row.first, row.second > 1 ? absl::StrCat("*", row.second) : "");
  });
}

std::string NoteOf(const v1::RunLog& log, absl::string_view kind) {
  for (const v1::Note& note : log.notes()) {
    if (note.kind() == kind) return note.message();
  }
  return "";
}

std::vector<std::string> TermsOf(const v1::RunLog& log) {
  std::vector<std::string> terms;
  for (const v1::Note& note : log.notes()) {
    if (note.kind() == "loss_term") terms.push_back(note.message());
  }
  return terms;
}

// Which of a step's three terms are told.
using Told = std::function<std::string(int step, int term)>;

std::string All(int, int term) {
  return term == 0 ? "1.5" : term == 1 ? "0.75" : "0.5";
}

constexpr const char* kTerms[] = {"box_loss", "cls_loss", "dfl_loss"};

std::string Lines(const Told& told) {
  std::string text;
  for (int step = 1; step <= 20; ++step) {
    absl::StrAppend(&text, "step ", step, "/20");
    for (int term = 0; term < 3; ++term) {
      const std::string value = told(step, term);
      if (!value.empty()) absl::StrAppend(&text, " ", kTerms[term], "=", value);
    }
    absl::StrAppend(&text, " lr=0.001\n");
  }
  return text;
}

std::string Table(const Told& told) {
  std::string text = "epoch,train/box_loss,train/cls_loss,train/dfl_loss,val/box_loss,lr/pg0\n";
  for (int step = 1; step <= 20; ++step) {
    absl::StrAppend(&text, step, ",", told(step, 0), ",", told(step, 1), ",", told(step, 2), ",0.25,0.001\n");
  }
  return text;
}

std::string JsonRows(const Told& told) {
  std::string text;
  for (int step = 1; step <= 20; ++step) {
    absl::StrAppend(&text, R"({"step": )", step);
    for (int term = 0; term < 3; ++term) {
      const std::string value = told(step, term);
      if (!value.empty()) absl::StrAppend(&text, R"(, "train/)", kTerms[term], R"(": )", value);
    }
    absl::StrAppend(&text, ", \"lr\": 0.001}\n");
  }
  return text;
}

v1::RunLog Series(const Told& told) {
  SeriesTable table;
  for (int step = 1; step <= 20; ++step) {
    for (int term = 0; term < 3; ++term) {
      const std::string value = told(step, term);
      if (!value.empty()) table.Add(step, absl::StrCat("train/", kTerms[term]), ParseDouble(value).value_or(0));
    }
    table.Add(step, "lr/pg0", 0.001);
  }
  RunLogBuilder out;
  table.Finish(out);
  return out.Build("tensorboard");
}

const std::pair<const char*, std::function<v1::RunLog(const Told&)>> kForms[] = {
    {"lines", [](const Told& told) { return Read(Lines(told)); }},
    {"table", [](const Told& told) { return Read(Table(told)); }},
    {"rows", [](const Told& told) { return Read(JsonRows(told)); }},
    {"series", [](const Told& told) { return Series(told); }},
};

// All but those of `steps`, which lack the terms from `first` on.
Told Without(std::set<int> steps, int first) {
  return [steps = std::move(steps), first](int step, int term) {
    return steps.contains(step) && term >= first ? "" : All(step, term);
  };
}

TEST(LossParts, TheSumOfAllTermsIsTheLoss) {
  for (const auto& [form, read] : kForms) {
    const v1::RunLog log = read(All);
    EXPECT_EQ(Losses(log), "2.75*20") << form;
    EXPECT_THAT(TermsOf(log), ElementsAre("box_loss", "cls_loss", "dfl_loss")) << form;
    EXPECT_NE(NoteOf(log, "loss_is_sum"), "") << form;
    EXPECT_EQ(NoteOf(log, "loss_term_missing"), "") << form;
  }
}

TEST(LossParts, AStepThatLacksATermHasNoLoss) {
  for (const auto& [form, read] : kForms) {
    for (int first : {1, 2}) {
      EXPECT_EQ(Losses(read(Without({10}, first))), "2.75*9 absent 2.75*10") << form << first;
      EXPECT_EQ(Losses(read(Without({1}, first))), "absent 2.75*19") << form << first;
      EXPECT_EQ(Losses(read(Without({19, 20}, first))), "2.75*18 absent*2") << form << first;
      EXPECT_THAT(NoteOf(read(Without({10, 12}, first)), "loss_term_missing"), HasSubstr("2 steps")) << form << first;
    }
    // All of them are gone.
    EXPECT_EQ(Losses(read(Without({10}, 0))), "2.75*9 absent 2.75*10") << form;
  }
}

TEST(LossParts, ATermThatIsPrintedNowAndThen) {
  const auto every_fifth = [](int step, int term) { return term == 2 && step % 5 != 0 ? "" : All(step, term); };
  const auto late = [](int step, int term) { return term == 2 && step <= 8 ? "" : All(step, term); };
  for (const auto& [form, read] : kForms) {
    const v1::RunLog log = read(every_fifth);
    EXPECT_EQ(Losses(log), "-*4 2.75 -*4 2.75 -*4 2.75 -*4 2.75") << form;
    EXPECT_THAT(NoteOf(log, "loss_term_missing"), HasSubstr("16 steps")) << form;
    EXPECT_EQ(Losses(read(late)), "-*8 2.75*12") << form;
  }
}

TEST(LossParts, ATermThatIsNoNumber) {
  const auto nan = [](int step, int term) { return step == 10 && term == 2 ? "nan" : All(step, term); };
  const auto null = [](int step, int term) { return step == 10 && term == 2 ? "null" : All(step, term); };
  // As JSON writes it.
  const auto json_nan = [](int step, int term) { return step == 10 && term == 2 ? "NaN" : All(step, term); };
  EXPECT_EQ(Losses(Read(Lines(nan))), "2.75*9 nan 2.75*10");
  EXPECT_EQ(Losses(Read(Table(nan))), "2.75*9 nan 2.75*10");
  EXPECT_EQ(Losses(Read(JsonRows(json_nan))), "2.75*9 nan 2.75*10");
  EXPECT_EQ(Losses(Series(nan)), "2.75*9 nan 2.75*10");
  EXPECT_EQ(Losses(Read(Lines(null))), "2.75*9 absent 2.75*10");
  EXPECT_EQ(Losses(Read(Table(null))), "2.75*9 absent 2.75*10");
  EXPECT_EQ(Losses(Read(JsonRows(null))), "2.75*9 absent 2.75*10");
}

TEST(LossParts, RowsOfOneStepAddUp) {
  std::string text = "step,epoch,train/box_loss,train/cls_loss\n";
  for (int step = 1; step <= 20; ++step) {
    absl::StrAppend(&text, step, ",0,1.5,\n", step, ",0,,0.75\n");
  }
  EXPECT_EQ(Losses(Read(text)), "2.25*20");
}

TEST(LossParts, ALoneLossThatStandsBesideOthersElsewhereIsNotTheLoss) {
  const auto lines = [](const std::function<std::string(int)>& more) {
    std::string text;
    for (int step = 1; step <= 20; ++step) {
      absl::StrAppend(&text, "step ", step, "/20 policy_loss=0.5", more(step), " lr=0.001\n");
    }
    return text;
  };
  EXPECT_EQ(Losses(Read(lines([](int) { return ""; }))), "0.5*20");
  EXPECT_EQ(Losses(Read(lines([](int step) { return step == 10 ? "" : " value_loss=0.25"; }))), "-*20");
  EXPECT_EQ(Losses(Read(lines([](int step) { return step == 10 ? " value_loss=0.25" : ""; }))), "-*20");
  EXPECT_THAT(TermsOf(Read(lines([](int) { return " value_loss=0.25"; }))), IsEmpty());
}

TEST(LossParts, PartsOfAnEvaluationAreNone) {
  std::string text = Lines(All);
  absl::StrAppend(&text, "Validation: step 20 box_loss=9.5 cls_loss=8.5\n");
  const v1::RunLog log = Read(text);
  EXPECT_EQ(Losses(log), "2.75*20");
  for (const v1::StepRecord& record : log.records()) EXPECT_FALSE(record.has_eval_loss()) << record.ShortDebugString();
}

}  // namespace
}  // namespace paritect
