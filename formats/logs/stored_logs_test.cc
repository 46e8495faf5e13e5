// Logs that trackers and loggers store: offline runs, metric files, MLLOG and DLLogger lines, monitor tables.
#include <gtest/gtest.h>
#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "formats/logs/read_log.h"
#include "formats/logs/text_bytes_fixture.h"

namespace paritect {
namespace {

v1::RunLog Read(absl::string_view text, std::size_t chunk = 1 << 20) {
  auto log =
      ReadLog([&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<TextBytes>(text, chunk); },
              LogOptions());
  return log.ok() ? *std::move(log) : v1::RunLog();
}

// "wandb 10:2.5/0.1~0.5@0.9 x=1": step, loss, learning rate, evaluation loss, accuracy, metrics.
std::string Shown(const v1::RunLog& log) {
  return absl::StrCat(log.format(), log.records().empty() ? "" : " ",
                      absl::StrJoin(log.records(), " ", [](std::string* out, const v1::StepRecord& r) {
                        absl::StrAppend(out, r.step_unknown() ? "after " : "", r.step(), ":");
                        if (r.has_loss()) absl::StrAppend(out, FormatDouble(r.loss()));
                        if (r.has_lr()) absl::StrAppend(out, "/", FormatDouble(r.lr()));
                        if (r.has_eval_loss()) absl::StrAppend(out, "~", FormatDouble(r.eval_loss()));
                        if (r.has_accuracy()) absl::StrAppend(out, "@", FormatDouble(r.accuracy()));
                        const std::map<std::string, double> metrics(r.metrics().begin(), r.metrics().end());
                        for (const auto& [name, value] : metrics) {
                          absl::StrAppend(out, " ", name, "=", FormatDouble(value));
                        }
                      }));
}

// The same without metrics.
std::string Plain(v1::RunLog log) {
  for (v1::StepRecord& record : *log.mutable_records()) record.clear_metrics();
  return Shown(log);
}

bool HasNote(const v1::RunLog& log, absl::string_view kind) {
  for (const v1::Note& note : log.notes()) {
    if (note.kind() == kind) return true;
  }
  return false;
}

// ---- wandb

std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

std::string Field(int number, const std::string& bytes) {
  return absl::StrCat(Varint(static_cast<std::uint64_t>(number) << 3 | 2), Varint(bytes.size()), bytes);
}

std::string Row(int step, const std::vector<std::pair<std::string, std::string>>& items) {
  std::string history;
  for (const auto& [key, value] : items) history += Field(1, Field(1, key) + Field(16, value));
  return Field(2, history + Field(2, Varint(1 << 3) + Varint(static_cast<std::uint64_t>(step))));
}

std::string Chunk(char type, const std::string& payload) {
  const std::string checked = std::string(1, type) + payload;
  const auto crc = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(crc >> (8 * i)));
  out.push_back(static_cast<char>(payload.size()));
  out.push_back(static_cast<char>(payload.size() >> 8));
  return out + checked;
}

const std::string kWandbHeader("\x3A\x57\x26\x42\xE1\xBE\0", 7);

std::string Offline(const std::vector<std::string>& records) {
  std::string file = kWandbHeader;
  for (const std::string& record : records) file += Chunk(1, record);
  return file;
}

TEST(Wandb, RowsAndWhatTheyHold) {
  const std::string file =
      Offline({Row(0, {{"train/loss", "2.5"}, {"_runtime", "1.5"}, {"_timestamp", "1.7e9"}}),
               Row(1, {{"train/loss", "NaN"}, {"system/cpu", "55"}}),
               Row(2, {{"train/loss", "\"Infinity\""}, {"eval/accuracy", "0.9"}}),
               Row(3, {{"image", "{\"_type\": \"image\", \"width\": 3}"}}), Row(4, {{"system/gpu.0.temp", "71"}})});
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
    EXPECT_EQ(Plain(Read(file, chunk)), "wandb 0:2.5 1:nan 2:inf@0.9 4:") << chunk;
  }
  EXPECT_EQ(Plain(Read(Offline({Row(2, {{"train", "{\"loss\": 2.25, \"lr\": 0.1}"}, {"eval/accuracy", "0.9"}})}))),
            "wandb 2:2.25/0.1@0.9");
}

TEST(Wandb, TheScriptsOwnStepCounts) {
  EXPECT_EQ(Plain(Read(Offline({Row(7, {{"loss", "2.5"}, {"train/global_step", "100"}})}))), "wandb 100:2.5");
  EXPECT_EQ(Plain(Read(Offline({Row(7, {{"loss", "2.5"}, {"train/global_step", "1e300"}})}))), "wandb 7:2.5");
}

TEST(Wandb, CutAndDamaged) {
  const std::string whole = Offline({Row(1, {{"loss", "2.5"}}), Row(2, {{"loss", "2.25"}})});
  const v1::RunLog cut = Read(whole.substr(0, whole.size() - 3));
  EXPECT_EQ(Plain(cut), "wandb 1:2.5");
  EXPECT_TRUE(cut.incomplete_tail());
  EXPECT_FALSE(HasNote(cut, "damaged"));
  std::string wrong = whole;
  wrong[wrong.size() - 2] ^= 1;
  const v1::RunLog damaged = Read(wrong);
  EXPECT_EQ(Plain(damaged), "wandb 1:2.5");
  EXPECT_TRUE(HasNote(damaged, "damaged"));
  const v1::RunLog room = Read(absl::StrCat(whole, std::string(4096, '\0')));  // laid out, never written
  EXPECT_EQ(Plain(room), "wandb 1:2.5 2:2.25");
  EXPECT_TRUE(room.incomplete_tail());
  EXPECT_FALSE(HasNote(room, "damaged"));
}

TEST(Wandb, ARecordOverTwoBlocks) {
  const std::string big = Row(1, {{"loss", "2.5"}, {"note", absl::StrCat("\"", std::string(40'000, 'x'), "\"")}});
  const std::size_t room = (32 << 10) - kWandbHeader.size() - 7;
  const std::string file = absl::StrCat(kWandbHeader, Chunk(2, big.substr(0, room)), Chunk(4, big.substr(room)),
                                        Chunk(1, Row(2, {{"loss", "2.25"}})));
  EXPECT_EQ(Plain(Read(file)), "wandb 1:2.5 2:2.25");
}

TEST(Wandb, AResumedRunGoesOnOrBack) {
  EXPECT_EQ(Plain(Read(Offline({Row(1, {{"loss", "2.5"}}), Row(2, {{"loss", "2.25"}}), Row(2, {{"loss", "2.125"}}),
                                Row(3, {{"loss", "2"}})}))),
            "wandb 1:2.5 2:2.125 3:2");
}

// ---- MLflow

TEST(Mlflow, MetricFiles) {
  EXPECT_EQ(Shown(Read("1700000000000 2.5 0\n1700000000100 nan 1\n1700000000200 -inf 2\n")),
            "mlflow 0: value=2.5 1: value=nan 2: value=-inf");
  EXPECT_EQ(Shown(Read("1700000000000 2.5 0 data 0f3a\n1700000000100 2.25 1 data 0f3a\n")),
            "mlflow 0: value=2.5 1: value=2.25");
  const v1::RunLog cut = Read("1700000000000 2.5 0\n1700000000100 2.25 1\n17000000002");
  EXPECT_EQ(cut.records_size(), 2);
  EXPECT_TRUE(cut.incomplete_tail());
}

// ---- MLLOG

std::string Mllog(absl::string_view key, absl::string_view value, absl::string_view metadata) {
  return absl::StrCat(
      "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"POINT_IN_TIME\", \"key\": \"", key,
      "\", \"value\": ", value, ", \"metadata\": {\"file\": \"a.py\", \"lineno\": 1", metadata, "}}\n");
}

TEST(Mllog, MetricsAndEnd) {
  const std::string log = absl::StrCat(
      Mllog("global_batch_size", "256", ""), Mllog("train_loss", "2.5", ", \"step_num\": 10"),
      Mllog("eval_accuracy", "0.5", ", \"step_num\": 20, \"epoch_num\": 1"),
      Mllog("eval_accuracy", "NaN", ", \"step_num\": 30"), Mllog("eval_loss", "1.5", ", \"samples_count\": 1e300"),
      Mllog("run_stop", "null", ", \"status\": \"success\""));
  const v1::RunLog read = Read(log);
  EXPECT_EQ(Shown(read), "mllog 10:2.5 20:@0.5 30:@nan after 30:~1.5");
  EXPECT_EQ(read.end().state(), v1::RunEnd::STATE_FINISHED);
  EXPECT_EQ(Read(absl::StrCat(log, "Traceback (most recent call last):\n")).end().state(), v1::RunEnd::STATE_ABORTED);
  EXPECT_EQ(
      Read(Mllog("eval_accuracy", "0.5", ", \"step_num\": 20") + ":::MLLOG {\"key\": \"eval_acc\n").unparsed_total(),
      1);
}

// ---- DLLogger

std::string Dlll(absl::string_view step, absl::string_view data) {
  return absl::StrCat(
      "DLLL {\"timestamp\": \"1.0\", \"datetime\": \"2030-01-01\", \"elapsedtime\": \"1\", \"type\": \"LOG\", "
      "\"step\": ",
      step, ", \"data\": {", data, "}}\n");
}

TEST(Dllogger, Places) {
  // Iterations within epochs; a validation's iteration is none of training, a whole epoch and the summary are results.
  const std::string log = absl::StrCat(
      Dlll("[0, 1]", "\"train.loss\": 2.5, \"lr\": 0.1"), Dlll("[0, 2]", "\"train.loss\": 2.25, \"lr\": 0.1"),
      Dlll("[0, 2, 5]", "\"loss\": 9.0"), Dlll("[0]", "\"train.loss\": 2.375, \"val.loss\": 2.5, \"val.top1\": 55.5"),
      Dlll("[1, 1]", "\"train.loss\": 2.0, \"lr\": 0.1"), Dlll("[]", "\"val.top1\": 60.5"));
  const v1::RunLog read = Read(log);
  ASSERT_EQ(read.records_size(), 3) << Shown(read);
  EXPECT_EQ(read.records(0).step(), 1);
  EXPECT_EQ(read.records(1).step(), 2);
  EXPECT_EQ(read.records(1).loss(), 2.25);
  EXPECT_EQ(read.records(1).accuracy(), 55.5);
  EXPECT_EQ(read.records(1).eval_loss(), 2.5);
  EXPECT_EQ(read.records(2).step(), 3);
  EXPECT_EQ(read.records(2).loss(), 2);
  EXPECT_EQ(read.records(2).accuracy(), 60.5);
  EXPECT_FALSE(read.records(2).accuracy_of_training());
}

TEST(Dllogger, PlacesOfThreeNumbersAreOfTrainingWhereNoneHasTwo) {
  std::string log;
  for (int i = 1; i <= 3; ++i) absl::StrAppend(&log, Dlll(absl::StrCat("[0, ", i, ", 3]"), "\"train.loss\": 2.5"));
  const v1::RunLog read = Read(log);
  ASSERT_EQ(read.records_size(), 3) << Shown(read);
  EXPECT_EQ(read.records(2).step(), 3);
  EXPECT_EQ(read.records(2).loss(), 2.5);
}

TEST(Dllogger, StepsOfTheWholeRun) {
  EXPECT_EQ(
      Shown(Read(absl::StrCat(Dlll("10", "\"loss\": 2.5"), Dlll("20", "\"loss\": NaN"), Dlll("30", "\"power\": 250")))),
      "dllogger 10:2.5 20:nan 30: power=250");
  EXPECT_EQ(
      Read(absl::StrCat(Dlll("10", "\"loss\": 2.5"), "DLLL {\"step\": 20, \"data\": {\"loss\": 2\n")).unparsed_total(),
      1);
  EXPECT_EQ(Read(absl::StrCat(Dlll("10", "\"loss\": 2.5"), Dlll("1e300", "\"loss\": 2.5"))).records_size(), 1);
}

// ---- msprobe

TEST(MsprobeMonitor, Tables) {
  EXPECT_EQ(
      Shown(Read("vpp_stage,name,step,norm,nans\n0,a.weight,1,2.5,0\n0,b.weight,1,nan,3\n0,a.weight,2,,0\n")),
      "msprobe-monitor 1: a.weight/nans=0 a.weight/norm=2.5 b.weight/nans=3 b.weight/norm=nan 2: a.weight/nans=0");
  // Accumulated batches of one step are no repeats of it.
  const v1::RunLog micro = Read("vpp_stage,name,step,micro_step,norm\n0,a,1,0,2.5\n0,a,1,1,3.5\n0,a,2,0,2.25\n");
  EXPECT_EQ(Shown(micro), "msprobe-monitor 1: a/micro_step_1/norm=3.5 a/norm=2.5 2: a/norm=2.25");
  EXPECT_FALSE(HasNote(micro, "interleaved_writers"));
  const v1::RunLog cut = Read("vpp_stage,name,step,norm\n0,a,1,2.5\n0,a,2\n0,a,3,2.");
  EXPECT_EQ(Shown(cut), "msprobe-monitor 1: a/norm=2.5");
  EXPECT_EQ(cut.unparsed_total(), 1);
  EXPECT_TRUE(cut.incomplete_tail());
}

// ---- JSON Lines

TEST(JsonLines, StepsThatCannotBeCounted) {
  const v1::RunLog log = Read(
      "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 1e19, \"loss\": 2.25}\n{\"step\": \"１０\", \"loss\": 2.25}\n"
      "{\"step\": 2.5, \"loss\": 2.25}\n");
  EXPECT_EQ(Shown(log), "jsonl 1:2.5");
  EXPECT_EQ(log.unparsed_total(), 3);
}

TEST(JsonLines, RepeatedKeysAndTwoSteps) {
  const v1::RunLog log = Read("{\"step\": 1, \"loss\": 2.5, \"loss\": 2.25}\n{\"step\": 2, \"loss\": 2.5}\n");
  EXPECT_EQ(Shown(log), "jsonl 1:2.25 2:2.5");
  EXPECT_TRUE(HasNote(log, "repeated_keys"));
  EXPECT_EQ(Shown(Read("{\"epoch\": 1, \"step\": 1, \"global_step\": 11, \"loss\": 2.5}\n"
                       "{\"epoch\": 1, \"global_step\": 12, \"step\": 2, \"loss\": 2.25}\n")),
            "jsonl 11:2.5 12:2.25");
}

TEST(JsonLines, ScalesThatAreNoNumbers) {
  const v1::RunLog log = Read(
      "{\"step\": 1, \"loss\": 2.5, \"loss_scale\": Infinity}\n"
      "{\"step\": 2, \"loss\": 2.5, \"loss_scale\": NaN}\n");
  ASSERT_EQ(log.records_size(), 2);
  EXPECT_EQ(FormatDouble(log.records(0).loss_scale()), "inf");
  EXPECT_EQ(FormatDouble(log.records(1).loss_scale()), "nan");
}

}  // namespace
}  // namespace paritect
