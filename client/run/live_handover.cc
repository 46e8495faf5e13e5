#include "client/run/live_handover.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/time/clock.h"

namespace paritect {
namespace {

constexpr absl::Duration kLongestWait = absl::Hours(1);

[[noreturn]] void Help(pid_t parent, absl::Duration wait, const std::function<void()>& hand) {
  // It ends with the command's process, however that ends.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(0);
  for (;; wait = std::min(2 * wait, kLongestWait)) {
    absl::SleepFor(wait);
    hand();
  }
}

}  // namespace

LiveHandover::LiveHandover(absl::Duration first, std::function<void()> hand) {
  const pid_t parent = getpid();
  helper_ = fork();
  if (helper_ == 0) Help(parent, first, hand);
}

LiveHandover::~LiveHandover() {
  if (helper_ <= 0) return;
  kill(helper_, SIGKILL);
  while (waitpid(helper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace paritect
