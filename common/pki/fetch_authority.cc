#include "common/pki/fetch_authority.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

// A handshake with a chain of sixteen certificates stays far below.
constexpr std::size_t kHandshakeBytesMax = 256 << 10;

std::int64_t MonotonicMs() {
  std::timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

absl::Status Unreachable(const HostPort& server, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("cannot reach ", FormatHostPort(server), ": ", why));
}

// One connection with a deadline for everything that is done with it. Not thread-safe.
class Connection {
 public:
  Connection(const HostPort& server, std::int64_t timeout_ms)
      : server_(server), deadline_ms_(MonotonicMs() + timeout_ms), timeout_ms_(timeout_ms) {}
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Tries the host's addresses in the resolver's order.
  absl::Status Open();
  absl::Status Send(absl::string_view bytes);
  // At least one byte; Unavailable when the other end hangs up.
  absl::StatusOr<std::size_t> Receive(absl::Span<char> buffer);

 private:
  absl::Status OpenAddress(const addrinfo& address, std::int64_t deadline_ms);
  absl::Status Wait(short events, std::int64_t deadline_ms);  // NOLINT(google-runtime-int): poll's type
  absl::Status Broken(int error) const { return Unreachable(server_, std::generic_category().message(error)); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  const HostPort& server_;
  const std::int64_t deadline_ms_;
  const std::int64_t timeout_ms_;
  int fd_ = -1;
};

absl::Status Connection::Wait(short events, std::int64_t deadline_ms) {  // NOLINT(google-runtime-int)
  while (true) {
    const std::int64_t left = deadline_ms - MonotonicMs();
    pollfd waited = {fd_, events, 0};
    const int ready = left <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Broken(errno);
    if (ready == 0) {
      return absl::DeadlineExceededError(absl::StrCat(FormatHostPort(server_), " did not answer within ", timeout_ms_,
                                                      " ms: is it a Paritect server, and is no "
                                                      "firewall in between?"));
    }
  }
}

absl::Status Connection::OpenAddress(const addrinfo& address, std::int64_t deadline_ms) {
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

absl::Status Connection::Open() {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(server_.host.c_str(), absl::StrCat(server_.port).c_str(), &hints, &found);
  if (failed != 0) return Unreachable(server_, gai_strerror(failed));
  const std::unique_ptr<addrinfo, openssl::Free<freeaddrinfo>> addresses(found);
  absl::Status status = Unreachable(server_, "no address");
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    // An address that swallows everything must leave time for the next one.
    const std::int64_t now = MonotonicMs();
    const std::int64_t share = at->ai_next == nullptr ? deadline_ms_ - now : (deadline_ms_ - now) / 2;
    status = OpenAddress(*at, now + share);
    if (status.ok()) return status;
  }
  return status;
}

absl::Status Connection::Send(absl::string_view bytes) {
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

absl::StatusOr<std::size_t> Connection::Receive(absl::Span<char> buffer) {
  while (true) {
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0) return Unreachable(server_, "it hung up during the TLS handshake");
    if (errno == EAGAIN) {
      PARITECT_RETURN_IF_ERROR(Wait(POLLIN, deadline_ms_));
    } else if (errno != EINTR) {
      return Broken(errno);
    }
  }
}

bool IsAddress(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

// A client whose bytes go through memory, so that the socket, its deadline and its signals stay ours.
absl::StatusOr<openssl::UniqueSsl> MakeClient(SSL_CTX* context, const std::string& host) {
  static constexpr unsigned char kAlpn[] = {2, 'h', '2'};
  openssl::UniqueSsl ssl(SSL_new(context));
  openssl::UniqueBio in = openssl::WriteBio(), out = openssl::WriteBio();
  if (ssl == nullptr || in == nullptr || out == nullptr) return openssl::Failure("cannot start TLS");
  SSL_set_bio(ssl.get(), in.release(), out.release());
  SSL_set_connect_state(ssl.get());
  SSL_set_alpn_protos(ssl.get(), kAlpn, sizeof(kAlpn));
  // As a function, since the macro SSL_set_tlsext_host_name casts away const.
  std::string name = host;
  if (!IsAddress(host)) SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  return ssl;
}

absl::Status Shake(SSL* ssl, Connection& connection, const HostPort& server) {
  std::vector<char> buffer(16 << 10);
  std::size_t received = 0;
  while (true) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl);
    const int error = SSL_get_error(ssl, done);
    const std::string reason = error == SSL_ERROR_SSL ? openssl::TakeError() : "";
    // An alert of ours is sent too; if that fails, the reason for it counts.
    const std::string out = openssl::BioText(SSL_get_wbio(ssl));
    BIO_reset(SSL_get_wbio(ssl));
    const absl::Status sent = connection.Send(out);
    if (error == SSL_ERROR_SSL) return Unreachable(server, absl::StrCat("the TLS handshake failed (", reason, ")"));
    PARITECT_RETURN_IF_ERROR(sent);
    if (done == 1) return absl::OkStatus();
    if (error != SSL_ERROR_WANT_READ) return Unreachable(server, "the TLS handshake failed");
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, connection.Receive(absl::MakeSpan(buffer)));
    received += n;
    if (received > kHandshakeBytesMax) return Unreachable(server, "its TLS handshake does not end");
    if (BIO_write(SSL_get_rbio(ssl), buffer.data(), static_cast<int>(n)) != static_cast<int>(n)) {
      return openssl::Failure("cannot buffer TLS");
    }
  }
}

}  // namespace

absl::StatusOr<Certificate> FetchAuthority(const FetchQuery& query, const CaPin& pin) {
  const openssl::UniqueSslContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return openssl::Failure("cannot start TLS");
  }
  // What the handshake cannot know, the pin, is checked right after it.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  PARITECT_ASSIGN_OR_RETURN(const openssl::UniqueSsl ssl, MakeClient(context.get(), query.server.host));
  Connection connection(query.server, query.timeout_ms);
  PARITECT_RETURN_IF_ERROR(connection.Open());
  PARITECT_RETURN_IF_ERROR(Shake(ssl.get(), connection, query.server));
  std::vector<Certificate> chain;
  STACK_OF(X509)* const shown = SSL_get_peer_cert_chain(ssl.get());
  for (int i = 0; shown != nullptr && i < sk_X509_num(shown); ++i) {
    chain.push_back(Certificate::Share(sk_X509_value(shown, i)));
  }
  const ChainQuery wanted = {ChainQuery::Purpose::kServer, query.now, query.check_host ? query.server.host : ""};
  auto authority = VerifyPinnedChain(chain, pin, wanted);
  if (!authority.ok()) return Annotate(authority.status(), FormatHostPort(query.server));
  return authority;
}

}  // namespace paritect
