// One agent of a simulated fleet: a real spool and a real uplink, and a source of step records.
#ifndef PARITECT_AGENT_DAEMON_SIMULATED_AGENT_H_
#define PARITECT_AGENT_DAEMON_SIMULATED_AGENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/daemon/simulation.h"
#include "agent/spool/spool.h"
#include "agent/uplink/grpc_transport.h"
#include "agent/uplink/uplink.h"

namespace paritect {

// What a shard's agents share; of the shard's thread, but `wake`.
struct SimulationPorts {
  std::function<std::int64_t()> steady_us;
  Backoff::Random random;
  std::function<void()> wake;
};

class SimulatedAgent {
 public:
  static absl::StatusOr<std::unique_ptr<SimulatedAgent>> Make(const SimulatedNode& node, int rank,
                                                              const SimulationOptions& options, SimulationPorts ports);

  // Records are appended from `begin_us` to `until_us`.
  struct Window {
    std::int64_t begin_us = 0;
    std::int64_t until_us = 0;
  };
  // Appends what is due and drives the session. `window` nullopt: not yet. Returns the time (microseconds) at which it
  // wants to be called again.
  std::int64_t Step(const std::optional<Window>& window);
  void Stop() { uplink_->Stop(); }
  bool stopped() const { return uplink_->stopped(); }
  bool delivered() const { return durable_ >= spool_->Stats().accepted_sequence; }

  const std::string& name() const { return name_; }
  std::uint64_t epoch() const { return spool_->epoch(); }
  std::uint64_t durable() const { return durable_; }
  void AddTo(SimulationResult& result) const;

 private:
  struct Group {  // of records that were appended together
    std::uint64_t last = 0;
    std::int64_t count = 0;
    std::int64_t appended_us = 0;
  };
  SimulatedAgent(const SimulatedNode& node, int rank, const SimulationOptions& options, SimulationPorts ports,
                 std::unique_ptr<Spool> spool);
  UplinkPorts MakePorts();
  void Produce(std::int64_t now_us, const Window& window);
  std::string NextRecord();
  void OnAcknowledged(std::uint64_t durable);

  const std::string name_;
  const int rank_;
  const SimulationOptions& options_;
  const SimulationPorts ports_;
  const std::unique_ptr<Spool> spool_;
  GrpcTransport transport_;
  std::unique_ptr<Uplink> uplink_;

  std::int64_t period_us_ = 0;  // between two groups
  std::int64_t next_group_us_ = 0;
  std::int64_t began_us_ = 0;
  std::int64_t produced_ = 0;   // appended by this run
  std::int64_t delivered_ = 0;  // of those
  std::int64_t step_ = 0;
  std::deque<Group> groups_;  // not acknowledged
  std::uint64_t durable_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t last_ack_us_ = 0;
  std::string trouble_;
  LatencyTable latency_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_SIMULATED_AGENT_H_
