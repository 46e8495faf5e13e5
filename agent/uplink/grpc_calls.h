// The single calls that an agent makes beside its session. They block, each at most its time limit.
#ifndef PARITECT_AGENT_UPLINK_GRPC_CALLS_H_
#define PARITECT_AGENT_UPLINK_GRPC_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/uplink/grpc_transport.h"
#include "paritect/v1/agents.pb.h"
#include "paritect/v1/operators.pb.h"

namespace paritect {

struct RpcTarget {
  std::string server;  // "HOST:PORT"
  TlsFiles tls;
  std::int64_t timeout_ms = 15'000;
};

// Errors: those of ExplainFailure.
absl::StatusOr<v1::JoinResponse> CallRenew(const RpcTarget& target, const v1::RenewRequest& request);
absl::StatusOr<v1::CreateTokenResponse> CallCreateToken(const RpcTarget& target, const v1::CreateTokenRequest& request);

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_GRPC_CALLS_H_
