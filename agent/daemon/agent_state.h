// The folder in which an agent keeps what must outlive it:
//   DIR/agent.credential   who it is (common/credential.h)     0600
//   DIR/agent.yaml         its configuration, unless another is named
//   DIR/agent.sock         where programs of this machine hand evidence over, while it runs
//   DIR/spool/             what waits for the server (docs/spool.md)
#ifndef PARITECT_AGENT_DAEMON_AGENT_STATE_H_
#define PARITECT_AGENT_DAEMON_AGENT_STATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct AgentState {
  std::string folder;
  std::string credential() const { return folder + "/agent.credential"; }
  std::string config() const { return folder + "/agent.yaml"; }
  std::string socket() const { return folder + "/agent.sock"; }
  std::string spool() const { return folder + "/spool"; }
};

// The one named; else /var/lib/paritect-agent for root, $XDG_STATE_HOME/paritect-agent or
// ~/.local/state/paritect-agent for others. InvalidArgument: a user without home.
absl::StatusOr<AgentState> FindAgentState(absl::string_view named);

// Makes the folder (mode 0700) and those above it that are missing.
absl::Status MakeStateFolder(const AgentState& state);

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_AGENT_STATE_H_
