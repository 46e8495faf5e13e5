#include "agent/uplink/grpc_calls.h"

#include <grpcpp/grpcpp.h>

#include "absl/time/clock.h"
#include "agent/uplink/grpc_channel.h"
#include "paritect/v1/agents.grpc.pb.h"
#include "paritect/v1/operators.grpc.pb.h"

namespace paritect {
namespace {

// `call(channel, context, response)` makes one call on a channel of its own.
template <typename Response, typename Call>
absl::StatusOr<Response> CallOnce(const RpcTarget& target, const Call& call) {
  const absl::Time began = absl::Now();
  const auto channel = OpenChannel(target.server, target.tls);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(began + absl::Milliseconds(target.timeout_ms)));
  Response response;
  const absl::Status status = FromGrpc(call(channel, context, response), target.server, began);
  if (!status.ok()) return status;
  return response;
}

}  // namespace

absl::StatusOr<v1::JoinResponse> CallRenew(const RpcTarget& target, const v1::RenewRequest& request) {
  return CallOnce<v1::JoinResponse>(target, [&](const auto& channel, auto& context, auto& response) {
    return v1::Agents::NewStub(channel)->Renew(&context, request, &response);
  });
}

absl::StatusOr<v1::CreateTokenResponse> CallCreateToken(const RpcTarget& target,
                                                        const v1::CreateTokenRequest& request) {
  return CallOnce<v1::CreateTokenResponse>(target, [&](const auto& channel, auto& context, auto& response) {
    return v1::Operators::NewStub(channel)->CreateToken(&context, request, &response);
  });
}

}  // namespace paritect
