#include "agent/daemon/local_intake.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/local_socket.h"
#include "common/utf8.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

constexpr absl::Duration kSenderPatience = absl::Seconds(60);

}  // namespace

absl::StatusOr<std::unique_ptr<LocalIntake>> LocalIntake::Open(const std::string& path, std::vector<std::int64_t> users,
                                                               Ports ports, AgentLog& log) {
  // Who may send is asked of each sender; a socket that nobody else reaches keeps others from knocking at all.
  auto listener = ListenLocal(path, users.empty() ? 0600 : 0666);
  if (!listener.ok()) return listener.status();
  int stop[2];
  if (pipe2(stop, O_CLOEXEC) != 0) {
    close(*listener);
    return absl::InternalError(std::strerror(errno));
  }
  return std::unique_ptr<LocalIntake>(new LocalIntake(path, *listener, stop, std::move(users), std::move(ports), log));
}

LocalIntake::LocalIntake(std::string path, int listener, int stop[2], std::vector<std::int64_t> users, Ports ports,
                         AgentLog& log)
    : path_(std::move(path)),
      listener_(listener),
      stop_{stop[0], stop[1]},
      users_(std::move(users)),
      ports_(std::move(ports)),
      log_(log),
      thread_([this] { Loop(); }) {}

LocalIntake::~LocalIntake() {
  cancellation_.Stop(StopReason::kShutdown);
  close(stop_[1]);
  thread_.join();
  close(stop_[0]);
  close(listener_);
  unlink(path_.c_str());
}

void LocalIntake::Loop() {
  for (;;) {
    pollfd waiting[2] = {{.fd = listener_, .events = POLLIN, .revents = 0},
                         {.fd = stop_[0], .events = POLLIN, .revents = 0}};
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    if (waiting[0].revents == 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) continue;
    const std::string answer = Answer(connection);
    (void)SendAll(connection, answer, absl::Now() + kSenderPatience);
    close(connection);
  }
}

std::string LocalIntake::Answer(int connection) {
  ucred sender = {};
  socklen_t size = sizeof(sender);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &sender, &size) != 0) return "refused: the sender is not known\n";
  const std::int64_t user = sender.uid;
  if (user != 0 && user != geteuid() && std::find(users_.begin(), users_.end(), user) == users_.end()) {
    return absl::StrCat("refused: user ", user, " is not among `local: users` of this agent\n");
  }
  auto bytes = ReadToEnd(connection, kIntakeBytesMax, absl::Now() + kSenderPatience);
  if (!bytes.ok()) return absl::StrCat("refused: ", bytes.status().message(), "\n");
  auto bundle = ParseBundle(*bytes);
  if (!bundle.ok()) return absl::StrCat("refused: no bundle: ", bundle.status().message(), "\n");
  bytes->clear();
  const std::string run = DisplayBytes(bundle->plan().run());
  if (run.empty()) return "refused: the run has no name\n";
  const absl::Status taken = ports_.take(*std::move(bundle), cancellation_);
  if (!taken.ok()) return absl::StrCat("refused: ", taken.message(), "\n");
  log_.Info(absl::StrCat("run ", run, " was handed over by process ", sender.pid, " of user ", user));
  return absl::StrCat("ok ", run, "\n");
}

}  // namespace paritect
