// What a failed call means, in words that tell what to do.
#ifndef PARITECT_AGENT_UPLINK_EXPLAIN_FAILURE_H_
#define PARITECT_AGENT_UPLINK_EXPLAIN_FAILURE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct FailedCall {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  absl::string_view message;     // the server's or gRPC's
  absl::string_view server;      // "HOST:PORT"
  absl::string_view tls_detail;  // what TLS said of the attempt; "": nothing
};

// Unavailable "server X not reachable: ..."; DeadlineExceeded; Unauthenticated where the certificate of one side is not
// taken by the other, PermissionDenied where ours is revoked. A server's own refusal keeps its code and words.
absl::Status ExplainFailure(const FailedCall& call);

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_EXPLAIN_FAILURE_H_
