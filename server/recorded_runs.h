// Which of the bundles under a run's name are its evidence.
//
// A bundle is a part of its run by the node, the plan and the rank that gave it (PlanIdentity). Collected again it
// counts once, the newest: a newer bundle of the same node, plan and rank that asked for all that the older one had.
// Whatever is not replaced in this way is evidence.
//
// Any node can record under any name, so a name alone does not make a node's evidence that of a run:
//   - where the audit names the run's nodes, theirs counts;
//   - else, where an audit's plan or an import gave the run its nodes, theirs counts;
//   - else every node recorded it by itself, and all count.
// What does not count is left out, and told: it never vanishes.
#ifndef PARITECT_SERVER_RECORDED_RUNS_H_
#define PARITECT_SERVER_RECORDED_RUNS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/fleet.pb.h"
#include "storage/fleet_store.h"

namespace paritect {

struct RecordedRun {
  std::vector<v1::StoredBundle> counted;   // by node, the oldest first
  std::vector<v1::StoredBundle> replaced;  // collected again since
  std::vector<v1::StoredBundle> left_out;  // of nodes that are none of the run's
  std::vector<std::string> damaged;        // documents that cannot be read, in words
};

// By the rules above, of bundles of one run. `nodes`: globs, as the audit names them; empty: it does not.
RecordedRun SortBundles(std::vector<v1::StoredBundle> bundles, const std::vector<std::string>& nodes);

// NotFound: nothing is recorded under that name, or nothing of those nodes.
absl::StatusOr<RecordedRun> ReadRecordedRun(FleetStore& store, const std::string& run,
                                            const std::vector<std::string>& nodes);

// Every document of the run and of no other, also those of versions that wrote the name as it is. nullptr: a document
// under the run's name that cannot be read.
absl::Status ScanRun(FleetStore& store, const std::string& run,
                     absl::FunctionRef<void(absl::string_view key, const v1::StoredBundle*)> visit);

// The globs that the side states for that run; none: it states none.
std::vector<std::string> NodesOfRun(const v1::AuditSide& side, const std::string& run);

// NotFound: a side names a run that is not there. InvalidArgument: a node's bundles would stand on both sides, and the
// run agree with itself.
absl::Status CheckRecordedRuns(FleetStore& store, const v1::AuditDefinition& definition);

// PlanIdentity.key of the plans of audits. They name files by absolute paths: what they ask for tells them apart, under
// whatever name of an audit.
std::string AuditPlanKey();

// Puts a recorded bundle into `set`; the key follows from its content, so that importing twice changes nothing.
std::string AddBundleDocument(const v1::StoredBundle& stored, WriteSet& set);

// The contents that a stored bundle stands for.
std::vector<std::string> PartsOf(const v1::StoredBundle& stored);

}  // namespace paritect

#endif  // PARITECT_SERVER_RECORDED_RUNS_H_
