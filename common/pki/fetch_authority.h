// First contact: gets a server's authority over TLS before anything of it is trusted but its pin.
#ifndef PARITECT_COMMON_PKI_FETCH_AUTHORITY_H_
#define PARITECT_COMMON_PKI_FETCH_AUTHORITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/host_port.h"
#include "common/pki/certificate.h"
#include "common/pki/pin.h"

namespace paritect {

struct FetchQuery {
  HostPort server;
  std::int64_t now = 0;              // Unix seconds, for the certificates' dates
  std::int64_t timeout_ms = 10'000;  // for the whole, looking up the name excepted
  bool check_host = true;            // the server's certificate must be for server.host
};

// Shakes hands (TLS 1.2 or later, ALPN "h2", no client certificate), which proves that the server holds the key of the
// certificate it shows, checks the pin and the whole chain (VerifyPinnedChain, its errors), and hangs up. Gives the
// authority. Unavailable: no such host, refused, hung up, does not speak TLS; DeadlineExceeded: silence.
absl::StatusOr<Certificate> FetchAuthority(const FetchQuery& query, const CaPin& pin);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_FETCH_AUTHORITY_H_
