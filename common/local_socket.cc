#include "common/local_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/descriptor.h"
#include "common/errno_status.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kAnswerBytesMax = 64 << 10;
constexpr int kBacklog = 64;

absl::Status Failed(absl::string_view path) {
  const std::string what = absl::StrCat(DisplayBytes(path), ": ", ErrnoText(errno));
  if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) return absl::NotFoundError(what);
  if (errno == EACCES || errno == EPERM) return absl::PermissionDeniedError(what);
  return absl::UnavailableError(what);
}

absl::Status SetAddress(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": too long for a socket"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return absl::OkStatus();
}

int NewSocket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

absl::Status WaitFor(int fd, short events, absl::Time deadline) {
  for (;;) {
    const std::int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return absl::DeadlineExceededError("the other side is silent");
    pollfd one = {.fd = fd, .events = events, .revents = 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::InternalError(ErrnoText(errno));
  }
}

bool IsAddress(const sockaddr_un& address, int fd) {
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

absl::StatusOr<int> ListenLocal(const std::string& path, mode_t mode) {
  sockaddr_un address;
  PARITECT_RETURN_IF_ERROR(SetAddress(path, address));
  Descriptor probe(NewSocket());
  Descriptor listener(NewSocket());
  if (probe.get() < 0 || listener.get() < 0) return Failed(path);
  if (IsAddress(address, probe.get())) {
    return absl::FailedPreconditionError(absl::StrCat(DisplayBytes(path), ": another program listens there"));
  }
  struct stat old;
  if (lstat(path.c_str(), &old) == 0 && S_ISSOCK(old.st_mode)) unlink(path.c_str());
  // The file in the file system gets the mode of the socket: the process's umask, which other threads' files go by too,
  // stays as it is.
  if (fchmod(listener.get(), 0600) != 0) return Failed(path);
  const int bound = bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (bound != 0 || chmod(path.c_str(), mode) != 0 || listen(listener.get(), kBacklog) != 0) return Failed(path);
  return listener.Release();
}

absl::Status SendAll(int fd, absl::string_view bytes, absl::Time deadline) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      PARITECT_RETURN_IF_ERROR(WaitFor(fd, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return absl::UnavailableError(ErrnoText(errno));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadToEnd(int fd, std::size_t bytes_max, absl::Time deadline) {
  std::string out;
  std::string buffer(256 << 10, '\0');
  for (;;) {
    const ssize_t n = recv(fd, buffer.data(), buffer.size(), 0);
    if (n == 0) return out;
    if (n > 0) {
      if (out.size() + static_cast<std::size_t>(n) > bytes_max) {
        return absl::ResourceExhaustedError(absl::StrCat("more than ", bytes_max, " bytes"));
      }
      out.append(buffer, 0, static_cast<std::size_t>(n));
    } else if (errno == ECONNRESET && !out.empty()) {
      return out;  // who refuses closes without reading everything; its answer is here
    } else if (errno == EAGAIN) {
      PARITECT_RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline));
    } else if (errno != EINTR) {
      return absl::UnavailableError(ErrnoText(errno));
    }
  }
}

absl::StatusOr<std::string> AskLocal(const std::string& path, absl::string_view question, absl::Duration time_max) {
  sockaddr_un address;
  PARITECT_RETURN_IF_ERROR(SetAddress(path, address));
  const absl::Time deadline = absl::Now() + time_max;
  Descriptor socket(NewSocket());
  if (socket.get() < 0 || !IsAddress(address, socket.get())) return Failed(path);
  // Where the other side has answered before it took everything, its answer says why.
  const absl::Status sent = SendAll(socket.get(), question, deadline);
  shutdown(socket.get(), SHUT_WR);
  auto answer = ReadToEnd(socket.get(), kAnswerBytesMax, deadline);
  if (!sent.ok() && (!answer.ok() || answer->empty())) return sent;
  return answer;
}

}  // namespace paritect
