#include "formats/logs/live_log.h"

#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"

namespace paritect {
namespace {

std::string Show(const std::vector<v1::StepRecord>& records) {
  return absl::StrJoin(records, " ", [](std::string* out, const v1::StepRecord& r) {
    absl::StrAppend(out, r.step_unknown() ? "after " : "", r.step(), ":");
    if (r.has_loss()) absl::StrAppend(out, FormatDouble(r.loss()));
    if (r.overflow()) absl::StrAppend(out, "!");
    if (r.skipped() > 0) absl::StrAppend(out, "-", r.skipped());
    if (r.has_eval_loss()) absl::StrAppend(out, "~", FormatDouble(r.eval_loss()));
  });
}

std::string FeedAndTake(LiveLog& log, absl::string_view text) {
  EXPECT_TRUE(log.Feed(text).ok());
  return Show(log.Take());
}

std::string Megatron(int step, double loss) {
  return absl::StrCat(" iteration ", step, "/ 100 | consumed samples: ", step * 8, " | lm loss: ", loss,
                      " | number of skipped iterations: 0 |\n");
}

TEST(LiveLog, GivesRecordsAsTheirLinesEnd) {
  LiveLog log;
  EXPECT_EQ(FeedAndTake(log, "starting\nstill starting\n"), "");
  EXPECT_EQ(log.format(), "");
  const std::string line = Megatron(1, 2.5);
  EXPECT_EQ(FeedAndTake(log, line.substr(0, 30)), "");
  EXPECT_EQ(FeedAndTake(log, line.substr(30)), "1:2.5");
  EXPECT_EQ(log.format(), "megatron");
  EXPECT_EQ(FeedAndTake(log, ""), "");
  EXPECT_EQ(FeedAndTake(log, absl::StrCat(Megatron(2, 2.25), Megatron(3, 2.0))), "2:2.25 3:2");
}

TEST(LiveLog, GivesARecordAgainThatALaterLineAddsTo) {
  LiveLog log;
  EXPECT_EQ(FeedAndTake(log, "{\"step\": 10, \"loss\": 2.5}\n"), "10:2.5");
  EXPECT_EQ(FeedAndTake(log, "{\"step\": 10, \"eval_loss\": 3}\n"), "10:2.5~3");
  EXPECT_EQ(FeedAndTake(log, "{\"step\": 20, \"loss\": 2}\n"), "20:2");
}

TEST(LiveLog, TakesTheDialectOnceItShows) {
  LiveLog log;
  EXPECT_EQ(FeedAndTake(log, "step 1 loss 9.5\n"), "1:9.5");
  EXPECT_EQ(log.format(), "text");
  EXPECT_EQ(FeedAndTake(log, Megatron(1, 9.5)), "1:9.5");
  EXPECT_EQ(log.format(), "megatron");
}

TEST(LiveLog, CountersAndEpochStepsAreSettledAtOnce) {
  LiveLog log;
  EXPECT_EQ(FeedAndTake(log, "[Rank 0] step=10, skipped=2, lr=[0.1], mom=[0]\n"), "10:-2");
  EXPECT_EQ(FeedAndTake(log, "[Rank 0] step=20, skipped=2, lr=[0.1], mom=[0]\n"), "20:");
  EXPECT_EQ(FeedAndTake(log, "[Rank 0] step=30, skipped=5, lr=[0.1], mom=[0]\n"), "30:-3");
  LiveLog epochs;
  EXPECT_EQ(FeedAndTake(epochs, "Epoch: [0][1/3] Loss 3.0\nEpoch: [0][2/3] Loss 2.5\n"), "1:3 2:2.5");
  EXPECT_EQ(FeedAndTake(epochs, "Epoch: [1][0/3] Loss 2.25\n"), "3:2.25");
}

TEST(LiveLog, ARestartGoesBack) {
  LiveLog log;
  EXPECT_EQ(FeedAndTake(log, absl::StrCat(Megatron(1, 2.5), Megatron(2, 2.25))), "1:2.5 2:2.25");
  EXPECT_EQ(FeedAndTake(log, absl::StrCat("resuming from iteration 1\n", Megatron(2, 2.125))), "2:2.125");
}

TEST(LiveLog, ANewFileDropsTheOpenLine) {
  LiveLog log;
  EXPECT_EQ(FeedAndTake(log, absl::StrCat(Megatron(1, 2.5), " iteration 2/ 100 | consumed")), "1:2.5");
  log.StartNewFile();
  EXPECT_EQ(FeedAndTake(log, Megatron(3, 2.0)), "3:2");
}

TEST(LiveLog, LineNumbersCountFromTheBeginOfTheFile) {
  LiveLog log;
  std::string chatter;
  for (int i = 0; i < 60'000; ++i) chatter += "nothing to tell in this line, as often\n";
  EXPECT_EQ(FeedAndTake(log, chatter), "");
  ASSERT_TRUE(log.Feed(Megatron(1, 2.5)).ok());
  const std::vector<v1::StepRecord> records = log.Take();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].line(), 60'001);
}

TEST(LiveLog, SaysWhatIsWrongWithItsOptions) {
  LogOptions options;
  options.format = "no-such-format";
  LiveLog log(options);
  EXPECT_EQ(log.Feed("step 1 loss 2\n").code(), absl::StatusCode::kInvalidArgument);
}

// However the bytes come, the records are those of the whole file.
TEST(LiveLog, TheCutOfTheBytesDoesNotMatter) {
  std::string text;
  for (int step = 1; step <= 300; ++step) {
    text += absl::StrCat("[rank0]: some chatter ", step, "\n", Megatron(step, 3.0 - step * 0.0078125));
  }
  for (const std::size_t piece : {1, 7, 100, 5000, 1 << 20}) {
    LiveLog log;
    std::map<std::int64_t, double> seen;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(log.Feed(absl::string_view(text).substr(at, piece)).ok());
      if (at % 3 != 0) continue;
      for (const v1::StepRecord& record : log.Take()) seen[record.step()] = record.loss();
    }
    for (const v1::StepRecord& record : log.Take()) seen[record.step()] = record.loss();
    ASSERT_EQ(seen.size(), 300u) << piece;
    EXPECT_EQ(seen[300], 3.0 - 300 * 0.0078125);
  }
}

}  // namespace
}  // namespace paritect
