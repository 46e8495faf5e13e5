// The uplink over gRPC with mutual TLS. Only the grpc_*.cc files of this folder see gRPC.
#ifndef PARITECT_AGENT_UPLINK_GRPC_TRANSPORT_H_
#define PARITECT_AGENT_UPLINK_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/uplink/tls_files.h"
#include "agent/uplink/transport.h"

namespace paritect {

// Streams of Agents.Session. Each has a connection of its own, so that the uplink's back-off and the newest certificate
// govern every attempt. Thread-safe.
class GrpcTransport : public UplinkTransport {
 public:
  explicit GrpcTransport(TlsFiles tls) : tls_(std::move(tls)) {}

  std::unique_ptr<UplinkStream> Open(const std::string& server, StreamEvents& events) override;
  // From the next Open on.
  void SetTls(TlsFiles tls);

 private:
  absl::Mutex mutex_;
  TlsFiles tls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_GRPC_TRANSPORT_H_
