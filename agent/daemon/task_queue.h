// The tasks of this node: one runs at a time, on a thread of its own; the others wait in the order of their arrival.
#ifndef PARITECT_AGENT_DAEMON_TASK_QUEUE_H_
#define PARITECT_AGENT_DAEMON_TASK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/daemon/cancellation.h"
#include "agent/daemon/task_runner.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

// Thread-safe. A task that is known (waits, runs, or is done and its end not acknowledged yet) is not taken twice: a
// server asks again after every connection.
class TaskQueue {
 public:
  struct Ports {
    std::function<TaskBounds()> bounds;                     // at the start of a task
    std::function<void(const std::string& task_id)> ended;  // nobody needs its progress any more
  };
  // `done`: tasks whose end is in the spool, by its number (TasksInSpool). The borrowed parts must outlive it.
  TaskQueue(TaskRunner& runner, AgentLog& log, std::map<std::string, std::uint64_t> done, Ports ports);
  ~TaskQueue();  // Shutdown, and waits for the thread

  // The deadline runs from now.
  void Add(const v1::Task& task);
  void Cancel(const std::string& task_id);
  void OnAcknowledged(std::uint64_t durable_sequence);
  std::vector<std::string> Done();
  // Stops the running task without an end; waits for the thread at most so long. False: it is still reading.
  bool Shutdown(absl::Duration patience);

 private:
  struct Waiting {
    v1::Task task;
    std::shared_ptr<Cancellation> cancellation;
  };
  void Loop();
  void RunOne(const Waiting& one);

  TaskRunner& runner_;
  AgentLog& log_;
  const Ports ports_;
  Cancellation shutdown_;

  absl::Mutex mutex_;
  std::deque<Waiting> queue_ ABSL_GUARDED_BY(mutex_);  // the first may be running
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::uint64_t> done_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

// The ends that wait in the spool to be acknowledged: task -> number of its TaskEnd. Reads the whole spool.
std::map<std::string, std::uint64_t> TasksInSpool(Spool& spool);

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_TASK_QUEUE_H_
