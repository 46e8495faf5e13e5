#include "common/net/tcp_stream.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/errno_status.h"
#include "common/net/starting_server.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::int64_t kLookEveryMs = 100;  // for a cancellation

}  // namespace

std::int64_t MonotonicMs() {
  std::timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

std::string AddressText(const sockaddr& address) {
  const socklen_t size = address.sa_family == AF_INET6 ? 28 : 16;  // sockaddr_in6, sockaddr_in
  char host[NI_MAXHOST] = "";
  getnameinfo(&address, size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  return host;
}

TcpStream::TcpStream(HostPort server, TcpOptions options)
    : server_(std::move(server)), options_(std::move(options)), deadline_ms_(MonotonicMs() + options_.timeout_ms) {}

void TcpStream::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::Status TcpStream::Unreachable(absl::string_view why) const {
  return absl::UnavailableError(absl::StrCat("cannot reach ", FormatHostPort(server_), ": ", why));
}

absl::Status TcpStream::Broken(int error) const {
  absl::Status status = Unreachable(ErrnoText(error));
  return error == ECONNREFUSED ? AsOfStartingServer(std::move(status)) : status;
}

absl::Status TcpStream::Wait(short events, std::int64_t deadline_ms) {  // NOLINT(google-runtime-int)
  while (true) {
    if (options_.cancelled != nullptr && *options_.cancelled) return absl::CancelledError("given up");
    const std::int64_t left = deadline_ms - MonotonicMs();
    if (left <= 0) {
      return absl::DeadlineExceededError(absl::StrCat(FormatHostPort(server_), " did not answer within ",
                                                      options_.timeout_ms, " ms", options_.silence));
    }
    pollfd waited = {fd_, events, 0};
    const std::int64_t slice = options_.cancelled == nullptr ? left : std::min(left, kLookEveryMs);
    const int ready = poll(&waited, 1, static_cast<int>(slice));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Broken(errno);
  }
}

absl::Status TcpStream::OpenAddress(const addrinfo& address, std::int64_t deadline_ms) {
  Close();
  fd_ = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return Broken(errno);
  if (connect(fd_, address.ai_addr, address.ai_addrlen) == 0) return absl::OkStatus();
  if (errno != EINPROGRESS) return Broken(errno);
  PARITECT_RETURN_IF_ERROR(Wait(POLLOUT, deadline_ms));
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? absl::OkStatus() : Broken(error);
}

absl::Status TcpStream::Open() {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(server_.host.c_str(), absl::StrCat(server_.port).c_str(), &hints, &found);
  if (failed != 0) return Unreachable(gai_strerror(failed));
  const std::unique_ptr<addrinfo, openssl::Free<freeaddrinfo>> addresses(found);
  return OpenOneOf(found);
}

absl::Status TcpStream::OpenOneOf(const addrinfo* addresses) {
  absl::Status status = Unreachable("no address");
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    if (options_.allow) {
      absl::Status allowed = options_.allow(*at->ai_addr);
      if (!allowed.ok()) {
        status = std::move(allowed);
        continue;
      }
    }
    // An address that swallows everything must leave time for the next one.
    const std::int64_t now = MonotonicMs();
    const std::int64_t share = at->ai_next == nullptr ? deadline_ms_ - now : (deadline_ms_ - now) / 2;
    status = OpenAddress(*at, now + share);
    if (status.ok()) return status;
  }
  return status;
}

absl::Status TcpStream::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      PARITECT_RETURN_IF_ERROR(Wait(POLLOUT, deadline_ms_));
    } else if (n < 0 && errno != EINTR) {
      return Broken(errno);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> TcpStream::Receive(absl::Span<char> buffer) {
  while (true) {
    // Also where bytes keep dripping in.
    if (MonotonicMs() >= deadline_ms_) PARITECT_RETURN_IF_ERROR(Wait(POLLIN, deadline_ms_));
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0) return Unreachable("it hung up");
    if (errno == EAGAIN) {
      PARITECT_RETURN_IF_ERROR(Wait(POLLIN, deadline_ms_));
    } else if (errno != EINTR) {
      return Broken(errno);
    }
  }
}

}  // namespace paritect
