// All evidence that one run of an audit is judged by: recorded runs, what the nodes delivered, what stands for those
// that did not.
#ifndef PARITECT_SERVER_AUDITS_GATHERING_H_
#define PARITECT_SERVER_AUDITS_GATHERING_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checks/evidence_set.h"
#include "common/message_bytes.h"
#include "paritect/v1/fleet.pb.h"
#include "server/bundle_reader.h"
#include "server/known_node.h"
#include "storage/fleet_store.h"

namespace paritect {

struct GatheringPorts {
  // What a node delivered for a task.
  std::function<absl::StatusOr<v1::StoredBundle>(const v1::NodeTask&)> stored_bundle;
  // DataLoss: damaged. ResourceExhausted: it costs more than the budget, from which it is taken, allows. Lists may be
  // null: the bundle then has its own.
  std::function<absl::StatusOr<v1::Bundle>(const v1::StoredBundle&, MessageBudget&, ListsInCommon*)> load_bundle;
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
  ListsInCommon lists;                  // equal ones of both sides, kept once
  FleetFacts facts;                     // of stored and recorded bundles
  MessageBudget budget;                 // of all that is read for it

  GatheredSide& side(Side which) { return which == Side::kMigrated ? migrated : baseline; }
  const GatheredSide& side(Side which) const { return which == Side::kMigrated ? migrated : baseline; }
};

// In the order of the audit file: of each side recorded runs first, then plans. What is damaged stands in `facts`, and
// a silent bundle in its place. NotFound: a run is not recorded (any more); `out` then holds what came before it.
absl::Status Gather(FleetStore& store, const GatheringPorts& ports, const v1::AuditRun& run, Gathered& out);

// Adds what the server knows of the run's nodes. `known`: the enrolled nodes.
void AddFleetFacts(const v1::AuditRun& run, const std::vector<KnownNode>& known, FleetFacts& facts);

// Follows the chain of the log of calls from where it came to last time to its end or to where it breaks, so that an
// audit does not take longer the more was ever called; once an hour from the first entry. Of one thread.
class LogFollower {
 public:
  void Follow(FleetStore& store, std::int64_t now_unix_ms, FleetFacts& facts);

 private:
  std::optional<v1::AuditLogEntry> last_;
  std::int64_t whole_unix_ms_ = 0;  // when it was last read whole
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_GATHERING_H_
