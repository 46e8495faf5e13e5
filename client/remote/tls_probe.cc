#include "client/remote/tls_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/errno_status.h"
#include "common/host_port.h"
#include "common/net/starting_server.h"
#include "common/pki/certificate.h"
#include "common/pki/openssl.h"

namespace paritect {
namespace {

using openssl::Free;
using openssl::UniqueBio;
using openssl::UniqueKey;
using openssl::UniqueSsl;
using openssl::UniqueSslContext;
using openssl::UniqueX509;

struct Socket {
  int fd = -1;
  ~Socket() {
    if (fd >= 0) close(fd);
  }
};

absl::Status Unreachable(absl::string_view why) {
  return absl::UnavailableError(why);
}
absl::Status BadCertificate(absl::string_view why) {
  return absl::UnauthenticatedError(why);
}

absl::Status ConnectOne(const addrinfo& address, std::int64_t timeout_ms, Socket& out) {
  Socket made = {socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (made.fd < 0) return Unreachable(ErrnoText(errno));
  int error = connect(made.fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd ready = {made.fd, POLLOUT, 0};
    if (poll(&ready, 1, static_cast<int>(timeout_ms)) != 1) {
      return Unreachable(absl::StrCat("no answer within ", timeout_ms, " ms (is a firewall in between?)"));
    }
    socklen_t size = sizeof(error);
    getsockopt(made.fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == ECONNREFUSED) {
    return AsOfStartingServer(Unreachable("connection refused (is the server running, on that port?)"));
  }
  if (error != 0) return Unreachable(ErrnoText(error));
  // From here on plain blocking calls with a time limit.
  fcntl(made.fd, F_SETFL, fcntl(made.fd, F_GETFL) & ~O_NONBLOCK);
  const timeval limit = {static_cast<time_t>(timeout_ms / 1000), static_cast<suseconds_t>(timeout_ms % 1000 * 1000)};
  setsockopt(made.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(made.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  std::swap(out.fd, made.fd);
  return absl::OkStatus();
}

absl::Status ConnectHost(const HostPort& server, std::int64_t timeout_ms, Socket& out) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(server.host.c_str(), absl::StrCat(server.port).c_str(), &hints, &found);
  if (failed != 0) return Unreachable(absl::StrCat("the name cannot be resolved: ", gai_strerror(failed)));
  const std::unique_ptr<addrinfo, Free<freeaddrinfo>> addresses(found);
  absl::Status status = Unreachable("the name has no address");
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    status = ConnectOne(*at, timeout_ms, out);
    if (status.ok()) return status;
  }
  return status;
}

bool UseCredential(SSL_CTX* context, const Credential& credential) {
  const UniqueBio authority = openssl::ReadBio(credential.authority_pem);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  while (const UniqueX509 one = UniqueX509(PEM_read_bio_X509(authority.get(), nullptr, nullptr, nullptr))) {
    X509_STORE_add_cert(store, one.get());
  }
  const UniqueBio chain = openssl::ReadBio(credential.certificate_pem);
  const UniqueX509 leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  if (leaf == nullptr || SSL_CTX_use_certificate(context, leaf.get()) != 1) return false;
  while (const UniqueX509 one = UniqueX509(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr))) {
    SSL_CTX_add1_chain_cert(context, one.get());
  }
  const UniqueBio key_text = openssl::ReadBio(credential.key_pem);
  const UniqueKey key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

UniqueSsl NewSession(SSL_CTX* context, const std::string& host) {
  static constexpr unsigned char kAlpn[] = {2, 'h', '2'};
  UniqueSsl ssl(SSL_new(context));
  if (ssl == nullptr) return ssl;
  SSL_set_alpn_protos(ssl.get(), kAlpn, sizeof(kAlpn));
  std::string name = host;
  if (IsIpAddress(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str());
  } else {
    SSL_set1_host(ssl.get(), host.c_str());
    SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  }
  return ssl;
}

// What we hold against the server's certificate.
std::string OfServersCertificate(SSL* ssl, const std::string& host, std::int64_t& not_after) {
  const UniqueX509 shown(SSL_get1_peer_certificate(ssl));
  std::string dates;
  std::string of;
  if (shown != nullptr) {
    const Certificate certificate = Certificate::Share(shown.get());
    not_after = certificate.NotAfter();
    dates = FormatUtc(not_after);
    AlternativeNames names = certificate.Names();
    names.dns.insert(names.dns.end(), names.ip.begin(), names.ip.end());
    if (!names.dns.empty()) of = absl::StrCat(" but for ", absl::StrJoin(names.dns, ", "));
  }
  switch (const auto result = SSL_get_verify_result(ssl)) {
    case X509_V_OK: return "";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat("the server's certificate has expired", dates.empty() ? "" : absl::StrCat(" (", dates, ")"),
                          ", or this machine's clock is wrong");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the server's certificate is not yet valid: is this machine's clock right?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("the server's certificate is not for ", host, of, "; `paritect-server names DIR --host ",
                          host, "` on the server makes it so");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the server's certificate is of another authority than the credential's: another server, one that was "
             "made anew, or someone in between";
    default: return absl::StrCat("the server's certificate is not valid: ", X509_verify_cert_error_string(result));
  }
}

// What the server holds against ours, by the alert that it sent.
std::string OfOurCertificate(absl::string_view reason) {
  const absl::string_view head = "the server refused the certificate: ";
  if (absl::StrContains(reason, "expired")) return absl::StrCat(head, "it has expired");
  if (absl::StrContains(reason, "revoked")) return absl::StrCat(head, "it was revoked");
  if (absl::StrContains(reason, "unknown ca")) return absl::StrCat(head, "it is of another authority");
  return absl::StrCat(head, reason);
}

absl::Status Shake(SSL* ssl, const std::string& host, TlsProbe& probe) {
  ERR_clear_error();
  const int done = SSL_connect(ssl);
  const std::string fault = OfServersCertificate(ssl, host, probe.server_not_after);
  if (done == 1) {
    probe.protocol = SSL_get_version(ssl);
    return absl::OkStatus();
  }
  const int error = SSL_get_error(ssl, done);
  if (!fault.empty()) return BadCertificate(fault);
  if (error != SSL_ERROR_SSL) {
    if (errno == EAGAIN) return Unreachable("it accepts connections but does not answer");
    return AsOfStartingServer(
        Unreachable("it hung up during the TLS handshake (overloaded, or not a Paritect server)"));
  }
  const std::string reason = openssl::TakeError();
  if (absl::StrContains(reason, "alert")) return BadCertificate(OfOurCertificate(reason));
  return Unreachable(absl::StrCat("the TLS handshake failed (", reason, "): is it a Paritect server?"));
}

// In TLS 1.3 the server judges our certificate after our handshake is done: its first bytes tell.
absl::Status FirstBytes(SSL* ssl) {
  char byte = 0;
  ERR_clear_error();
  errno = 0;
  const int n = SSL_read(ssl, &byte, 1);
  if (n == 1) return absl::OkStatus();
  const bool silent = errno == EAGAIN;
  const int error = SSL_get_error(ssl, n);
  if (error == SSL_ERROR_SSL) {
    const std::string reason = openssl::TakeError();
    if (absl::StrContains(reason, "alert")) return BadCertificate(OfOurCertificate(reason));
  }
  if (silent) return Unreachable("it accepts connections but does not answer");
  return BadCertificate(
      "the server closed the connection after the handshake: it does not accept the certificate (expired, revoked, or "
      "of "
      "another authority), or it has no room for more connections");
}

}  // namespace

TlsProbe ProbeTls(const Credential& credential, const std::string& server, std::int64_t timeout_ms) {
  TlsProbe probe;
  probe.server = server;
  auto address = ParseHostPort(server);
  if (!address.ok()) {
    probe.status = address.status();
    return probe;
  }
  Socket connection;
  probe.status = ConnectHost(*address, timeout_ms, connection);
  if (!probe.status.ok()) return probe;
  const UniqueSslContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || !UseCredential(context.get(), credential)) {
    probe.status = absl::InvalidArgumentError("the credential's certificate and key cannot be used");
    return probe;
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const UniqueSsl ssl = NewSession(context.get(), address->host);
  if (ssl == nullptr || SSL_set_fd(ssl.get(), connection.fd) != 1) {
    probe.status = absl::InternalError("cannot start TLS");
    return probe;
  }
  probe.status = Shake(ssl.get(), address->host, probe);
  if (probe.status.ok()) probe.status = FirstBytes(ssl.get());
  return probe;
}

absl::Status ExplainUnreachable(const TlsProbe& probe) {
  const absl::Status& status = probe.status;
  const std::string& server = probe.server;
  if (status.ok()) {
    return absl::UnavailableError(absl::StrCat("server ", server,
                                               " not reachable: it answers, but is no Paritect server, "
                                               "or it is starting or stopping; try again"));
  }
  if (absl::IsUnauthenticated(status)) return absl::UnauthenticatedError(absl::StrCat(server, ": ", status.message()));
  absl::Status told = absl::UnavailableError(absl::StrCat("server ", server, " not reachable: ", status.message()));
  return MayBeStarting(status) ? AsOfStartingServer(std::move(told)) : told;
}

}  // namespace paritect
