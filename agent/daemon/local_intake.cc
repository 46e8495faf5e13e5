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
#include "common/errno_status.h"
#include "common/local_socket.h"
#include "common/utf8.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

constexpr absl::Duration kSenderPatience = absl::Seconds(60);
constexpr std::size_t kSendersMax = 8;
constexpr std::ptrdiff_t kSendersOfUserMax = 4;  // the others' turn

}  // namespace

absl::StatusOr<std::unique_ptr<LocalIntake>> LocalIntake::Open(const std::string& path, std::vector<std::int64_t> users,
                                                               Ports ports, AgentLog& log) {
  // Who may send is asked of each sender; a socket that nobody else reaches keeps others from knocking at all.
  auto listener = ListenLocal(path, users.empty() ? 0600 : 0666);
  if (!listener.ok()) return listener.status();
  int stop[2];
  if (pipe2(stop, O_CLOEXEC) != 0) {
    close(*listener);
    return absl::InternalError(ErrnoText(errno));
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
  std::list<Sender> last;
  {
    absl::MutexLock lock(&mutex_);
    for (const Sender& sender : senders_) {
      if (!sender.done) shutdown(sender.connection, SHUT_RDWR);  // who waits for its bytes waits no more
    }
    last.swap(senders_);  // the elements stay where they are
  }
  for (Sender& sender : last) {
    sender.thread.join();
    close(sender.connection);
  }
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
    if (connection >= 0) Accept(connection);
  }
}

void LocalIntake::Accept(int connection) {
  Reap();
  ucred sender = {};
  socklen_t size = sizeof(sender);
  const bool known = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &sender, &size) == 0;
  const std::string refusal = known ? Refusal(sender.uid) : "refused: the sender is not known\n";
  if (!refusal.empty()) {
    (void)SendAll(connection, refusal,
                  absl::Now());  // a line fits into an empty socket, or the sender is not asked for
    close(connection);
    return;
  }
  absl::MutexLock lock(&mutex_);
  Sender& one = senders_.emplace_back();
  one.connection = connection;
  one.user = sender.uid;
  one.process = sender.pid;
  one.thread = std::thread([this, &one] { Serve(one); });
}

std::string LocalIntake::Refusal(std::int64_t user) {
  if (user != 0 && user != geteuid() && std::find(users_.begin(), users_.end(), user) == users_.end()) {
    return absl::StrCat("refused: user ", user, " is not among `local: users` of this agent\n");
  }
  absl::MutexLock lock(&mutex_);
  const auto own = std::count_if(senders_.begin(), senders_.end(), [user](const Sender& s) { return s.user == user; });
  if (own >= kSendersOfUserMax || senders_.size() >= kSendersMax) {
    return "refused: too many send at the same time; try again, or use `paritect import`\n";
  }
  return "";
}

void LocalIntake::Serve(Sender& sender) {
  const std::string answer = Answer(sender);
  (void)SendAll(sender.connection, answer, absl::Now() + kSenderPatience);
  shutdown(sender.connection, SHUT_RDWR);
  absl::MutexLock lock(&mutex_);
  sender.done = true;
}

// Joins those that have their answer.
void LocalIntake::Reap() {
  std::list<Sender> done;
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = senders_.begin(); it != senders_.end();) {
      const auto next = std::next(it);
      if (it->done) done.splice(done.end(), senders_, it);
      it = next;
    }
  }
  for (Sender& sender : done) {
    sender.thread.join();
    close(sender.connection);
  }
}

std::string LocalIntake::Answer(const Sender& sender) {
  auto bytes = ReadToEnd(sender.connection, kIntakeBytesMax, absl::Now() + kSenderPatience);
  if (!bytes.ok()) return absl::StrCat("refused: ", bytes.status().message(), "\n");
  absl::MutexLock lock(&take_mutex_);
  auto bundle = ParseBundle(*bytes);
  if (!bundle.ok()) return absl::StrCat("refused: no bundle: ", bundle.status().message(), "\n");
  bytes->clear();
  const std::string run = DisplayBytes(bundle->plan().run());
  if (run.empty()) return "refused: the run has no name\n";
  const absl::Status taken = ports_.take(*std::move(bundle), cancellation_);
  if (!taken.ok()) return absl::StrCat("refused: ", taken.message(), "\n");
  log_.Info(absl::StrCat("run ", run, " was handed over by process ", sender.process, " of user ", sender.user));
  return absl::StrCat("ok ", run, "\n");
}

}  // namespace paritect
