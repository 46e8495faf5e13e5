// A simulated fleet in figures: what is asked of it, its nodes, what came of it.
#ifndef PARITECT_AGENT_DAEMON_SIMULATION_H_
#define PARITECT_AGENT_DAEMON_SIMULATION_H_

#include <array>
#include <cstdint>
#include <string>

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

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_SIMULATION_H_
