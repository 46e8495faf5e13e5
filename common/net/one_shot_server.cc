#include "common/net/one_shot_server.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/net/handshake_watch.h"
#include "common/net/tcp_stream.h"

namespace paritect {
namespace {

constexpr std::int64_t kLookEveryMs = 500;
constexpr char kTlsHandshake = 0x16;  // the first byte of a ClientHello's record (RFC 8446, 5.1)

// In PEM; "" where none was shown. What was shown and did not verify has ended the handshake.
std::string CertificateOf(const SSL* ssl) {
  const X509* const shown = ssl == nullptr ? nullptr : SSL_get0_peer_certificate(ssl);
  if (shown == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return "";
  const openssl::UniqueBio text = openssl::WriteBio();
  return text != nullptr && PEM_write_bio_X509(text.get(), shown) == 1 ? openssl::BioText(text.get()) : "";
}

}  // namespace

OneShotServer::OneShotServer(OneShotOptions options, OneShotPorts ports) : options_(options), ports_(std::move(ports)) {
  if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) wake_[0] = wake_[1] = -1;
  thread_ = std::thread([this] { Loop(); });
}

OneShotServer::~OneShotServer() {
  Stop();
  for (const auto& [descriptor, address] : arrived_) close(descriptor);
  for (int end : wake_) {
    if (end >= 0) close(end);
  }
}

void OneShotServer::Take(int descriptor, const std::string& address) {
  {
    absl::MutexLock lock(&mutex_);
    arrived_.emplace_back(descriptor, address);
  }
  if (wake_[1] >= 0 && write(wake_[1], "x", 1) < 0) {
    // The loop also looks twice a second.
  }
}

void OneShotServer::Stop() {
  if (stopping_.exchange(true)) return;
  if (wake_[1] >= 0 && write(wake_[1], "x", 1) < 0) {
    // As above.
  }
  if (thread_.joinable()) thread_.join();
}

void OneShotServer::Loop() {
  // A caller who hung up is an error of the write, not a signal.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  bool more = false;
  while (!stopping_) {
    std::vector<pollfd> watched = {{wake_[0], POLLIN, 0}};
    for (const Caller& caller : callers_) watched.push_back({caller.descriptor, caller.wants, 0});
    poll(watched.data(), watched.size(), more ? 0 : static_cast<int>(kLookEveryMs));
    char drained[64];
    while (wake_[0] >= 0 && read(wake_[0], drained, sizeof(drained)) > 0) {
    }
    const std::int64_t now = MonotonicMs();
    std::size_t i = 1;
    for (Caller& caller : callers_) {
      Look(caller, watched[i++].revents);
      if (now >= caller.deadline_ms) caller.over = true;
    }
    Adopt();
    more = AnswerNext();
    for (Caller& caller : callers_) {
      if (caller.over) Close(caller);
    }
    callers_.remove_if([](const Caller& caller) { return caller.over; });
    callers_count_ = static_cast<int>(callers_.size());
  }
  for (Caller& caller : callers_) Close(caller);
  callers_.clear();
}

void OneShotServer::Close(Caller& caller) {
  if (caller.descriptor >= 0) close(caller.descriptor);
  caller.descriptor = -1;
}

void OneShotServer::Adopt() {
  std::vector<std::pair<int, std::string>> arrived;
  {
    absl::MutexLock lock(&mutex_);
    arrived.swap(arrived_);
  }
  for (auto& [descriptor, address] : arrived) {
    MakeRoom(address);
    Caller& caller = callers_.emplace_back();
    caller.descriptor = descriptor;
    caller.address = address;
    caller.deadline_ms = MonotonicMs() + options_.time_ms;
    caller.wants = POLLIN;
    if (ports_.tls) {
      caller.ssl = ports_.tls();
      if (caller.ssl == nullptr || SSL_set_fd(caller.ssl.get(), descriptor) != 1) {
        caller.over = true;
        continue;
      }
      SSL_set_accept_state(caller.ssl.get());
    }
    Advance(caller);  // most have said something already
  }
}

void OneShotServer::MakeRoom(const std::string& address) {
  int all = 0;
  int here = 0;
  Caller* oldest = nullptr;
  Caller* oldest_here = nullptr;
  for (Caller& caller : callers_) {
    if (caller.over) continue;
    ++all;
    if (oldest == nullptr) oldest = &caller;
    if (caller.address != address) continue;
    ++here;
    if (oldest_here == nullptr) oldest_here = &caller;
  }
  if (here >= options_.callers_per_address_max && oldest_here != nullptr) {
    oldest_here->over = true;
  } else if (all >= options_.callers_max && oldest != nullptr) {
    oldest->over = true;
  }
}

void OneShotServer::Look(Caller& caller, short seen) {  // NOLINT(google-runtime-int): poll's type
  if (seen == 0) return;
  if (!caller.ready) return Advance(caller);
  if ((seen & (POLLHUP | POLLERR | POLLNVAL)) != 0) caller.over = true;  // gone: its answer is nobody's
}

// As far as it goes without waiting.
void OneShotServer::Advance(Caller& caller) {
  if (caller.over) return;
  if (!caller.shaken && !Shake(caller)) return;
  if (!caller.answer.empty()) return Write(caller);
  if (!Read(caller)) return;
  if (caller.plain || !ports_.answer_plain) return Answer(caller);
  caller.ready = true;
  caller.wants = 0;
}

void OneShotServer::Answer(Caller& caller) {
  const auto& answer = caller.plain ? ports_.answer_plain : ports_.answer;
  caller.answer = answer(caller.received, {caller.address, CertificateOf(caller.ssl.get())});
  if (caller.answer.empty()) caller.over = true;
  Write(caller);
}

// Whether others wait.
bool OneShotServer::AnswerNext() {
  std::map<std::string, std::uint64_t> here;
  Caller* next = nullptr;
  int waiting = 0;
  for (Caller& caller : callers_) {
    const auto known = answered_.find(caller.address);
    const std::uint64_t last = here[caller.address] = known == answered_.end() ? 0 : known->second;
    if (!caller.ready || caller.over) continue;
    ++waiting;
    if (next == nullptr || last < here[next->address]) next = &caller;
  }
  answered_ = std::move(here);
  if (next == nullptr) return false;
  answered_[next->address] = ++turn_;
  next->ready = false;
  Answer(*next);
  return waiting > 1;
}

void OneShotServer::Wait(Caller& caller, int ssl_error) {
  if (ssl_error == SSL_ERROR_WANT_READ) {
    caller.wants = POLLIN;
  } else if (ssl_error == SSL_ERROR_WANT_WRITE) {
    caller.wants = POLLOUT;
  } else {
    caller.over = true;
  }
}

// Which of the two it speaks; false: nothing was said yet.
bool OneShotServer::Sniff(Caller& caller) {
  char first = kTlsHandshake;
  const ssize_t n = recv(caller.descriptor, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n <= 0) {
    Wait(caller, n < 0 && (errno == EAGAIN || errno == EINTR) ? SSL_ERROR_WANT_READ : SSL_ERROR_SYSCALL);
    return false;
  }
  caller.sniffed = true;  // what follows the hello begins otherwise
  caller.plain = first != kTlsHandshake;
  if (caller.plain) caller.ssl.reset();
  return true;
}

bool OneShotServer::Shake(Caller& caller) {
  if (caller.ssl != nullptr && ports_.answer_plain && !caller.sniffed && !Sniff(caller)) return false;
  if (caller.ssl != nullptr) {
    ERR_clear_error();
    const int done = SSL_do_handshake(caller.ssl.get());
    if (done != 1) {
      const int error = SSL_get_error(caller.ssl.get(), done);
      if (error == SSL_ERROR_SSL && ports_.refused)
        ports_.refused(caller.address, WhyHandshakeFailed(caller.ssl.get()));
      Wait(caller, error);
      return false;
    }
  }
  caller.shaken = true;
  return true;
}

// True: the request is whole.
bool OneShotServer::Read(Caller& caller) {
  char buffer[8 << 10];
  while (true) {
    ERR_clear_error();
    const auto n = caller.ssl != nullptr
                       ? static_cast<ssize_t>(SSL_read(caller.ssl.get(), buffer, static_cast<int>(sizeof(buffer))))
                       : recv(caller.descriptor, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n <= 0) {
      const bool later = caller.ssl == nullptr && n < 0 && (errno == EAGAIN || errno == EINTR);
      Wait(caller, caller.ssl != nullptr ? SSL_get_error(caller.ssl.get(), static_cast<int>(n))
                   : later               ? SSL_ERROR_WANT_READ
                                         : SSL_ERROR_SYSCALL);
      return false;
    }
    caller.received.append(buffer, static_cast<std::size_t>(n));
    const bool too_much = caller.received.size() > options_.request_bytes_max;
    const auto whole =
        too_much ? absl::StatusOr<bool>(absl::ResourceExhaustedError("too much")) : ports_.whole(caller.received);
    if (!whole.ok()) caller.over = true;
    if (!whole.ok() || *whole) return whole.ok();
  }
}

void OneShotServer::Write(Caller& caller) {
  while (!caller.over && caller.sent < caller.answer.size()) {
    const char* const at = caller.answer.data() + caller.sent;
    const std::size_t size = std::min<std::size_t>(caller.answer.size() - caller.sent, 64 << 10);
    ERR_clear_error();
    const auto n = caller.ssl != nullptr ? static_cast<ssize_t>(SSL_write(caller.ssl.get(), at, static_cast<int>(size)))
                                         : send(caller.descriptor, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n <= 0) {
      const bool later = caller.ssl == nullptr && n < 0 && (errno == EAGAIN || errno == EINTR);
      Wait(caller, caller.ssl != nullptr ? SSL_get_error(caller.ssl.get(), static_cast<int>(n))
                   : later               ? SSL_ERROR_WANT_WRITE
                                         : SSL_ERROR_SYSCALL);
      return;
    }
    caller.sent += static_cast<std::size_t>(n);
  }
  if (caller.over) return;
  if (caller.ssl != nullptr) SSL_shutdown(caller.ssl.get());
  shutdown(caller.descriptor, SHUT_WR);
  caller.over = true;
}

}  // namespace paritect
