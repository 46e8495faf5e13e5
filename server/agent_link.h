// The way back to one connected agent; the transport implements it, so that the fleet's logic is tested without one.
#ifndef PARITECT_SERVER_AGENT_LINK_H_
#define PARITECT_SERVER_AGENT_LINK_H_

#include "absl/status/status.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

// Thread-safe. Neither call blocks or calls back into the fleet.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void Send(const v1::ServerMessage& message) = 0;
  // Ends the session with this status once what was sent is out.
  virtual void Close(absl::Status why) = 0;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AGENT_LINK_H_
