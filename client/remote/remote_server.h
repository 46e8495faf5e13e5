// A server as the commands see it: the RPCs of proto/paritect/v1/operators.proto with absl::Status results. The real
// one (grpc_server.h) speaks gRPC; tests have their own.
//
// Errors carry the server's words and code: InvalidArgument, NotFound, AlreadyExists (the user's mistake),
// PermissionDenied, FailedPrecondition (refused). Unavailable and DeadlineExceeded tell the address and what is wrong
// with it in words. Not thread-safe.
#ifndef PARITECT_CLIENT_REMOTE_REMOTE_SERVER_H_
#define PARITECT_CLIENT_REMOTE_REMOTE_SERVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/remote/tls_probe.h"
#include "common/credential.h"
#include "common/net/starting_server.h"
#include "paritect/v1/operators.pb.h"

namespace paritect {

// The next piece to send; nullopt: that was all. An error ends the call with it.
using NextChunk = absl::FunctionRef<absl::StatusOr<std::optional<v1::ImportChunk>>()>;

class RemoteServer {
 public:
  virtual ~RemoteServer() = default;

  // "HOST:PORT", for messages: the one that answered last.
  virtual std::string address() const = 0;

#define PARITECT_OPERATOR_CALL(name, roles, subject) \
  virtual absl::StatusOr<v1::name##Response> name(const v1::name##Request& request) = 0;
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL
  virtual absl::StatusOr<v1::DiagnosisResponse> Diagnose(const v1::DiagnosisRequest& request) = 0;

  // Calls `visit` with every state until the run ends or `visit` returns false. DeadlineExceeded after `timeout_ms`
  // (0: never).
  virtual absl::Status WatchAudit(const v1::WatchAuditRequest& request, std::int64_t timeout_ms,
                                  absl::FunctionRef<bool(const v1::AuditRun&)> visit) = 0;
  // Calls `visit` with every event until no more will come or `visit` returns false.
  virtual absl::Status WatchEvents(const v1::WatchEventsRequest& request,
                                   absl::FunctionRef<bool(const v1::LiveEvent&)> visit) = 0;
  virtual absl::StatusOr<v1::ImportResponse> Import(NextChunk next) = 0;
  // Every address of the credential, asked by hand (tls_probe.h).
  virtual std::vector<TlsProbe> Probe() = 0;
  virtual absl::Status GetEvidence(const v1::GetEvidenceRequest& request,
                                   absl::FunctionRef<absl::Status(const v1::EvidenceChunk&)> visit) = 0;
};

struct ConnectOptions {
  std::int64_t timeout_ms = 30'000;  // of a call; streams have none while the server lives
  TellWaiting waiting;               // may be empty
};

class RemoteConnector {
 public:
  virtual ~RemoteConnector() = default;
  // Makes no connection yet: the first call does.
  virtual absl::StatusOr<std::unique_ptr<RemoteServer>> Connect(const Credential& credential,
                                                                const ConnectOptions& options) = 0;
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_REMOTE_SERVER_H_
