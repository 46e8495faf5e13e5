// The network as the uplink sees it: streams of messages to one server at a time. agent/uplink/grpc_transport.h is the
// real one, tests have their own.
#ifndef PARITECT_AGENT_UPLINK_TRANSPORT_H_
#define PARITECT_AGENT_UPLINK_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

// What happens on a stream. Called on any thread, also before Open has returned; must not block and not call the
// stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  virtual void OnMessage(v1::ServerMessage message) = 0;
  virtual void OnWritten() = 0;  // the next Write may follow
  // The last one. The status says in words why: Unavailable "not reachable ...", Unauthenticated or PermissionDenied
  // where the certificate or this node is refused, OK where both sides were done.
  virtual void OnClosed(absl::Status status) = 0;
};

class UplinkStream {
 public:
  virtual ~UplinkStream() = default;                 // cancels; no event comes after it
  virtual void Write(v1::AgentMessage message) = 0;  // one at a time: the next after OnWritten
  virtual void CloseWrites() = 0;                    // no Write follows; OnClosed comes when the server is done too
};

class UplinkTransport {
 public:
  virtual ~UplinkTransport() = default;
  // `server` is "HOST:PORT". Returns at once; `events` must outlive the stream.
  virtual std::unique_ptr<UplinkStream> Open(const std::string& server, StreamEvents& events) = 0;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_TRANSPORT_H_
