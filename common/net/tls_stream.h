// The client's end of TLS over a TcpStream: its bytes go through memory, so that the socket, its deadline and its
// signals stay the stream's.
#ifndef PARITECT_COMMON_NET_TLS_STREAM_H_
#define PARITECT_COMMON_NET_TLS_STREAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/net/tcp_stream.h"
#include "common/pki/certificate.h"
#include "common/pki/openssl.h"

namespace paritect {

// TLS 1.2 or later; verifies nobody until told to. Internal where OpenSSL fails.
absl::StatusOr<openssl::UniqueSslContext> NewClientContext();

class TlsStream {
 public:
  // `tcp` is open and outlives it. `protocol`: offered as ALPN; "": none.
  static absl::StatusOr<TlsStream> Make(SSL_CTX* context, TcpStream& tcp, const std::string& host,
                                        absl::string_view protocol);

  // Unavailable: "the TLS handshake failed (REASON)", "it hung up during the TLS handshake".
  absl::Status Shake();
  absl::Status Send(absl::string_view bytes);
  // At least one byte; Unavailable when the other end hangs up.
  absl::StatusOr<std::size_t> Receive(absl::Span<char> buffer);

  std::string protocol() const;  // that the server chose; "": none
  std::vector<Certificate> shown() const;
  SSL* ssl() const { return ssl_.get(); }

 private:
  TlsStream(openssl::UniqueSsl ssl, TcpStream& tcp) : ssl_(std::move(ssl)), tcp_(&tcp) {}
  absl::Status Flush();
  absl::Status Pull(absl::string_view during);

  openssl::UniqueSsl ssl_;
  TcpStream* tcp_;
  std::size_t received_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_TLS_STREAM_H_
