#include "server/live.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/audit_file.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

constexpr char kAudit[] =
    "audit: a\n"
    "baseline: {runs: [g]}\n"
    "migrated: {nodes: [npu-01], plans: [{run: n, logs: [/l]}]}\n"
    "webhook: http://x/y\n";

double Loss(std::int64_t step) {
  return 2 + 6 * std::exp(-static_cast<double>(step) / 50);
}

class LiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenFleetStore("memory:");
    v1::StoredBundle baseline;
    baseline.mutable_plan()->set_run("g");
    baseline.mutable_plan()->set_node("gpu-01");
    WriteSet set = Documents({{"bundle", "g/gpu-01/0", baseline.SerializeAsString()}});
    ASSERT_TRUE(CommitOne(*store_, set).ok());
    run_.set_audit("a");
    run_.set_number(1);
    *run_.mutable_definition() = *ParseAuditFile(kAudit);
    v1::NodeTask& task = *run_.add_tasks();
    task.set_node("npu-01");
    task.set_migrated(true);
    Open();
  }

  void Open() {
    LivePorts ports;
    ports.dispatch = [this](const std::string& node, const v1::Task& task) { sent_.push_back(node + " " + task.id()); };
    ports.cancel = [this](const std::string& node, const std::string& id) { cancelled_.push_back(node + " " + id); };
    ports.commit = [this](WriteSet set) {
      std::lock_guard<std::mutex> lock(commit_mutex_);
      if (failing_commits_ > 0) {
        --failing_commits_;
        return absl::UnavailableError("the disk is full");
      }
      return CommitOne(*store_, set);
    };
    ports.load_bundle = [](const v1::StoredBundle& stored) -> absl::StatusOr<v1::Bundle> {
      v1::Bundle bundle;
      *bundle.mutable_plan() = stored.plan();
      v1::Evidence& evidence = *bundle.add_evidence();
      evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
      evidence.set_outcome(v1::OUTCOME_COLLECTED);
      evidence.mutable_run_log()->set_format("text");
      for (std::int64_t step = 1; step <= 300; ++step) {
        v1::StepRecord& record = *evidence.mutable_run_log()->add_records();
        record.set_step(step);
        record.set_loss(Loss(step));
      }
      return bundle;
    };
    ports.notify = [this](const std::string&, const std::string& json) {
      std::lock_guard<std::mutex> lock(commit_mutex_);
      notified_.push_back(json);
    };
    LiveOptions options;
    options.every_ms = 1;
    options.settle_ms = 0;
    options.retry_ms = 1;
    live_ = std::make_unique<Live>(
        *store_, BuiltInRules(), [this] { return ++now_ms_; }, options, std::move(ports));
    ASSERT_TRUE(live_->Load().ok());
  }

  void Send(std::int64_t first, std::int64_t last, double factor = 1) {
    v1::StepChunk chunk;
    chunk.set_task_id("live:a.1.m0");
    chunk.set_run("n");
    chunk.set_source("l");
    chunk.mutable_about()->set_format("text");
    for (std::int64_t step = first; step <= last; ++step) {
      v1::StepRecord& record = *chunk.add_steps();
      record.set_step(step);
      record.set_loss(factor * Loss(step));
    }
    live_->OnSteps("npu-01", chunk);
  }

  // "live_started divergence@41" once there are so many, or after ten seconds.
  std::string Events(std::size_t count) {
    std::vector<std::string> words;
    for (int i = 0; i < 1200 && words.size() < count; ++i) {  // ends when they are there
      bool followed = false;
      const auto events = live_->Events("a", 0, 0, followed);
      words.clear();
      for (const v1::LiveEvent& event : *events) {
        words.push_back(event.has_step() ? absl::StrCat(event.event(), "@", event.step()) : event.event());
      }
      if (words.size() < count) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return absl::StrJoin(words, " ");
  }

  // "1 live_started": all that is stored, by number.
  std::vector<std::string> Stored() {
    std::vector<std::string> words;
    store_
        ->Scan("live_event", "a/", "",
               [&](absl::string_view, absl::string_view value) {
                 v1::LiveEvent event;
                 event.ParseFromArray(value.data(), static_cast<int>(value.size()));
                 words.push_back(absl::StrCat(event.number(), " ", event.event()));
                 return true;
               })
        .IgnoreError();
    return words;
  }

  v1::AuditRun run_;
  std::atomic<std::int64_t> now_ms_ = std::int64_t{1'800'000'000} * 1000;
  std::mutex commit_mutex_;
  int failing_commits_ = 0;
  std::vector<std::string> sent_;
  std::vector<std::string> cancelled_;
  std::vector<std::string> notified_;
  std::unique_ptr<FleetStore> store_;
  std::unique_ptr<Live> live_;
};

TEST_F(LiveTest, TellsADivergenceOnceAndEndsWithTheLog) {
  live_->Begin(run_);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0], "npu-01 live:a.1.m0");
  EXPECT_EQ(live_->TasksFor("npu-01").size(), 1u);
  EXPECT_TRUE(live_->TasksFor("npu-01")[0].follow());
  Send(1, 40);
  EXPECT_EQ(Events(1), "live_started");
  Send(41, 60, 1.5);
  EXPECT_EQ(Events(2), "live_started divergence@41");
  Send(61, 80, 1.5);
  v1::TaskEnd end;
  end.set_task_id("live:a.1.m0");
  end.set_ended("finished");
  live_->OnTaskEnd("npu-01", end);
  EXPECT_EQ(Events(3), "live_started divergence@41 live_ended");
  live_->Stop();
  ASSERT_EQ(notified_.size(), 1u);
  EXPECT_NE(notified_[0].find("\"event\":\"divergence\""), std::string::npos) << notified_[0];
}

// "1 live_started, 2 divergence@41": what is stored, by number.
TEST_F(LiveTest, ARestartTellsNothingTwice) {
  live_->Begin(run_);
  Send(1, 40);
  Send(41, 60, 1.5);
  EXPECT_EQ(Events(2), "live_started divergence@41");
  live_->Stop();
  const std::vector<std::string> stored = Stored();
  ASSERT_EQ(stored, (std::vector<std::string>{"1 live_started", "2 divergence"}));
  ASSERT_EQ(notified_.size(), 1u);
  for (int restart = 0; restart < 3; ++restart) {
    Open();
    EXPECT_EQ(live_->TasksFor("npu-01").size(), 1u);
    // The agent sends what it had sent again, in other pieces, and goes on.
    Send(1, 25);
    Send(26, 40);
    Send(41, 70 + restart, 1.5);
    // A further event shows that what came before it was compared.
    v1::StepChunk chunk;
    chunk.set_task_id("live:a.1.m0");
    chunk.set_run("n");
    chunk.set_source("l");
    chunk.set_change("rotated");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    live_->OnSteps("npu-01", chunk);
    Events(static_cast<std::size_t>(3 + restart));
    live_->Stop();
  }
  EXPECT_EQ(Stored(), (std::vector<std::string>{"1 live_started", "2 divergence", "3 log_changed", "4 log_changed",
                                                "5 log_changed"}));
  EXPECT_EQ(notified_.size(), 1u);  // the webhook neither
  Open();
  EXPECT_TRUE(live_->End("a", "stopped").ok());
  Events(6);
  EXPECT_EQ(Stored().back(), "6 live_ended");
  EXPECT_TRUE(absl::IsNotFound(live_->End("b", "stopped")));
  live_->Stop();
  Open();  // ended for good
  EXPECT_TRUE(live_->TasksFor("npu-01").empty());
}

TEST_F(LiveTest, WhatCouldNotBeStoredIsTriedAgainInOrder) {
  live_->Begin(run_);
  {
    std::lock_guard<std::mutex> lock(commit_mutex_);
    failing_commits_ = 5;
  }
  Send(1, 40);
  Send(41, 60, 1.5);
  EXPECT_EQ(Events(2), "live_started divergence@41");
  EXPECT_TRUE(live_->End("a", "stopped").ok());
  EXPECT_EQ(Events(3), "live_started divergence@41 live_ended");
  live_->Stop();
  EXPECT_EQ(Stored(), (std::vector<std::string>{"1 live_started", "2 divergence", "3 live_ended"}));
  EXPECT_EQ(notified_.size(), 1u);
}

TEST_F(LiveTest, ManyAtOnceAreNumberedInTheOrderInWhichTheyAreStored) {
  live_->Begin(run_);
  Send(1, 5);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 25; ++i) {
        v1::StepChunk chunk;
        chunk.set_task_id("live:a.1.m0");
        chunk.set_run("n");
        chunk.set_source("l");
        chunk.set_change("rotated");
        live_->OnSteps("npu-01", chunk);
      }
    });
  }
  // Whoever follows by number misses nothing: what is there is there without a gap.
  std::int64_t last = 0;
  for (int i = 0; i < 200 && last < 101; ++i) {
    bool followed = false;
    const auto events = live_->Events("a", last, 20, followed);
    ASSERT_TRUE(events.ok());
    for (const v1::LiveEvent& event : *events) EXPECT_EQ(event.number(), ++last);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(last, 101);
}

TEST_F(LiveTest, ALogThatHadEndedGivesNoEvent) {
  live_->Begin(run_);
  v1::TaskEnd end;
  end.set_task_id("live:a.1.m0");
  end.set_ended("finished");
  live_->OnTaskEnd("npu-01", end);
  bool followed = true;
  for (int i = 0; i < 100 && followed; ++i) {
    EXPECT_TRUE(live_->Events("a", 0, 50, followed)->empty());
  }
  EXPECT_FALSE(followed);
}

TEST_F(LiveTest, AnAuditMayDoWithout) {
  run_.mutable_definition()->set_live_off(true);
  live_->Begin(run_);
  EXPECT_TRUE(sent_.empty());
}

}  // namespace
}  // namespace paritect
