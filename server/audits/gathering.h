// All evidence that one run of an audit is judged by: recorded runs, what the nodes delivered, what stands for those
// that did not.
#ifndef PARITECT_SERVER_AUDITS_GATHERING_H_
#define PARITECT_SERVER_AUDITS_GATHERING_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checks/evidence_set.h"
#include "paritect/v1/fleet.pb.h"
#include "server/known_node.h"
#include "storage/fleet_store.h"

namespace paritect {

struct GatheringPorts {
  // What a node delivered for a task.
  std::function<absl::StatusOr<v1::StoredBundle>(const v1::NodeTask&)> stored_bundle;
  std::function<absl::StatusOr<v1::Bundle>(const v1::StoredBundle&)> load_bundle;  // DataLoss: damaged
};

struct GatheredSide {
  std::vector<v1::Bundle> bundles;
  std::vector<int> task_of;  // of each bundle, the index of the run's task that gave it; -1: none (recorded, silent)
  std::vector<v1::StoredBundle> stored;
};

struct Gathered {
  GatheredSide baseline;
  GatheredSide migrated;
  std::vector<v1::StoredBundle> fresh;  // collected by this run: recorded for later audits
  FleetFacts facts;                     // of stored and recorded bundles

  GatheredSide& side(Side which) { return which == Side::kMigrated ? migrated : baseline; }
  const GatheredSide& side(Side which) const { return which == Side::kMigrated ? migrated : baseline; }
};

// In the order of the audit file: of each side recorded runs first, then plans. What is damaged stands in `facts`, and
// a silent bundle in its place. NotFound: a run is not recorded (any more); `out` then holds what came before it.
absl::Status Gather(FleetStore& store, const GatheringPorts& ports, const v1::AuditRun& run, Gathered& out);

// Adds what the server knows of the run's nodes and of its log of calls. `known`: the enrolled nodes.
void AddFleetFacts(FleetStore& store, const v1::AuditRun& run, const std::vector<KnownNode>& known, FleetFacts& facts);

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_GATHERING_H_
