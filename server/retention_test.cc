#include "server/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/time/clock.h"
#include "common/digest.h"
#include "paritect/v1/fleet.pb.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RetentionTest : public ::testing::Test {
 protected:
  void Put(const std::string& collection, const std::string& key, const google::protobuf::Message& message) {
    ASSERT_TRUE(CommitOne(*store_, Documents({{collection, key, message.SerializeAsString()}})).ok());
  }
  void PutRun(const std::string& audit, int number, std::int64_t ended, const std::string& task) {
    v1::AuditRun run;
    run.set_audit(audit);
    run.set_number(number);
    run.set_ended_unix_ms(ended);
    run.add_tasks()->set_task_id(task);
    const std::string key = absl::StrCat(audit, "/", number);
    Put("audit_run", key, run);
    Put("report", key, run);
    PutTask(task, ended);
  }
  void PutTask(const std::string& task, std::int64_t at) {
    v1::TaskEnd end;
    end.set_task_id(task);
    end.set_collected_at_unix_ms(at);
    Put("task_end", TaskEndKey(task, "n"), end);
    v1::Piece piece;
    piece.set_task_id(task);
    Put("piece", PieceKey({task, "n", 1, 1}, 0), piece);
  }
  std::vector<std::string> Keys(const std::string& collection) {
    std::vector<std::string> keys;
    EXPECT_TRUE(store_
                    ->Scan(collection, "", "",
                           [&](absl::string_view key, absl::string_view) {
                             keys.emplace_back(key);
                             return true;
                           })
                    .ok());
    return keys;
  }
  const std::unique_ptr<FleetStore> store_ = *OpenFleetStore("memory:");
  const CommitPort commit_ = [this](const WriteSet& set) { return CommitOne(*store_, set); };
};

TEST_F(RetentionTest, DropsRunsWithWhatWasDeliveredAndKeepsTheNewestOfEachAudit) {
  PutRun("a", 1, 10, "a1");
  PutRun("a", 2, 20, "a2");
  PutRun("b", 1, 10, "b1");   // the only one of its audit
  PutRun("c", 1, 0, "c1");    // not over
  PutRun("c", 2, 150, "c2");  // young
  PutTask("own-old", 5);      // of a node's own plan
  PutTask("own-new", 500);
  const RetentionResult result = *DropOlderThan(*store_, commit_, 100);
  EXPECT_EQ(result.audit_runs, 1);
  EXPECT_THAT(Keys("audit_run"), ElementsAre("a/2", "b/1", "c/1", "c/2"));
  EXPECT_THAT(Keys("report"), ElementsAre("a/2", "b/1", "c/1", "c/2"));
  EXPECT_THAT(Keys("task_end"), ElementsAre("a2/n", "b1/n", "c1/n", "c2/n", "own-new/n"));
  EXPECT_EQ(Keys("piece").size(), 5u);
  EXPECT_EQ(result.others, 1 + 4);
  EXPECT_EQ(DropOlderThan(*store_, commit_, 100)->others, 0);
}

TEST_F(RetentionTest, DropsBundlesBatchesAndNotesByAgeAndKeepsWatermarks) {
  for (const std::int64_t at : {50, 150}) {
    v1::StoredBundle bundle;
    bundle.set_stored_unix_ms(at);
    Put("bundle", absl::StrCat("run/n/", at), bundle);
    v1::StoredEvent event;
    event.set_received_unix_ms(at);
    Put("event", SequenceKey("n", 1, at), event);
    v1::StoredGap gap;
    gap.set_received_unix_ms(at);
    Put("gap", SequenceKey("n", 1, at), gap);
    v1::StoredSeries series;
    series.set_received_unix_ms(at);
    Put("series", SeriesKey("run", static_cast<int>(at), "n"), series);
  }
  Put("watermark", WatermarkKey("n", 1), v1::Watermark());
  WriteSet batches;
  batches.batches = {Batch("n", 1, 1, 5, 50), Batch("n", 1, 6, 9, 150)};
  ASSERT_TRUE(CommitOne(*store_, batches).ok());
  const RetentionResult result = *DropOlderThan(*store_, commit_, 100);
  EXPECT_EQ(result.batches, 1);
  EXPECT_EQ(result.bundles, 1);
  EXPECT_EQ(result.others, 3);
  EXPECT_THAT(Keys("bundle"), ElementsAre("run/n/150"));
  EXPECT_EQ(Keys("watermark").size(), 1u);
  EXPECT_EQ(Keys("event").size() + Keys("gap").size() + Keys("series").size(), 3u);
}

TEST_F(RetentionTest, DropsOneRun) {
  for (const char* run : {"npu", "npu/lr3", "npu2"}) {
    v1::StoredBundle bundle;
    bundle.mutable_plan()->set_run(run);
    Put("bundle", absl::StrCat(run, "/n/1"), bundle);
    v1::StoredSeries series;
    series.set_run(run);
    Put("series", SeriesKey(run, 0, "n"), series);
  }
  const RetentionResult result = *DropRun(*store_, commit_, "npu");
  EXPECT_EQ(result.bundles, 1);
  EXPECT_EQ(result.others, 1);
  // Also where a key holds the other run's name as it is.
  EXPECT_THAT(Keys("bundle"), ElementsAre("npu/lr3/n/1", "npu2/n/1"));
  EXPECT_EQ(DropRun(*store_, commit_, "npu").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RetentionTest, ManyDocumentsGoInBoundedSetsAndAFailureIsPassedOn) {
  WriteSet set;
  for (int i = 0; i < 1200; ++i) set.documents.push_back({"event", SequenceKey("n", 1, i + 1), "", {}});
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  std::vector<std::size_t> sizes;
  const CommitPort watched = [&](const WriteSet& one) {
    sizes.push_back(one.documents.size());
    return CommitOne(*store_, one);
  };
  EXPECT_EQ(DropOlderThan(*store_, watched, 100)->others, 1200);
  EXPECT_THAT(sizes, ElementsAre(500u, 500u, 200u));
  EXPECT_THAT(Keys("event"), IsEmpty());
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  const CommitPort full = [](const WriteSet&) { return absl::ResourceExhaustedError("full"); };
  EXPECT_EQ(DropOlderThan(*store_, full, 100).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(RetentionTest, TheJobDropsWhatGrowsOldAndTellsOfIt) {
  v1::StoredBundle bundle;
  bundle.set_stored_unix_ms(1000);
  Put("bundle", "run/n/1", bundle);
  WriteSet content;
  content.contents.push_back({Sha256("x"), "x"});
  ASSERT_TRUE(CommitOne(*store_, content).ok());
  std::atomic<std::int64_t> now = 1500;
  std::atomic<int> reports = 0;
  RetentionOptions options;
  options.keep_ms = 1000;
  options.first_after_ms = options.every_ms = 1;
  RetentionJob job(
      *store_, commit_, [&] { return now.load(); }, options,
      [&](const absl::Status& status, const std::string& what) {
        EXPECT_TRUE(status.ok());
        EXPECT_EQ(what, "0 audit runs, 1 bundles, 0 batches, 0 other documents");
        ++reports;
      });
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(reports, 0) << "still young, and nothing to tell";
  now = 2500;
  for (int i = 0; i < 1000 && reports == 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  job.Stop();
  EXPECT_EQ(reports, 1);
  EXPECT_THAT(Keys("bundle"), IsEmpty());
  EXPECT_EQ(store_->Stats()->contents, 0);

  RetentionJob never(
      *store_, commit_, [&] { return now.load(); }, RetentionOptions{}, nullptr);
  never.Stop();
}

}  // namespace
}  // namespace paritect
