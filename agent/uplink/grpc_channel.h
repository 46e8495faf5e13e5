// What the gRPC files of this folder share; includes gRPC.
#ifndef PARITECT_AGENT_UPLINK_GRPC_CHANNEL_H_
#define PARITECT_AGENT_UPLINK_GRPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/uplink/tls_files.h"

namespace paritect {

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& server, const TlsFiles& tls);

// OK stays OK. `since`: log lines of gRPC that are younger may explain a failure.
absl::Status FromGrpc(const grpc::Status& status, absl::string_view server, absl::Time since);

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_GRPC_CHANNEL_H_
