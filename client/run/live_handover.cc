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
constexpr absl::Duration kLookEvery = absl::Seconds(2);

void WaitForReady(absl::Duration most, const std::function<bool()>& ready) {
  const absl::Duration look = std::min(most, kLookEvery);
  for (absl::Duration waited; waited < most && !ready(); waited += look) absl::SleepFor(look);
}

[[noreturn]] void Help(pid_t parent, absl::Duration wait, const std::function<bool()>& ready,
                       const std::function<void()>& hand) {
  // It ends with the command's process, however that ends.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(0);
  WaitForReady(wait, ready);
  for (;; wait = std::min(2 * wait, kLongestWait)) {
    hand();
    absl::SleepFor(wait);
  }
}

}  // namespace

LiveHandover::LiveHandover(absl::Duration first, std::function<bool()> ready, std::function<void()> hand) {
  const pid_t parent = getpid();
  helper_ = fork();
  if (helper_ == 0) Help(parent, first, ready, hand);
}

LiveHandover::~LiveHandover() {
  if (helper_ <= 0) return;
  kill(helper_, SIGKILL);
  while (waitpid(helper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace paritect
