// A fleet on one machine: many agents with spools and uplinks of their own, driven by few threads. What it measures is
// the server, and that nothing is lost on the way there.
#ifndef PARITECT_AGENT_DAEMON_SIMULATOR_H_
#define PARITECT_AGENT_DAEMON_SIMULATOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/daemon/simulation.h"

namespace paritect {

// Records that were left in a spool by an earlier run are delivered too; they are not counted.
// Writes to record_path what is acknowledged, a JSON object a line: {"node", "epoch" (16 hexadecimal digits),
// "acknowledged"}: the last line of a node and epoch counts. `tick` is called about once a second with what is so far.
absl::StatusOr<SimulationResult> Simulate(const std::vector<SimulatedNode>& nodes, const SimulationOptions& options,
                                          const std::function<void(const SimulationResult&)>& tick);

// Nodes NAME-0001 ... with a folder each below `folder`, joined by one token of many uses that the admin's credential
// makes. Those that are there already are taken as they are.
absl::StatusOr<std::vector<SimulatedNode>> JoinFleet(const Credential& admin, const std::string& server,
                                                     const std::string& folder, const std::string& name, int agents,
                                                     std::int64_t now);

// A folder with all that is in it; links are not followed.
absl::Status RemoveFolder(const std::string& folder);

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_SIMULATOR_H_
