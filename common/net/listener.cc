#include "common/net/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/errno_status.h"
#include "common/net/client_hello.h"
#include "common/net/door_protocol.h"
#include "common/net/tcp_stream.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr int kBacklog = 1024;
// How often it is looked at each connection: what an attack sends in between is not bounded (seen: 12 MiB in a tenth of
// a second); a look at ten thousand costs some 15 ms. At strangers, who are few and soon known, more often.
constexpr std::int64_t kStrangersMs = 20;
constexpr std::int64_t kHouseMsMin = 100;
constexpr std::int64_t kHouseMsMax = 1000;
constexpr std::int64_t kConnectionsPerHouseMs = 10;
// Keys of what is watched beside the queue, whose numbers stay below.
constexpr std::uint64_t kWakeKey = std::uint64_t{1} << 63;
constexpr std::uint64_t kSocketKey = std::uint64_t{1} << 62;

int PortOf(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
                                       : ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

int PortOf(int socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return PortOf(bound);
}

absl::StatusOr<int> ListenOn(const addrinfo& where) {
  const int socket_fd = socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return absl::UnavailableError(ErrnoText(errno));
  const int one = 1;
  setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (where.ai_family == AF_INET6) setsockopt(socket_fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
  if (bind(socket_fd, where.ai_addr, where.ai_addrlen) == 0 && listen(socket_fd, kBacklog) == 0) return socket_fd;
  const std::string why = ErrnoText(errno);
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

void Watch(int epoll, int descriptor, std::uint32_t what, std::uint64_t key) {
  epoll_event event = {};
  event.events = what;
  event.data.u64 = key;
  epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

int OpenSpare() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const HostPort& address, ListenerOptions options,
                                                         ListenerPorts ports) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<int> sockets, ListenAll(address));
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto room = static_cast<std::int64_t>(limit.rlim_cur) - options.descriptors_reserved;
    options.limits.connections_max =
        static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(options.limits.connections_max, room)));
  }
  const int port = PortOf(sockets[0]);
  auto listener = absl::WrapUnique(new Listener(std::move(sockets), port, options, std::move(ports)));
  if (listener->epoll_ < 0) return absl::UnavailableError("cannot watch connections: no descriptors are left");
  listener->thread_ = std::thread([raw = listener.get()] { raw->Loop(); });
  return listener;
}

Listener::Listener(std::vector<int> sockets, int port, ListenerOptions options, ListenerPorts ports)
    : sockets_(std::move(sockets)),
      port_(port),
      options_(options),
      ports_(std::move(ports)),
      table_(options.limits),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      spare_(OpenSpare()) {
  if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) wake_[0] = wake_[1] = -1;
  Watch(epoll_, wake_[0], EPOLLIN, kWakeKey);
  for (std::size_t i = 0; i < sockets_.size(); ++i) Watch(epoll_, sockets_[i], EPOLLIN, kSocketKey + i);
}

Listener::~Listener() {
  Stop();
  for (const auto& [number, waiting] : queue_) close(waiting.descriptor);
  for (int socket : sockets_) close(socket);
  for (int end : {wake_[0], wake_[1], spare_, epoll_}) {
    if (end >= 0) close(end);
  }
}

void Listener::Wake() const {
  if (wake_[1] >= 0 && write(wake_[1], "x", 1) < 0) {
    // The loop also looks every second.
  }
}

void Listener::Stop() {
  if (stopping_.exchange(true)) return;
  Wake();
  if (thread_.joinable()) thread_.join();
}

ListenerCounters Listener::counters() const {
  return {accepted_,     refused_total_, refused_per_address_, exhausted_,
          table_.open(), waiting_,       table_.strangers(),   cut_};
}

void Listener::Heard(const std::string& peer, const std::string& caller, bool message) {
  // A stranger less: somebody may wait for the place.
  if (table_.Heard(peer, caller, message) && unseated_ > 0) Wake();
}

void Listener::Loop() {
  epoll_event events[64];
  while (!stopping_) {
    const std::int64_t open = table_.open();
    const std::int64_t house_ms =
        open == 0 ? kHouseMsMax : std::clamp(open / kConnectionsPerHouseMs, kHouseMsMin, kHouseMsMax);
    const bool strangers = table_.strangers() > 0;
    const int ready = epoll_wait(epoll_, events, 64, static_cast<int>(strangers ? kStrangersMs : house_ms));
    for (int i = 0; i < ready && !stopping_; ++i) {
      const std::uint64_t key = events[i].data.u64;
      if (key == kWakeKey) {
        char drained[64];
        while (read(wake_[0], drained, sizeof(drained)) > 0) {
        }
        Seat();
      } else if (key >= kSocketKey) {
        AcceptFrom(sockets_[key - kSocketKey]);
      } else if (const auto at = queue_.find(key); at != queue_.end()) {
        Peek(at);
      }
    }
    const std::int64_t now = MonotonicMs();
    if (now - kept_house_ms_ >= house_ms) {
      Housekeeping();
    } else if (strangers && now - looked_ms_ >= kStrangersMs) {
      Look(ConnectionTable::Whom::kStrangers);
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
    const std::string address = AddressText(reinterpret_cast<const sockaddr&>(from));
    const auto answer = table_.Admit(descriptor, address, PeerKey(address, PortOf(from)));
    if (answer != ConnectionTable::Answer::kTaken) {
      ++(answer == ConnectionTable::Answer::kTooMany ? refused_total_ : refused_per_address_);
      close(descriptor);
      continue;
    }
    const int one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    ++accepted_;
    if (options_.peek) {
      Wait(descriptor, address);
    } else {
      ports_.take({descriptor, address, false});
    }
  }
}

// Out of descriptors: one is freed to take a caller from the queue and hang up on it, else the loop would spin.
void Listener::Shed(int socket) {
  ++exhausted_;
  Housekeeping();
  if (spare_ >= 0) close(spare_);
  const int descriptor = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor >= 0) close(descriptor);
  spare_ = OpenSpare();
  usleep(10'000);
}

void Listener::Wait(int descriptor, const std::string& address) {
  if (queue_.size() >= static_cast<std::size_t>(options_.waiting_max)) {
    HangUp(queue_.begin(), "too many that have not said what they want");
  }
  const auto at = queue_.emplace_hint(queue_.end(), next_++, Waiting{descriptor, address, MonotonicMs(), false});
  ++waiting_;
  // Edge-triggered: what was looked at stays unread.
  Watch(epoll_, descriptor, EPOLLIN | EPOLLRDHUP | EPOLLET, at->first);
}

Listener::Queue::iterator Listener::Peek(Queue::iterator at) {
  if (at->second.whole) return std::next(at);
  char buffer[kHelloBytesMax];
  const ssize_t n = recv(at->second.descriptor, buffer, sizeof(buffer), MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::next(at);
  if (n <= 0) return HangUp(at, nullptr);
  const PeekedHello hello = PeekHello(absl::string_view(buffer, static_cast<std::size_t>(n)));
  switch (hello.kind) {
    case PeekedHello::Kind::kPartial: return std::next(at);
    case PeekedHello::Kind::kOther: return HangUp(at, "no TLS");
    case PeekedHello::Kind::kWhole: break;
  }
  at->second.random = hello.random;
  if (hello.Offers(kDoorProtocol)) return HandOver(at, true);
  if (table_.MakeStranger(at->second.descriptor, MonotonicMs())) return HandOver(at, false);
  at->second.whole = true;
  ++unseated_;
  return std::next(at);
}

Listener::Queue::iterator Listener::HandOver(Queue::iterator at, bool for_door) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, at->second.descriptor, nullptr);
  ports_.take({at->second.descriptor, at->second.address, for_door, at->second.random});
  if (at->second.whole) --unseated_;
  --waiting_;
  return queue_.erase(at);
}

Listener::Queue::iterator Listener::HangUp(Queue::iterator at, const char* why) {
  // Counted first: who is hung up on may look at the counter at once.
  if (why != nullptr) {
    ++cut_;
    if (ports_.cut) ports_.cut(at->second.address, why);
  }
  table_.Forget(at->second.descriptor);
  close(at->second.descriptor);
  if (at->second.whole) --unseated_;
  --waiting_;
  return queue_.erase(at);
}

// Gives places among the strangers to those who wait for one.
void Listener::Seat() {
  if (unseated_ == 0) return;
  const std::int64_t now = MonotonicMs();
  for (auto at = queue_.begin(); at != queue_.end();) {
    const bool seated = at->second.whole && table_.MakeStranger(at->second.descriptor, now);
    at = seated ? HandOver(at, false) : std::next(at);
  }
}

void Listener::Look(ConnectionTable::Whom whom) {
  looked_ms_ = MonotonicMs();
  table_.Look(whom, looked_ms_, unseated_ > 0, [this](const std::string& address, const char* why) {
    ++cut_;
    if (ports_.cut) ports_.cut(address, why);
  });
}

void Listener::Housekeeping() {
  Look(ConnectionTable::Whom::kAll);
  kept_house_ms_ = looked_ms_;
  Seat();
  while (!queue_.empty() && kept_house_ms_ - queue_.begin()->second.since_ms > options_.hello_ms) {
    HangUp(queue_.begin(), queue_.begin()->second.whole ? "no place in time" : "silence");
  }
}

}  // namespace paritect
