#include "formats/logs/machinery/segment_merger.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paritect {
namespace {

class SegmentMergerTest : public testing::Test {
 protected:
  void Add(std::int64_t step, double loss, std::int32_t rank = 0) {
    LogRecord record;
    record.has_step = true;
    record.values.set_step(step);
    record.values.set_loss(loss);
    record.values.set_rank(rank);
    record.values.set_line(static_cast<std::int64_t>(entries_.size()) + 1);
    entries_.push_back(std::move(record));
  }
  void Resumes(std::optional<std::int64_t> step) { markers_.push_back({entries_.size(), true, step, 0}); }
  void Banner() { markers_.push_back({entries_.size(), false, std::nullopt, 0}); }

  // "step:loss step:loss | first-last ... | note ..." as they stand afterwards.
  std::string Merged() {
    std::vector<bool> dropped(entries_.size(), false);
    std::vector<std::string> notes, records, segments;
    SegmentMerger merger(entries_, markers_, dropped,
                         [&](absl::string_view kind, std::int64_t, const std::string&) { notes.emplace_back(kind); });
    for (const v1::Segment& one : merger.Merge()) segments.push_back(absl::StrCat(one.first(), "-", one.last()));
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!dropped[i]) records.push_back(absl::StrCat(entries_[i].values.step(), ":", entries_[i].values.loss()));
    }
    return absl::StrCat(absl::StrJoin(records, " "), " | ", absl::StrJoin(segments, " "), " | ",
                        absl::StrJoin(notes, " "));
  }

  RecordList<LogRecord> entries_;
  std::vector<RestartMarker> markers_;
};

TEST_F(SegmentMergerTest, M3TwiceInARowTheLaterCounts) {
  for (const int step : {1, 2, 3, 4, 5}) Add(step, step);
  Add(5, 50);
  Add(6, 6);
  EXPECT_EQ(Merged(), "1:1 2:2 3:3 4:4 5:50 6:6 | 1-6 | steps_replaced");
}

TEST_F(SegmentMergerTest, M4TheRunGoesOnWhereItSays) {
  for (const int step : {1, 2, 3}) Add(step, step);
  Resumes(2);
  for (const int step : {1, 2}) Add(step, 10 + step);
  EXPECT_EQ(Merged(), "1:1 2:2 3:11 4:12 | 1-3 3-4 | resumed steps_replaced");
}

TEST_F(SegmentMergerTest, M5ABannerBeforeACounterThatBeginsAnew) {
  for (const int step : {1, 2}) Add(step, step);
  Banner();
  for (const int step : {1, 2}) Add(step, 10 + step);
  EXPECT_EQ(Merged(), "1:1 2:2 1:11 2:12 | 1-2 1-2 | two_runs_in_one_file");
}

TEST_F(SegmentMergerTest, M6WithoutAWordNothingIsMerged) {
  for (const int step : {1, 2, 1, 2}) Add(step, static_cast<double>(entries_.size()));
  EXPECT_EQ(Merged(), "1:0 2:1 1:2 2:3 | 1-2 1-2 | step_reset");
}

TEST_F(SegmentMergerTest, M7AnEarlierStepReplacesAndTellsOfWhatWasNoNumber) {
  for (const int step : {1, 2}) Add(step, step);
  Add(3, std::numeric_limits<double>::quiet_NaN());
  Add(2, 20);
  Add(3, 30);
  EXPECT_EQ(Merged(), "1:1 2:20 3:30 | 1-3 2-3 | resumed loss_rolled_back steps_replaced");
}

TEST_F(SegmentMergerTest, M8TwoWritersStayAsTheyStand) {
  for (int i = 0; i < 4; ++i) {
    Add(100 + i, 1);
    Add(10 + i, 2);
  }
  EXPECT_EQ(Merged(), "100:1 10:2 101:1 11:2 102:1 12:2 103:1 13:2 | 100-103 | interleaved_writers");
}

TEST_F(SegmentMergerTest, M9TheLongestWriterTellsOfTheSegments) {
  for (const int step : {1, 2, 3}) Add(step, step, 0);
  for (const int step : {2, 1}) Add(step, step, 1);
  EXPECT_EQ(Merged(), "1:1 2:2 3:3 2:2 1:1 | 1-3 | ");
}

}  // namespace
}  // namespace paritect
