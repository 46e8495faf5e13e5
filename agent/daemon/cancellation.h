// The wish that a piece of work should end early: by someone's word or because its time is over. Thread-safe.
#ifndef PARITECT_AGENT_DAEMON_CANCELLATION_H_
#define PARITECT_AGENT_DAEMON_CANCELLATION_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace paritect {

enum class StopReason {
  kNone,
  kCancelled,  // the server does not want it any more
  kDeadline,   // its time is over
  kShutdown,   // the agent ends; the work will be asked for again
};

class Cancellation {
 public:
  explicit Cancellation(absl::Time deadline = absl::InfiniteFuture()) : deadline_(deadline) {}

  // The first word counts.
  void Stop(StopReason reason) {
    absl::MutexLock lock(&mutex_);
    if (reason_ == StopReason::kNone) reason_ = reason;
  }
  StopReason reason() {
    absl::MutexLock lock(&mutex_);
    if (reason_ == StopReason::kNone && deadline_ != absl::InfiniteFuture() && absl::Now() >= deadline_) {
      reason_ = StopReason::kDeadline;
    }
    return reason_;
  }
  bool stopped() { return reason() != StopReason::kNone; }

  // Sleeps at most so long, less where it is stopped meanwhile. True: stopped.
  bool WaitFor(absl::Duration time) {
    {
      absl::MutexLock lock(&mutex_);
      const auto told = [this] {
        mutex_.AssertReaderHeld();
        return reason_ != StopReason::kNone;
      };
      mutex_.AwaitWithDeadline(absl::Condition(&told), std::min(absl::Now() + time, deadline_));
    }
    return stopped();
  }

 private:
  const absl::Time deadline_;
  absl::Mutex mutex_;
  StopReason reason_ ABSL_GUARDED_BY(mutex_) = StopReason::kNone;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_CANCELLATION_H_
