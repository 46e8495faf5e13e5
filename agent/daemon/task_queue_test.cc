#include "agent/daemon/task_queue.h"

#include <sstream>

#include "absl/synchronization/notification.h"
#include "agent/spool/fault_disk.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TaskQueueTest : public testing::Test {
 protected:
  TaskQueueTest() : disk_(1), log_(text_, false) {
    spool_ = *Spool::Open(
        "spool", {.max_bytes = 16 << 20}, [] { return std::int64_t{1}; }, disk_);
    recorder_ = std::make_unique<Recorder>(
        *spool_,
        RecorderPorts{.wall_ms = [] { return std::int64_t{1}; }, .wake = [] {}, .retry = absl::Milliseconds(10)});
    runner_ = std::make_unique<TaskRunner>(
        BuiltInRules(), *recorder_, log_, "n1", "test",
        TaskPorts{.wall_ms = [] { return std::int64_t{1}; },
                  .progress = [this](const v1::TaskProgress& progress, bool) { OnProgress(progress); }});
  }

  void OnProgress(const v1::TaskProgress& progress) {
    absl::MutexLock lock(&mutex_);
    stages_.push_back(progress.stage());
    if (!block_) return;
    block_ = false;
    blocked_.Notify();
    mutex_.Await(absl::Condition(&release_));
  }

  std::unique_ptr<TaskQueue> Make(std::map<std::string, std::uint64_t> done = {}) {
    return std::make_unique<TaskQueue>(*runner_, log_, std::move(done),
                                       TaskQueue::Ports{.bounds = [] { return TaskBounds(); },
                                                        .ended = [this](const std::string& id) { OnEnded(id); }});
  }
  void OnEnded(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    ended_.push_back(id);
  }
  bool WaitForEnds(std::size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&] {
      mutex_.AssertReaderHeld();
      return ended_.size() >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(30));
  }
  static v1::Task Task(const std::string& id) {
    v1::Task task;
    task.set_id(id);
    task.mutable_plan()->mutable_info()->set_live(false);
    return task;
  }
  // The tasks that ended in the spool, '!' for cancelled ones.
  std::vector<std::string> Ends() {
    std::vector<std::string> ends;
    const auto entries = spool_->Read(1, 1 << 20, 1000);
    for (const SpoolEntry& entry : *entries) {
      v1::Record record;
      if (entry.is_gap() || !record.ParseFromString(entry.payload) || !record.has_task_end()) continue;
      ends.push_back(record.task_end().task_id() + (record.task_end().cancelled() ? "!" : ""));
    }
    return ends;
  }

  FaultDisk disk_;
  std::ostringstream text_;
  AgentLog log_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<TaskRunner> runner_;
  absl::Mutex mutex_;
  std::vector<std::string> stages_;
  std::vector<std::string> ended_;
  bool block_ = false;
  bool release_ = false;
  absl::Notification blocked_;
};

TEST_F(TaskQueueTest, RunsInOrderAndEachOnceUntilItsEndIsAcknowledged) {
  const auto queue = Make();
  queue->Add(Task("a"));
  queue->Add(Task("b"));
  queue->Add(Task("a"));
  ASSERT_TRUE(WaitForEnds(2));
  queue->Add(Task("a"));
  EXPECT_THAT(queue->Done(), ElementsAre("a", "b"));
  queue->OnAcknowledged(spool_->Stats().accepted_sequence);
  EXPECT_THAT(queue->Done(), IsEmpty());
  queue->Add(Task("a"));  // a server that was put back to an earlier state
  ASSERT_TRUE(WaitForEnds(3));
  EXPECT_THAT(Ends(), ElementsAre("a", "b", "a"));
}

TEST_F(TaskQueueTest, KnowsWhatWasDoneBeforeARestart) {
  {
    const auto queue = Make();
    queue->Add(Task("a"));
    ASSERT_TRUE(WaitForEnds(1));
  }
  const auto queue = Make(TasksInSpool(*spool_));
  EXPECT_THAT(queue->Done(), ElementsAre("a"));
  queue->Add(Task("a"));
  queue->Add(Task("b"));
  ASSERT_TRUE(WaitForEnds(2));
  EXPECT_THAT(Ends(), ElementsAre("a", "b"));
}

TEST_F(TaskQueueTest, CancelsWhatRunsAndWhatWaits) {
  block_ = true;
  const auto queue = Make();
  queue->Add(Task("runs"));
  blocked_.WaitForNotification();
  queue->Add(Task("waits"));
  queue->Cancel("runs");
  queue->Cancel("waits");
  queue->Cancel("unknown");
  {
    absl::MutexLock lock(&mutex_);
    release_ = true;
  }
  ASSERT_TRUE(WaitForEnds(2));
  EXPECT_THAT(Ends(), ElementsAre("runs!", "waits!"));
}

TEST_F(TaskQueueTest, HonoursADeadline) {
  block_ = true;
  const auto queue = Make();
  v1::Task task = Task("late");
  task.set_deadline_ms(50);
  queue->Add(task);
  blocked_.WaitForNotification();
  absl::SleepFor(absl::Milliseconds(60));
  {
    absl::MutexLock lock(&mutex_);
    release_ = true;
  }
  ASSERT_TRUE(WaitForEnds(1));
  EXPECT_THAT(Ends(), ElementsAre("late!"));
}

TEST_F(TaskQueueTest, AShutdownLeavesNoEnd) {
  block_ = true;
  auto queue = Make();
  queue->Add(Task("runs"));
  blocked_.WaitForNotification();
  EXPECT_FALSE(queue->Shutdown(absl::Milliseconds(10)));
  {
    absl::MutexLock lock(&mutex_);
    release_ = true;
  }
  EXPECT_TRUE(queue->Shutdown(absl::Seconds(30)));
  EXPECT_THAT(Ends(), IsEmpty()) << "the server asks again";
}

TEST_F(TaskQueueTest, WaitsWhileTheDiskIsFull) {
  const auto queue = Make();
  disk_.FailAt(1, FaultDisk::Fault::kNoSpace, 1'000'000);
  queue->Add(Task("a"));
  absl::SleepFor(absl::Milliseconds(100));
  {
    absl::MutexLock lock(&mutex_);
    EXPECT_THAT(ended_, IsEmpty());
    EXPECT_THAT(stages_, testing::Contains("spool_full"));
  }
  disk_.FailNever();
  ASSERT_TRUE(WaitForEnds(1));
  EXPECT_THAT(Ends(), ElementsAre("a"));
}

}  // namespace
}  // namespace paritect
