#include "server/transport/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr int kBacklog = 1024;
constexpr std::int64_t kForgetEveryMs = 1000;

std::int64_t NowMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::uint64_t SocketInode(int descriptor) {
  struct stat info = {};
  return fstat(descriptor, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

std::string AddressOf(const sockaddr_storage& from, socklen_t size) {
  char host[NI_MAXHOST] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  return host;
}

int PortOf(int socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return bound.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port)
                                     : ntohs(reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

absl::StatusOr<int> ListenOn(const addrinfo& where) {
  const int socket_fd = socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return absl::UnavailableError(std::strerror(errno));
  const int one = 1;
  setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (where.ai_family == AF_INET6) setsockopt(socket_fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
  if (bind(socket_fd, where.ai_addr, where.ai_addrlen) == 0 && listen(socket_fd, kBacklog) == 0) return socket_fd;
  const std::string why = std::strerror(errno);
  close(socket_fd);
  return absl::UnavailableError(why);
}

// "" and "*": all addresses of both families.
absl::StatusOr<std::vector<int>> ListenAll(const HostPort& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const bool any = address.host.empty() || address.host == "*";
  const std::string port = absl::StrCat(address.port);
  const int error = getaddrinfo(any ? nullptr : address.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", FormatHostPort(address), ": ", gai_strerror(error)));
  }
  std::vector<int> sockets;
  std::string why;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    // With port 0 the second family would get another port; one is enough.
    if (address.port == 0 && !sockets.empty()) break;
    auto opened = ListenOn(*one);
    if (opened.ok()) {
      sockets.push_back(*opened);
    } else {
      why = std::string(opened.status().message());
    }
  }
  freeaddrinfo(found);
  if (!sockets.empty()) return sockets;
  return absl::UnavailableError(absl::StrCat("cannot listen on ", FormatHostPort(address), ": ", why));
}

int OpenSpare() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const HostPort& address, ListenerOptions options,
                                                         std::function<void(int)> take) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<int> sockets, ListenAll(address));
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto room = static_cast<std::int64_t>(limit.rlim_cur) - options.descriptors_reserved;
    options.connections_max =
        static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(options.connections_max, room)));
  }
  const int port = PortOf(sockets[0]);
  return absl::WrapUnique(new Listener(std::move(sockets), port, options, std::move(take)));
}

Listener::Listener(std::vector<int> sockets, int port, ListenerOptions options, std::function<void(int)> take)
    : sockets_(std::move(sockets)), port_(port), options_(options), take_(std::move(take)), spare_(OpenSpare()) {
  if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) wake_[0] = wake_[1] = -1;
  thread_ = std::thread([this] { Loop(); });
}

Listener::~Listener() {
  Stop();
  for (int socket : sockets_) close(socket);
  for (int end : wake_) {
    if (end >= 0) close(end);
  }
  if (spare_ >= 0) close(spare_);
}

void Listener::Stop() {
  if (stopping_.exchange(true)) return;
  if (wake_[1] >= 0 && write(wake_[1], "x", 1) < 0) {
    // The loop also looks every second.
  }
  if (thread_.joinable()) thread_.join();
}

ListenerCounters Listener::counters() const {
  return {accepted_, refused_total_, refused_per_address_, exhausted_, open_};
}

void Listener::Loop() {
  std::vector<pollfd> watched;
  for (int socket : sockets_) watched.push_back({socket, POLLIN, 0});
  if (wake_[0] >= 0) watched.push_back({wake_[0], POLLIN, 0});
  while (!stopping_) {
    const int ready = poll(watched.data(), watched.size(), 1000);
    if (ready <= 0) {
      ForgetClosed();
      continue;
    }
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if (watched[i].revents != 0) AcceptFrom(sockets_[i]);
    }
  }
}

void Listener::AcceptFrom(int socket) {
  // A bounded number at a time, so that a flood does not keep the loop from its housekeeping.
  for (int i = 0; i < 64 && !stopping_; ++i) {
    sockaddr_storage from = {};
    socklen_t size = sizeof(from);
    const int descriptor = accept4(socket, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return Shed(socket);
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      continue;  // the caller hung up before it was accepted
    }
    if (!Admit(descriptor, AddressOf(from, size))) {
      close(descriptor);
      continue;
    }
    const int one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    ++accepted_;
    take_(descriptor);
  }
  if (NowMs() - forgotten_ms_ >= kForgetEveryMs) ForgetClosed();
}

// Out of descriptors: one is freed to take a caller from the queue and hang up on it, else poll would spin.
void Listener::Shed(int socket) {
  ++exhausted_;
  ForgetClosed();
  if (spare_ >= 0) close(spare_);
  const int descriptor = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor >= 0) close(descriptor);
  spare_ = OpenSpare();
  usleep(10'000);
}

bool Listener::Admit(int descriptor, const std::string& address) {
  if (open_ >= options_.connections_max || per_address_[address] >= options_.connections_per_address_max)
    ForgetClosed();
  if (open_ >= options_.connections_max) {
    ++refused_total_;
    return false;
  }
  int& of_address = per_address_[address];
  if (of_address >= options_.connections_per_address_max) {
    ++refused_per_address_;
    return false;
  }
  // A number that is given anew was closed since it was last looked at.
  if (const auto known = connections_.find(descriptor); known != connections_.end()) {
    --per_address_[known->second.address];
    --open_;
  }
  connections_[descriptor] = {SocketInode(descriptor), address};
  ++of_address;
  ++open_;
  return true;
}

// The transport closes connections by itself; whether one is gone is seen from its descriptor.
void Listener::ForgetClosed() {
  forgotten_ms_ = NowMs();
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (SocketInode(it->first) == it->second.inode) {
      ++it;
      continue;
    }
    const auto address = per_address_.find(it->second.address);
    if (address != per_address_.end() && --address->second <= 0) per_address_.erase(address);
    --open_;
    it = connections_.erase(it);
  }
}

}  // namespace paritect
