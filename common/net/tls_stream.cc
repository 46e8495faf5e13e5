#include "common/net/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

// A handshake with a chain of sixteen certificates stays far below.
constexpr std::size_t kHandshakeBytesMax = 256 << 10;

}  // namespace

absl::StatusOr<openssl::UniqueSslContext> NewClientContext() {
  openssl::UniqueSslContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return openssl::Failure("cannot start TLS");
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  return context;
}

absl::StatusOr<TlsStream> TlsStream::Make(SSL_CTX* context, TcpStream& tcp, const std::string& host,
                                          absl::string_view protocol) {
  openssl::UniqueSsl ssl(SSL_new(context));
  openssl::UniqueBio in = openssl::WriteBio(), out = openssl::WriteBio();
  if (ssl == nullptr || in == nullptr || out == nullptr) return openssl::Failure("cannot start TLS");
  SSL_set_bio(ssl.get(), in.release(), out.release());
  SSL_set_connect_state(ssl.get());
  if (!protocol.empty()) {
    const std::string offer = absl::StrCat(std::string(1, static_cast<char>(protocol.size())), protocol);
    SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                        static_cast<unsigned>(offer.size()));
  }
  // As a function, since the macro SSL_set_tlsext_host_name casts away const.
  std::string name = host;
  if (!IsIpAddress(host)) SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  return TlsStream(std::move(ssl), tcp);
}

absl::Status TlsStream::Flush() {
  const std::string out = openssl::BioText(SSL_get_wbio(ssl_.get()));
  BIO_reset(SSL_get_wbio(ssl_.get()));
  return tcp_->Send(out);
}

absl::Status TlsStream::Pull(absl::string_view during) {
  char buffer[16 << 10];
  auto n = tcp_->Receive(absl::MakeSpan(buffer));
  if (absl::IsUnavailable(n.status())) return absl::UnavailableError(absl::StrCat(n.status().message(), during));
  PARITECT_RETURN_IF_ERROR(n.status());
  received_ += *n;
  if (BIO_write(SSL_get_rbio(ssl_.get()), buffer, static_cast<int>(*n)) != static_cast<int>(*n)) {
    return openssl::Failure("cannot buffer TLS");
  }
  return absl::OkStatus();
}

absl::Status TlsStream::Shake() {
  while (true) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    const int error = SSL_get_error(ssl_.get(), done);
    const std::string reason = error == SSL_ERROR_SSL ? openssl::TakeError() : "";
    // An alert of ours is sent too; if that fails, the reason for it counts.
    const absl::Status sent = Flush();
    if (error == SSL_ERROR_SSL) return tcp_->Unreachable(absl::StrCat("the TLS handshake failed (", reason, ")"));
    PARITECT_RETURN_IF_ERROR(sent);
    if (done == 1) return absl::OkStatus();
    if (error != SSL_ERROR_WANT_READ) return tcp_->Unreachable("the TLS handshake failed");
    PARITECT_RETURN_IF_ERROR(Pull(" during the TLS handshake"));
    if (received_ > kHandshakeBytesMax) return tcp_->Unreachable("its TLS handshake does not end");
  }
}

absl::Status TlsStream::Send(absl::string_view bytes) {
  if (bytes.empty()) return absl::OkStatus();
  ERR_clear_error();
  if (SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size())) {
    return tcp_->Unreachable(absl::StrCat("TLS failed (", openssl::TakeError(), ")"));
  }
  return Flush();
}

absl::StatusOr<std::size_t> TlsStream::Receive(absl::Span<char> buffer) {
  while (true) {
    ERR_clear_error();
    const int n = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (n > 0) return static_cast<std::size_t>(n);
    const int error = SSL_get_error(ssl_.get(), n);
    if (error == SSL_ERROR_ZERO_RETURN) return tcp_->Unreachable("it hung up");
    if (error != SSL_ERROR_WANT_READ) {
      return tcp_->Unreachable(absl::StrCat("TLS failed (", openssl::TakeError(), ")"));
    }
    PARITECT_RETURN_IF_ERROR(Flush());
    PARITECT_RETURN_IF_ERROR(Pull(""));
  }
}

std::string TlsStream::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return name == nullptr ? "" : std::string(reinterpret_cast<const char*>(name), size);
}

std::vector<Certificate> TlsStream::shown() const {
  std::vector<Certificate> chain;
  STACK_OF(X509)* const stack = SSL_get_peer_cert_chain(ssl_.get());
  for (int i = 0; stack != nullptr && i < sk_X509_num(stack); ++i) {
    chain.push_back(Certificate::Share(sk_X509_value(stack, i)));
  }
  return chain;
}

}  // namespace paritect
