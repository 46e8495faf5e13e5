// The uplink over gRPC with mutual TLS. Only the grpc_*.cc files of this folder see gRPC.
#ifndef PARITECT_AGENT_UPLINK_GRPC_TRANSPORT_H_
#define PARITECT_AGENT_UPLINK_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/uplink/transport.h"

namespace paritect {

// What TLS needs, as PEM. Without certificate and key (both empty) the caller stays unknown: for Join alone.
struct TlsFiles {
  std::string authority_pem;
  std::string certificate_pem;
  std::string key_pem;
};

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

// Once, before anything of gRPC is used: no fork handlers, and gRPC's own log lines are kept to explain failures
// instead of being printed. `verbose`: also handed to `log`, on any thread.
void PrepareGrpc(void (*verbose)(absl::string_view line));

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_GRPC_TRANSPORT_H_
