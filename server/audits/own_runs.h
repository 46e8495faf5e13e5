// What a node collects by itself (docs/agent.md, `plans`) is a recorded run, for audits that name it under `runs`.
// Thread-safe.
#ifndef PARITECT_SERVER_AUDITS_OWN_RUNS_H_
#define PARITECT_SERVER_AUDITS_OWN_RUNS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paritect/v1/fleet.pb.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

struct OwnRunPorts {
  std::function<absl::Status(WriteSet)> commit;
  std::function<absl::StatusOr<v1::StoredBundle>(const v1::NodeTask&)> stored_bundle;
};

class OwnRuns {
 public:
  OwnRuns(FleetStore& store, WallClock clock, OwnRunPorts ports)
      : store_(store), clock_(std::move(clock)), ports_(std::move(ports)) {}

  // Whether the task that ended is of a plan that a node runs by itself.
  static bool IsOwn(const v1::TaskEnd& end);

  // After the task's records are durable.
  void Record(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end);
  // The server may have ended between the end of a node's own task and its record.
  void RecordLeft();

 private:
  FleetStore& store_;
  const WallClock clock_;
  const OwnRunPorts ports_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_OWN_RUNS_H_
