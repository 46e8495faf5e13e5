// What the daemon's one loop waits for: someone's wake, a signal, or time.
#ifndef PARITECT_AGENT_DAEMON_WAKE_LOOP_H_
#define PARITECT_AGENT_DAEMON_WAKE_LOOP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace paritect {

// Wake may be called on any thread, also before the wait that it ends; the rest belongs to one thread.
class WakeLoop {
 public:
  // The signals are taken away from the calling thread and those that it starts from now on (pthread_sigmask), and
  // reported by Wait. Make it before any other thread.
  static absl::StatusOr<std::unique_ptr<WakeLoop>> Create(absl::Span<const int> signals);
  ~WakeLoop();
  WakeLoop(const WakeLoop&) = delete;
  WakeLoop& operator=(const WakeLoop&) = delete;

  void Wake();
  // At most so long. The signals that came, in order.
  std::vector<int> Wait(std::int64_t timeout_ms);

 private:
  WakeLoop(int wake_fd, int signal_fd) : wake_fd_(wake_fd), signal_fd_(signal_fd) {}
  const int wake_fd_;
  const int signal_fd_;
  std::atomic<bool> woken_ = false;  // spares system calls where many wake at once
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_WAKE_LOOP_H_
