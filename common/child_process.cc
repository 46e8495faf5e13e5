#include "common/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/posix_file.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::Duration kDyingMax = absl::Seconds(1);
constexpr absl::Duration kDyingStep = absl::Milliseconds(5);

// Children that did not die when they were killed: they hang in a system call of a driver.
class Undying {
 public:
  void Add(pid_t pid) {
    absl::MutexLock lock(&mutex_);
    pids_.insert(pid);
  }
  // Those that have died meanwhile are buried; one that still hangs, or 0.
  pid_t Any() {
    absl::MutexLock lock(&mutex_);
    for (auto it = pids_.begin(); it != pids_.end();) {
      it = waitpid(*it, nullptr, WNOHANG) == 0 ? std::next(it) : pids_.erase(it);
    }
    return pids_.empty() ? 0 : *pids_.begin();
  }

 private:
  absl::Mutex mutex_;
  std::set<pid_t> pids_ ABSL_GUARDED_BY(mutex_);
};

Undying& LeftBehind() {
  static Undying* const instance = new Undying;
  return *instance;
}

// posix_spawn's attributes and file actions, freed at the end.
struct SpawnPlan {
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<pid_t> Spawn(const ChildCommand& command, int output) {
  SpawnPlan plan;
  if (command.input >= 0) {
    posix_spawn_file_actions_adddup2(&plan.actions, command.input, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&plan.actions, output, STDOUT_FILENO);
  if (command.with_errors) {
    posix_spawn_file_actions_adddup2(&plan.actions, output, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&plan.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 34)
  // Every descriptor of ours is opened with O_CLOEXEC; this is for those of libraries.
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, STDERR_FILENO + 1);
#endif
#endif
  // Whatever this process blocks or ignores is no business of the child's.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, command.words[0].c_str(), &plan.actions, &plan.attributes,
                                Pointers(command.words).data(), Pointers(command.environment).data());
  if (error != 0) return ErrnoStatus(error, "run", command.words[0]);
  return pid;
}

// What became of the child: true once it has ended.
bool HasEnded(pid_t pid, int& status) {
  for (;;) {
    const pid_t one = waitpid(pid, &status, WNOHANG);
    if (one == pid || (one < 0 && errno != EINTR)) return true;
    if (one == 0) return false;
  }
}

void Kill(pid_t pid) {
  kill(-pid, SIGKILL);
  int status = 0;
  const absl::Time end = absl::Now() + kDyingMax;
  while (!HasEnded(pid, status)) {
    if (absl::Now() > end) return LeftBehind().Add(pid);
    absl::SleepFor(kDyingStep);
  }
}

// Reads to the end of the output. Ok: the child closed it.
using OutputSink = absl::FunctionRef<absl::Status(absl::string_view block)>;

absl::Status ReadAll(int fd, const ChildCommand& command, absl::Time deadline, OutputSink sink) {
  std::uint64_t bytes = 0;
  char buffer[1 << 14];
  for (;;) {
    const std::int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) break;
    pollfd one = {.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "poll the output of", command.words[0]);
    if (ready <= 0) continue;
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n == 0) return absl::OkStatus();
    if (n < 0 && errno != EINTR && errno != EAGAIN) return ErrnoStatus(errno, "read the output of", command.words[0]);
    if (n < 0) continue;
    bytes += static_cast<std::uint64_t>(n);
    if (bytes > command.output_bytes_max) {
      return absl::ResourceExhaustedError(absl::StrCat(DisplayBytes(command.words[0]), ": more than ",
                                                       command.output_bytes_max, " bytes of output; killed"));
    }
    PARITECT_RETURN_IF_ERROR(sink(absl::string_view(buffer, static_cast<std::size_t>(n))));
  }
  return absl::DeadlineExceededError(absl::StrCat(DisplayBytes(command.words[0]), ": no end within ",
                                                  absl::FormatDuration(command.time_max), "; killed"));
}

absl::StatusOr<ChildResult> Finish(pid_t pid, const ChildCommand& command, absl::Time deadline) {
  int status = 0;
  while (!HasEnded(pid, status)) {
    if (absl::Now() > deadline) {
      Kill(pid);
      return absl::DeadlineExceededError(
          absl::StrCat(DisplayBytes(command.words[0]), ": closed its output and did not end; killed"));
    }
    absl::SleepFor(kDyingStep);
  }
  kill(-pid, SIGKILL);  // what it may have left in its group
  if (WIFSIGNALED(status)) {
    return absl::AbortedError(
        absl::StrCat(DisplayBytes(command.words[0]), ": crashed (", strsignal(WTERMSIG(status)), ")"));
  }
  // posix_spawn in the child reports a failed exec as 127 on some systems.
  return ChildResult{"", WEXITSTATUS(status)};
}

}  // namespace

absl::StatusOr<ChildResult> RunChild(const ChildCommand& command, OutputSink sink) {
  if (command.words.empty() || !absl::StartsWith(command.words[0], "/")) {
    return absl::InvalidArgumentError("a program is run by its absolute path only");
  }
  if (const pid_t pid = LeftBehind().Any(); pid != 0) {
    return absl::UnavailableError(absl::StrCat("an earlier child (pid ", pid, ") still hangs in the driver"));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe for", command.words[0]);
  const absl::Time deadline = absl::Now() + command.time_max;
  auto pid = Spawn(command, ends[1]);
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  const absl::Status read = ReadAll(ends[0], command, deadline, sink);
  close(ends[0]);
  if (!read.ok()) {
    Kill(*pid);
    return read;
  }
  return Finish(*pid, command, deadline);
}

absl::StatusOr<ChildResult> RunChild(const ChildCommand& command) {
  std::string output;
  auto result = RunChild(command, [&](absl::string_view block) {
    output.append(block.data(), block.size());
    return absl::OkStatus();
  });
  if (result.ok()) result->output = std::move(output);
  return result;
}

std::string FindHelperProgram(absl::string_view name) {
  auto self = PosixFileSystem().ReadLink("/proc/self/exe");
  if (!self.ok()) return "";
  const std::string folder(DirName(*self));
  for (const std::string& path :
       {absl::StrCat(folder, "/", name), absl::StrCat(folder, "/../libexec/paritect/", name)}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

}  // namespace paritect
