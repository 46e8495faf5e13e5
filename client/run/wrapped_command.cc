#include "client/run/wrapped_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/errno_status.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/write_all.h"

namespace paritect {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};
constexpr int kDrainSeconds = 2;

absl::Status Failed(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", ErrnoText(errno)));
}

void CloseFd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// What stands between the command's standard output or error and ours.
struct Channel {
  int ours = -1;   // 1 or 2: where the copy goes
  int read = -1;   // this end of the pipe or pseudo-terminal
  int write = -1;  // the command's end
  bool terminal = false;
};

void CopyWindowSize(const Channel& channel) {
  winsize size = {};
  if (channel.terminal && ioctl(channel.ours, TIOCGWINSZ, &size) == 0) ioctl(channel.read, TIOCSWINSZ, &size);
}

// The real terminal turns line feeds into line ends; this one passes bytes through.
absl::Status OpenTerminal(Channel& channel) {
  channel.read = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (channel.read < 0 || grantpt(channel.read) != 0 || unlockpt(channel.read) != 0) return Failed("pseudo-terminal");
  char name[128];
  if (ptsname_r(channel.read, name, sizeof(name)) != 0) return Failed("pseudo-terminal");
  channel.write = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (channel.write < 0) return Failed("pseudo-terminal");
  termios mode = {};
  if (tcgetattr(channel.ours, &mode) == 0) {
    mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(channel.write, TCSANOW, &mode);
  }
  channel.terminal = true;
  CopyWindowSize(channel);
  return absl::OkStatus();
}

absl::Status OpenChannel(Channel& channel) {
  if (isatty(channel.ours) == 1) return OpenTerminal(channel);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed("pipe");
  channel.read = ends[0];
  channel.write = ends[1];
  return absl::OkStatus();
}

bool SameFile(int a, int b) {
  struct stat first, second;
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// The copying process: until every writer has closed. A place that takes no more (a reader that left, a full disk) is
// given up and the other goes on.
[[noreturn]] void CopyUntilClosed(std::vector<Channel>& channels, int file) {
  for (int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGPIPE, SIGUSR1, SIGUSR2})
    std::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<bool> shows(channels.size(), true);
  bool keeps = true;
  char buffer[1 << 16];
  for (;;) {
    std::vector<pollfd> waiting;
    for (const Channel& channel : channels) {
      if (channel.read >= 0) waiting.push_back({.fd = channel.read, .events = POLLIN, .revents = 0});
    }
    if (waiting.empty()) _exit(keeps ? 0 : 1);
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) _exit(2);
    for (const pollfd& ready : waiting) {
      if (ready.revents == 0) continue;
      std::size_t i = 0;
      while (channels[i].read != ready.fd) ++i;
      const ssize_t n = read(ready.fd, buffer, sizeof(buffer));
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n <= 0) {  // EIO: the last writer of a pseudo-terminal has closed
        CloseFd(channels[i].read);
        continue;
      }
      const bool shown = shows[i];
      shows[i] = shows[i] && WriteAll(channels[i].ours, {buffer, static_cast<std::size_t>(n)}) == 0;
      // The reader has left: the command is to learn it as if it had written there itself.
      if (shown && !shows[i] && errno == EPIPE) CloseFd(channels[i].read);
      keeps = keeps && WriteAll(file, {buffer, static_cast<std::size_t>(n)}) == 0;
    }
  }
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

class Wrapper {
 public:
  explicit Wrapper(const WrappedCommand& command) : command_(command) {}

  absl::StatusOr<WrappedEnd> Run() {
    file_ = open(command_.output_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file_ < 0) return Failed(DisplayBytes(command_.output_path));
    PARITECT_RETURN_IF_ERROR(OpenChannels());
    if (pipe2(failure_, O_CLOEXEC) != 0) return Failed("pipe");
    sigset_t handled;
    sigemptyset(&handled);
    for (int signal : kPassedOn) sigaddset(&handled, signal);
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGWINCH);
    sigprocmask(SIG_BLOCK, &handled, &mask_before_);
    absl::Status started = Start();
    WrappedEnd end;
    if (started.ok()) end = Wait(handled);
    for (Channel& channel : channels_) CloseFd(channel.read);
    CloseFd(file_);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    if (!started.ok()) return started;
    return end;
  }

 private:
  absl::Status OpenChannels() {
    const bool has_out = fcntl(STDOUT_FILENO, F_GETFD) >= 0, has_error = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    // "2>&1": one channel keeps the order of what is printed.
    merged_ = has_out && has_error && SameFile(STDOUT_FILENO, STDERR_FILENO);
    if (has_out) channels_.push_back({.ours = STDOUT_FILENO});
    if (has_error && !merged_) channels_.push_back({.ours = STDERR_FILENO});
    for (Channel& channel : channels_) PARITECT_RETURN_IF_ERROR(OpenChannel(channel));
    return absl::OkStatus();
  }

  absl::Status Start() {
    copier_ = fork();
    if (copier_ < 0) return Failed("fork");
    if (copier_ == 0) {
      for (Channel& channel : channels_) CloseFd(channel.write);
      close(failure_[0]);
      close(failure_[1]);
      CopyUntilClosed(channels_, file_);
    }
    child_ = fork();
    if (child_ < 0) return Failed("fork");
    if (child_ == 0) Become();
    for (Channel& channel : channels_) {
      CloseFd(channel.write);
      // The copying process is the one reader: where it stops reading, the command is to feel it.
      if (!channel.terminal) CloseFd(channel.read);
    }
    CloseFd(failure_[1]);
    return absl::OkStatus();
  }

  // In the child: never returns.
  [[noreturn]] void Become() {
    for (const Channel& channel : channels_) {
      dup2(channel.write, channel.ours);
      if (merged_) dup2(channel.write, STDERR_FILENO);
    }
    std::signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    const std::vector<char*> words = Pointers(command_.words), environment = Pointers(command_.environment);
    execvpe(words[0], words.data(), environment.data());
    const int error = errno;
    (void)!write(failure_[1], &error, sizeof(error));
    _exit(error == ENOENT ? 127 : 126);
  }

  WrappedEnd Wait(const sigset_t& handled) {
    WrappedEnd end;
    int error = 0;
    if (read(failure_[0], &error, sizeof(error)) == static_cast<ssize_t>(sizeof(error))) {
      end.failure = ErrnoText(error);
    }
    CloseFd(failure_[0]);
    bool child_ended = false, copier_ended = false;
    int status = 0;
    timespec patience = {.tv_sec = kDrainSeconds, .tv_nsec = 0};
    while (!child_ended || !copier_ended) {
      siginfo_t signal = {};
      const int number = child_ended ? sigtimedwait(&handled, &signal, &patience) : sigwaitinfo(&handled, &signal);
      if (number < 0 && errno == EINTR) continue;
      if (number < 0) break;  // something still prints
      if (number == SIGWINCH) {
        for (const Channel& channel : channels_) CopyWindowSize(channel);
        if (!child_ended && signal.si_code <= 0) kill(child_, SIGWINCH);
      } else if (number != SIGCHLD) {
        // What the terminal sent has reached the command already.
        if (!child_ended && signal.si_code <= 0) kill(child_, number);
        if (number == SIGTSTP) raise(SIGSTOP);  // a shell sees the job stopped
        continue;
      }
      if (!child_ended && waitpid(child_, &status, WNOHANG) == child_) child_ended = true;
      int copied = 0;
      if (!copier_ended && waitpid(copier_, &copied, WNOHANG) == copier_) {
        copier_ended = true;
        end.output_whole = WIFEXITED(copied) && WEXITSTATUS(copied) == 0;
      }
    }
    end.output_whole = end.output_whole && copier_ended;
    end.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return end;
  }

  const WrappedCommand& command_;
  std::vector<Channel> channels_;
  bool merged_ = false;
  int file_ = -1;
  int failure_[2] = {-1, -1};
  pid_t copier_ = -1, child_ = -1;
  sigset_t mask_before_ = {};
};

}  // namespace

absl::StatusOr<WrappedEnd> RunWrapped(const WrappedCommand& command) {
  return Wrapper(command).Run();
}

}  // namespace paritect
