// A fleet on one machine: many agents with spools and uplinks of their own, driven by few threads. What it measures is
// the server, and that nothing is lost on the way there.
#ifndef PARITECT_AGENT_DAEMON_SIMULATOR_H_
#define PARITECT_AGENT_DAEMON_SIMULATOR_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/credential.h"

namespace paritect {

struct SimulationOptions {
  double records_per_second = 1;      // of each agent
  std::int64_t duration_ms = 60'000;  // of sending
  std::int64_t patience_ms = 60'000;  // for all sessions before it, and again for what is left after it
  int threads = 2;
  bool sync = false;        // fdatasync of the spools: one machine's disk cannot do that for a whole fleet
  std::string record_path;  // "": no file
};

struct SimulatedNode {
  std::string folder;  // its spool is FOLDER/spool
  Credential credential;
};

// Latencies in steps of 5 %, from 0.1 ms on.
class LatencyTable {
 public:
  void Add(std::int64_t microseconds, std::int64_t count);
  void Add(const LatencyTable& other);
  std::int64_t Quantile(double quantile) const;  // microseconds; an upper bound, at most 5 % above; 0: none

 private:
  std::array<std::int64_t, 400> counts_ = {};
};

struct SimulationResult {
  std::int64_t agents = 0;
  std::int64_t connected = 0;   // that ever had a session
  std::int64_t connect_ms = 0;  // until all had one
  std::int64_t sessions = 0;
  std::int64_t appended = 0;      // records of this run
  std::int64_t acknowledged = 0;  // of those
  std::int64_t undelivered = 0;   // agents whose spool holds something yet, of an earlier run too
  std::int64_t refused = 0;       // appends that the spool could not take
  std::int64_t resends = 0;
  std::int64_t throttles = 0;
  std::int64_t send_ms = 0;  // from the first record to the last acknowledgement
  LatencyTable latency;      // from the append to the acknowledgement
  std::string trouble;       // the last reason for which a session was lost
};

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
