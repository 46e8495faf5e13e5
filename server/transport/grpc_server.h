// The gRPC server: services behind TLS on the connections that the listener hands over. gRPC stays in the .cc file.
#ifndef PARITECT_SERVER_TRANSPORT_GRPC_SERVER_H_
#define PARITECT_SERVER_TRANSPORT_GRPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/listener.h"
#include "server/server_log.h"
#include "server/operators.h"
#include "server/transport/caller.h"

namespace paritect {

struct GrpcServerOptions {
  HostPort address;
  std::string folder;  // whose server.pem, server.key and ca.pem are watched: a renewed one needs no restart
  WallClock clock;
  bool insecure_loopback = false;
  ListenerOptions listener;
  ServerLog* log = nullptr;  // gets gRPC's own words; must outlive the server
};

class GrpcServer {
 public:
  virtual ~GrpcServer() = default;
  virtual int port() const = 0;
  virtual ListenerCounters listener_counters() const = 0;
  // ConnectionTable::Heard, with Caller::key and Caller::Actor. Any thread.
  virtual void Heard(const std::string& key, const std::string& actor, bool message) = 0;
  // Accepts no more, lets calls end until the deadline, then ends them.
  virtual void Stop(std::int64_t grace_ms) = 0;
};

// What a caller without certificate can reach is the enrolment door alone.
absl::StatusOr<std::unique_ptr<GrpcServer>> StartGrpcServer(const GrpcServerOptions& options, const Gate& gate,
                                                            OperatorCalls& calls, Enrolment& enrolment, Fleet& fleet);

// Full names of all methods of our services, from their descriptors: what the table of access must cover.
std::vector<std::string> ServiceMethods();

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_GRPC_SERVER_H_
