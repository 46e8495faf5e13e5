// The agent's configuration file: what this node allows, whatever a server asks. The written form is in docs/agent.md.
#ifndef PARITECT_AGENT_DAEMON_AGENT_CONFIG_H_
#define PARITECT_AGENT_DAEMON_AGENT_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct OwnPlan {
  std::string path;
  std::int64_t every_seconds = 0;  // 0: once, at the start
};

struct AgentConfig {
  std::vector<std::string> roots;      // absolute folders; empty: no file is read
  std::vector<std::string> servers;    // "HOST:PORT"; empty: those of the credential
  std::uint64_t bytes_per_second = 0;  // 0: no limit
  int nice = 19;
  std::map<std::string, std::string> labels;
  std::vector<OwnPlan> plans;
  std::vector<std::string> in_clear;      // globs over names of settings that are no secrets, whatever they look like
  std::string local_socket;               // absolute; empty: agent.sock in the state folder
  std::vector<std::int64_t> local_users;  // numeric ids that may hand evidence over, besides root and the agent's own
  std::uint64_t spool_bytes_max = std::uint64_t{256} << 20;
  std::int64_t spool_age_seconds_max = 7 * 86'400;

  friend bool operator==(const AgentConfig&, const AgentConfig&) = default;
};
inline bool operator==(const OwnPlan& a, const OwnPlan& b) {
  return a.path == b.path && a.every_seconds == b.every_seconds;
}

// InvalidArgument "LINE:COLUMN: message": an unknown or repeated key, a wrong type, a root that is not absolute, a
// server without port. An empty document is the default.
absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view text);

// A commented file in which everything is default, for a new node.
std::string AgentConfigTemplate();

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_AGENT_CONFIG_H_
