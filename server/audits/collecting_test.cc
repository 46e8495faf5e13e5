#include "server/audits/collecting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One run of audit "a" in which gpu-1 and npu-1 owe a task each.
class CollectingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    collecting_.Begin(Run(), 60'000);
    ASSERT_THAT(sent_, ElementsAre("gpu-1 b0", "npu-1 m0"));
    sent_.clear();
  }

  static v1::AuditRun Run() {
    v1::AuditRun run;
    run.set_audit("a");
    run.set_number(1);
    run.set_state(v1::AUDIT_RUN_STATE_COLLECTING);
    run.mutable_definition()->mutable_baseline()->add_plans();
    run.mutable_definition()->mutable_migrated()->add_plans();
    Add("gpu-1", "b0", false, run);
    Add("npu-1", "m0", true, run);
    return run;
  }

  static void Add(const std::string& node, const std::string& id, bool migrated, v1::AuditRun& run) {
    v1::NodeTask& task = *run.add_tasks();
    task.set_node(node);
    task.set_task_id(id);
    task.set_migrated(migrated);
    task.set_state(v1::NODE_TASK_STATE_WAITING);
  }

  void End(const std::string& node, const std::string& id) {
    v1::TaskEnd end;
    end.set_task_id(id);
    end.set_attempt(1);
    collecting_.OnTaskEnd(node, 7, end);
  }

  static KnownNode Node(const std::string& name, bool online) {
    KnownNode node;
    node.name = name;
    node.online = online;
    return node;
  }

  v1::NodeTaskState StateOf(int task) { return collecting_.Find("a", 0)->tasks(task).state(); }

  std::int64_t now_ms_ = 1'000'000;
  std::vector<std::string> sent_;
  std::vector<std::string> cancelled_;
  std::vector<v1::AuditRun> complete_;
  Collecting collecting_{
      [this] { return now_ms_; },
      1000,
      {[this](const std::string& node, const v1::Task& task) { sent_.push_back(node + " " + task.id()); },
       [this](const std::string& node, const std::string& id) { cancelled_.push_back(node + " " + id); },
       [this](const v1::AuditRun& run) { complete_.push_back(run); }}};
};

TEST_F(CollectingTest, ANodeThatWasLongDeadWhenTheRunBeganIsSilentAtOnce) {
  collecting_.Cancel("a", 0).IgnoreError();
  now_ms_ += 100'000;
  v1::AuditRun later = Run();
  later.set_number(2);
  later.set_started_unix_ms(now_ms_);
  collecting_.Begin(later, 60'000);
  KnownNode dead = Node("gpu-1", false);
  dead.last_seen_unix_ms = now_ms_ - 50'000;
  KnownNode away = Node("npu-1", false);  // it may come back
  away.last_seen_unix_ms = now_ms_ - 500;
  collecting_.Tick({dead, away});
  const auto run = collecting_.Find("a", 2);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->tasks(0).state(), v1::NODE_TASK_STATE_SILENT);
  EXPECT_EQ(run->tasks(1).state(), v1::NODE_TASK_STATE_WAITING);
}

TEST_F(CollectingTest, ARunIsHandedOnOnceWhenTheLastTaskEnds) {
  End("gpu-1", "b0");
  EXPECT_THAT(complete_, IsEmpty());
  End("npu-1", "other");
  EXPECT_THAT(complete_, IsEmpty());
  End("npu-1", "m0");
  ASSERT_EQ(complete_.size(), 1u);
  EXPECT_EQ(complete_[0].state(), v1::AUDIT_RUN_STATE_CHECKING);
  End("npu-1", "m0");
  EXPECT_EQ(complete_.size(), 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(collecting_.Cancel("a", 0)));
  collecting_.Forget(complete_[0]);
  EXPECT_FALSE(collecting_.Find("a", 0).has_value());
  EXPECT_TRUE(absl::IsNotFound(collecting_.Cancel("a", 0)));
}

TEST_F(CollectingTest, MoreMayBeAskedUntilTheEnd) {
  End("gpu-1", "b0");
  End("npu-1", "m0");
  v1::AuditRun more = Run();
  more.mutable_tasks(1)->set_task_id("m0.files");
  EXPECT_TRUE(collecting_.GoOn(complete_[0], {more.tasks(1)}));
  EXPECT_THAT(sent_, ElementsAre("npu-1 m0.files"));
  EXPECT_EQ(collecting_.TasksFor("npu-1", {}).size(), 1u);
  EXPECT_THAT(collecting_.TasksFor("npu-1", {"m0.files"}), IsEmpty());
  End("npu-1", "m0.files");
  ASSERT_EQ(complete_.size(), 2u);
  EXPECT_TRUE(complete_[1].followed_up());
  collecting_.Stop();
  EXPECT_FALSE(collecting_.GoOn(complete_[0], {more.tasks(1)}));
}

TEST_F(CollectingTest, SilenceIsSettledAfterItsTimeAndANodeThatIsNotEnrolledAtOnce) {
  collecting_.Tick({Node("gpu-1", false)});
  EXPECT_EQ(StateOf(0), v1::NODE_TASK_STATE_WAITING);
  EXPECT_EQ(StateOf(1), v1::NODE_TASK_STATE_SILENT) << "npu-1 is not enrolled";
  now_ms_ += 999;
  collecting_.Tick({Node("gpu-1", false)});
  EXPECT_THAT(complete_, IsEmpty());
  now_ms_ += 1;
  collecting_.Tick({Node("gpu-1", false)});
  ASSERT_EQ(complete_.size(), 1u);
  EXPECT_EQ(complete_[0].tasks(0).detail(), "not connected");
}

TEST_F(CollectingTest, AtItsLimitARunWaitsForNobody) {
  now_ms_ += 60'000;
  collecting_.Tick({Node("gpu-1", true), Node("npu-1", true)});
  ASSERT_EQ(complete_.size(), 1u);
  EXPECT_EQ(complete_[0].tasks(0).detail(), kUnfinished);
  EXPECT_THAT(cancelled_, ElementsAre("gpu-1 b0", "npu-1 m0"));
}

TEST_F(CollectingTest, WhoWaitsSeesAChangeAndTheEnd) {
  std::uint64_t revision = 0;
  ASSERT_TRUE(collecting_.WaitForChange("a", 0, revision, 0).has_value());
  const std::uint64_t before = revision;
  End("gpu-1", "b0");
  ASSERT_TRUE(collecting_.WaitForChange("a", 1, revision, 60'000).has_value());
  EXPECT_GT(revision, before);
  EXPECT_FALSE(collecting_.WaitForChange("a", 2, revision, 60'000).has_value());
}

}  // namespace
}  // namespace paritect
