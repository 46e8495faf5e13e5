// Why a server cannot be talked to: gRPC tells only "failed to connect", so the handshake is made once more by hand.
#ifndef PARITECT_CLIENT_REMOTE_TLS_PROBE_H_
#define PARITECT_CLIENT_REMOTE_TLS_PROBE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/credential.h"

namespace paritect {

struct TlsProbe {
  std::string server;  // "HOST:PORT"
  // OK: connected, both certificates accepted. Unavailable: no such host, refused, silent, no TLS. Unauthenticated: one
  // end does not accept the other's certificate. MayBeStarting: refused, or hung up on in the handshake.
  absl::Status status;
  std::string protocol;               // "TLSv1.3"; "" where there was no handshake
  std::int64_t server_not_after = 0;  // of the server's certificate, Unix seconds; 0: not seen
};

// Connects, shakes hands with the credential's certificate and waits for the server's first bytes, each at most
// `timeout_ms`. `server`: "HOST:PORT".
TlsProbe ProbeTls(const Credential& credential, const std::string& server, std::int64_t timeout_ms);

// Never OK: "server HOST:PORT not reachable: ..." or "the server refused the certificate: ...". Keeps MayBeStarting.
absl::Status ExplainUnreachable(const TlsProbe& probe);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_TLS_PROBE_H_
