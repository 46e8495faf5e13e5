// One thread that runs what others may not do where they are: the writer's thread must not wait for a lock whose holder
// waits for a commit.
#ifndef PARITECT_SERVER_EXECUTOR_H_
#define PARITECT_SERVER_EXECUTOR_H_

#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paritect {

// Thread-safe. Runs in the order of Post.
class Executor {
 public:
  Executor();
  ~Executor();  // Stop()
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // After Stop: dropped.
  void Post(std::function<void()> work);
  // Runs what was posted, then ends. Idempotent.
  void Stop();

 private:
  void Loop();

  absl::Mutex mutex_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_EXECUTOR_H_
