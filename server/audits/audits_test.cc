#include "server/audits/audits.h"

#include <gtest/gtest.h>

#include "server/bundle_reader.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

constexpr char kAudit[] =
    "audit: a\n"
    "baseline: {nodes: [\"gpu-*\"], plans: [{run: g, logs: [/l]}]}\n"
    "migrated: {nodes: [\"npu-*\", npu-09], plans: [{run: n, logs: [/l]}]}\n";

class AuditsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenFleetStore("memory:");
    nodes_ = {{"gpu-01", true, 1, 0, 0}, {"npu-01", true, 1, 0, 0}};
    Open();
  }

  void Open() {
    AuditPorts ports;
    ports.nodes = [this] { return nodes_; };
    ports.dispatch = [this](const std::string& node, const v1::Task& task) { sent_.push_back(node + " " + task.id()); };
    ports.cancel = [this](const std::string& node, const std::string& id) { cancelled_.push_back(node + " " + id); };
    ports.commit = [this](WriteSet set) {
      std::lock_guard<std::mutex> lock(commit_mutex_);
      return CommitOne(*store_, set);
    };
    ports.stored_bundle = [this](const v1::NodeTask& task) {
      return CollectedBundle(*store_, task.task_id(), task.node());
    };
    ports.load_bundle = [this](const v1::StoredBundle& stored) { return LoadBundle(*store_, stored); };
    ports.random_bytes = [](std::size_t n) { return std::string(n, 'k'); };
    ports.notify = [this](const std::string& url, const std::string& json) { notified_.push_back(url + " " + json); };
    AuditOptionsOfServer options;
    options.silent_after_ms = 1000;
    options.timeout_ms = 60'000;
    audits_ = std::make_unique<Audits>(
        *store_, BuiltInRules(), [this] { return now_ms_.load(); }, options, std::move(ports));
    ASSERT_TRUE(audits_->Load().ok());
  }

  // As if the node had delivered an empty bundle.
  void Deliver(const std::string& node, const std::string& task) {
    v1::TaskEnd end;
    end.set_task_id(task);
    end.set_attempt(1);
    end.mutable_plan()->set_node(node);
    end.mutable_plan()->set_run(node[0] == 'g' ? "g" : "n");
    WriteSet set;
    set.documents.push_back({"task_end", TaskEndKey(task, node), end.SerializeAsString(), {}});
    {
      std::lock_guard<std::mutex> lock(commit_mutex_);
      ASSERT_TRUE(CommitOne(*store_, set).ok());
    }
    audits_->OnTaskEnd(node, 7, end);
  }

  v1::AuditRun WaitForEnd() {
    std::uint64_t revision = 0;
    for (int i = 0; i < 500; ++i) {
      auto run = audits_->WaitForChange("a", 0, revision, 20);
      if (run.ok() && run->state() != v1::AUDIT_RUN_STATE_COLLECTING && run->state() != v1::AUDIT_RUN_STATE_CHECKING) {
        return *run;
      }
    }
    ADD_FAILURE() << "the run did not end";
    return {};
  }

  std::atomic<std::int64_t> now_ms_ = std::int64_t{1'800'000'000} * 1000;
  std::mutex commit_mutex_;
  std::vector<KnownNode> nodes_;
  std::vector<std::string> sent_;
  std::vector<std::string> cancelled_;
  std::vector<std::string> notified_;
  std::unique_ptr<FleetStore> store_;
  std::unique_ptr<Audits> audits_;
};

TEST_F(AuditsTest, RunsToAReportWithSilentNodesAsRows) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  const auto number = audits_->Start("a", "operator/o", 0);
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(sent_.size(), 3u);  // npu-09 is named outright: a row, though it never joined
  EXPECT_TRUE(absl::IsFailedPrecondition(audits_->Start("a", "operator/o", 0).status()));
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  audits_->Tick();  // npu-09 is not enrolled: silent at once
  const v1::AuditRun run = WaitForEnd();
  EXPECT_EQ(run.state(), v1::AUDIT_RUN_STATE_DONE);
  ASSERT_EQ(run.silent_nodes_size(), 1);
  EXPECT_EQ(run.silent_nodes(0), "npu-09");
  const auto report = audits_->FindReport("a", 0);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->coverage().nodes_expected(), 3);
  EXPECT_EQ(report->coverage().nodes_reported(), 2);
  const auto evidence = audits_->Evidence("a", 1, Side::kMigrated);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_EQ(evidence->size(), 1u);
  EXPECT_TRUE(RecordedRun(*store_, "g").ok());
}

TEST_F(AuditsTest, WhatANodeCollectsByItselfIsARecordedRun) {
  Deliver("gpu-01", "own:g:1800000000000");
  const auto run = RecordedRun(*store_, "g");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->at(0).source(), "plan of node gpu-01");
}

TEST_F(AuditsTest, ANodeThatGoesAwayIsSilentAfterTheLimitAndLateAnswersCount) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  nodes_[1].online = false;
  audits_->Tick();
  Deliver("gpu-01", "a.1.b0");
  audits_->Tick();
  EXPECT_EQ(audits_->FindRun("a", 0)->state(), v1::AUDIT_RUN_STATE_COLLECTING);
  now_ms_ += 2000;
  audits_->Tick();
  EXPECT_EQ(WaitForEnd().silent_nodes_size(), 2);
}

// A number that came again would bring the evidence of a removed run with it.
TEST_F(AuditsTest, NumbersOfARemovedAuditAreNotGivenAgain) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  audits_->Tick();
  WaitForEnd();
  ASSERT_TRUE(audits_->Remove("a").ok());
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  EXPECT_EQ(*audits_->Start("a", "o", 0), 2);
}

TEST_F(AuditsTest, SurvivesARestart) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  audits_.reset();
  sent_.clear();
  Open();
  // What was delivered is not asked for again.
  for (const std::string& one : sent_) EXPECT_NE(one, "gpu-01 a.1.b0");
  EXPECT_EQ(audits_->TasksFor("npu-01", {}).size(), 1u);
  EXPECT_TRUE(audits_->TasksFor("npu-01", {"a.1.m0"}).empty());
  Deliver("npu-01", "a.1.m0");
  audits_->Tick();
  EXPECT_EQ(WaitForEnd().state(), v1::AUDIT_RUN_STATE_DONE);
  EXPECT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());  // the same text again changes nothing
}

TEST_F(AuditsTest, RefusesWithReasons) {
  EXPECT_EQ(audits_->Create("audit: a", "x.yaml", false, "o").status().message().substr(0, 7), "x.yaml:");
  EXPECT_TRUE(absl::IsNotFound(audits_->Start("none", "o", 0).status()));
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  const std::string other = absl::StrCat(kAudit, "schedule: 1h\n");
  EXPECT_TRUE(absl::IsAlreadyExists(audits_->Create(other, "a.yaml", false, "o").status()));
  EXPECT_TRUE(audits_->Create(other, "a.yaml", true, "o").ok());
  EXPECT_TRUE(absl::IsNotFound(audits_->FindReport("a", 0).status()));
  nodes_.clear();
  const absl::Status status = audits_->Start("a", "o", 0).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(std::string(status.message()).find("gpu-*"), std::string::npos);
}

TEST_F(AuditsTest, APlanThatNoNodeRunsAndANodeWithoutPlanAreErrors) {
  ASSERT_TRUE(audits_
                  ->Create("audit: a\nbaseline: {nodes: [gpu-01], plans: [{run: g, node: gpu-0l, logs: [/l]}]}\n",
                           "a.yaml", false, "o")
                  .ok());
  const absl::Status mistyped = audits_->Start("a", "o", 0).status();
  EXPECT_NE(std::string(mistyped.message()).find("gpu-0l"), std::string::npos) << mistyped;
  ASSERT_TRUE(
      audits_
          ->Create("audit: b\nmigrated: {nodes: [\"npu-*\", gpu-01], plans: [{run: n, node: npu-01, logs: [/l]}]}\n",
                   "b.yaml", false, "o")
          .ok());
  const absl::Status idle = audits_->Start("b", "o", 0).status();
  EXPECT_NE(std::string(idle.message()).find("gpu-01"), std::string::npos) << idle;
}

TEST_F(AuditsTest, ScheduleAndTimeLimit) {
  ASSERT_TRUE(audits_->Create(absl::StrCat(kAudit, "schedule: 1h\nwebhook: http://x/y\n"), "a.yaml", false, "o").ok());
  audits_->Tick();
  EXPECT_TRUE(sent_.empty());
  now_ms_ += 3'600'000;
  audits_->Tick();
  EXPECT_EQ(sent_.size(), 3u);
  now_ms_ += 61'000;
  audits_->Tick();
  const v1::AuditRun run = WaitForEnd();
  EXPECT_EQ(run.silent_nodes_size(), 3);
  EXPECT_EQ(cancelled_.size(), 2u);
  audits_->Stop();
  ASSERT_EQ(notified_.size(), 1u);
  EXPECT_NE(notified_[0].find("\"silent_nodes\":[\"gpu-01\""), std::string::npos);
}

TEST_F(AuditsTest, CancelEndsARun) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  ASSERT_TRUE(audits_->Cancel("a", 0).ok());
  EXPECT_EQ(WaitForEnd().state(), v1::AUDIT_RUN_STATE_CANCELLED);
  EXPECT_TRUE(absl::IsNotFound(audits_->Cancel("a", 0)));
}

}  // namespace
}  // namespace paritect
