#include "agent/daemon/wake_loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "common/posix_file.h"

namespace paritect {

absl::StatusOr<std::unique_ptr<WakeLoop>> WakeLoop::Create(absl::Span<const int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    return ErrnoStatus(error, "block", "signals");
  }
  const int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd < 0) return ErrnoStatus(errno, "make", "a signal descriptor");
  const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    const int error = errno;
    close(signal_fd);
    return ErrnoStatus(error, "make", "an event descriptor");
  }
  return std::unique_ptr<WakeLoop>(new WakeLoop(wake_fd, signal_fd));
}

WakeLoop::~WakeLoop() {
  close(wake_fd_);
  close(signal_fd_);
}

void WakeLoop::Wake() {
  if (woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  // Cannot fail but by overflow, and then the loop is awake.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
}

std::vector<int> WakeLoop::Wait(std::int64_t timeout_ms) {
  pollfd fds[] = {{wake_fd_, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
  poll(fds, 2, static_cast<int>(std::clamp<std::int64_t>(timeout_ms, 0, 3'600'000)));
  std::uint64_t count = 0;
  // First the descriptor, then the flag: a wake in between costs one empty round, the other order could lose it.
  [[maybe_unused]] const ssize_t drained = read(wake_fd_, &count, sizeof(count));
  woken_.store(false);
  std::vector<int> signals;
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    signals.push_back(static_cast<int>(info.ssi_signo));
  }
  return signals;
}

}  // namespace paritect
