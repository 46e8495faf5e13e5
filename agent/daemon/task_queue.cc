#include "agent/daemon/task_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace paritect {

std::map<std::string, std::uint64_t> TasksInSpool(Spool& spool) {
  constexpr std::uint64_t kReadBytes = 1 << 20;
  constexpr std::size_t kReadEntries = 1'000;
  std::map<std::string, std::uint64_t> done;
  for (std::uint64_t next = 1;;) {
    const auto entries = spool.Read(next, kReadBytes, kReadEntries);
    // A disk that cannot be read now: the worst that follows is that a task runs twice.
    if (!entries.ok() || entries->empty()) return done;
    for (const SpoolEntry& entry : *entries) {
      v1::Record record;
      if (!entry.is_gap() && record.ParseFromString(entry.payload) && record.has_task_end()) {
        done[record.task_end().task_id()] = entry.sequence;
      }
    }
    next = std::max(entries->back().sequence, entries->back().last_sequence) + 1;
  }
}

TaskQueue::TaskQueue(TaskRunner& runner, AgentLog& log, std::map<std::string, std::uint64_t> done, Ports ports)
    : runner_(runner), log_(log), ports_(std::move(ports)), done_(std::move(done)), thread_([this] { Loop(); }) {}

TaskQueue::~TaskQueue() {
  Shutdown(absl::ZeroDuration());
  thread_.join();
}

void TaskQueue::Add(const v1::Task& task) {
  const absl::Time deadline =
      task.deadline_ms() > 0 ? absl::Now() + absl::Milliseconds(task.deadline_ms()) : absl::InfiniteFuture();
  absl::MutexLock lock(&mutex_);
  if (stopping_ || done_.count(task.id()) > 0) return;
  for (const Waiting& one : queue_) {
    if (one.task.id() == task.id()) return;
  }
  queue_.push_back({task, std::make_shared<Cancellation>(deadline)});
}

void TaskQueue::Cancel(const std::string& task_id) {
  absl::MutexLock lock(&mutex_);
  for (const Waiting& one : queue_) {
    if (one.task.id() == task_id) one.cancellation->Stop(StopReason::kCancelled);
  }
}

void TaskQueue::OnAcknowledged(std::uint64_t durable_sequence) {
  absl::MutexLock lock(&mutex_);
  durable_ = std::max(durable_, durable_sequence);
  for (auto it = done_.begin(); it != done_.end();) {
    it = it->second <= durable_sequence ? done_.erase(it) : std::next(it);
  }
}

std::vector<std::string> TaskQueue::Done() {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, sequence] : done_) ids.push_back(id);
  return ids;
}

bool TaskQueue::Shutdown(absl::Duration patience) {
  shutdown_.Stop(StopReason::kShutdown);
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  for (const Waiting& one : queue_) one.cancellation->Stop(StopReason::kShutdown);
  return mutex_.AwaitWithTimeout(absl::Condition(&over_), patience);
}

void TaskQueue::Loop() {
  for (;;) {
    Waiting one;
    {
      absl::MutexLock lock(&mutex_);
      const auto something = [this] {
        mutex_.AssertReaderHeld();
        return stopping_ || !queue_.empty();
      };
      mutex_.Await(absl::Condition(&something));
      if (stopping_) {
        over_ = true;
        return;
      }
      one = queue_.front();
    }
    RunOne(one);
  }
}

void TaskQueue::RunOne(const Waiting& one) {
  const std::string& id = one.task.id();
  if (one.cancellation->reason() == StopReason::kShutdown) return;
  const auto end = one.cancellation->stopped() ? runner_.End(one.task, shutdown_)
                                               : runner_.Run(one.task, ports_.bounds(), *one.cancellation, shutdown_);
  if (!end.ok() && !absl::IsCancelled(end.status())) {
    log_.Error(absl::StrCat("task ", id, " could not be recorded: ", end.status().message()));
  }
  {
    absl::MutexLock lock(&mutex_);
    queue_.pop_front();
    if (end.ok() && *end > durable_) done_[id] = *end;
  }
  ports_.ended(id);
}

}  // namespace paritect
