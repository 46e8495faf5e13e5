// Bundles of evidence as the server keeps them: pieces that name their parts by digest. Between what agents delivered
// (documents "piece" and "task_end"), what was imported, and what checks read.
#ifndef PARITECT_SERVER_BUNDLE_READER_H_
#define PARITECT_SERVER_BUNDLE_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "checks/shared_lists.h"
#include "common/message_bytes.h"
#include "formats/evidence_parts.h"
#include "paritect/v1/evidence.pb.h"
#include "paritect/v1/fleet.pb.h"
#include "storage/fleet_store.h"

namespace paritect {

// What a node delivered for a task: the attempt that its newest TaskEnd names. `plan.node` is the node's own name,
// whatever the plan said. NotFound: the node has not ended the task. DataLoss: a piece is missing, and which.
// `source` and `stored_unix_ms` are left to the caller.
absl::StatusOr<v1::StoredBundle> CollectedBundle(FleetStore& store, const std::string& task_id,
                                                 const std::string& node);

// The evidence itself, in the order of collection; every digest is checked. DataLoss: a part is missing or damaged.
// ResourceExhausted: it would cost more than `budget`, from which what it costs is taken, allows.
absl::StatusOr<v1::Bundle> LoadBundle(FleetStore& store, const v1::StoredBundle& stored, MessageBudget& budget);
// The same with a budget of its own.
absl::StatusOr<v1::Bundle> LoadBundle(FleetStore& store, const v1::StoredBundle& stored);

// What bundles of one audit have in common: a list that several hold is read once and kept once. The bundles must live
// as long as any other of them.
struct ListsInCommon {
  KnownLists known;  // of use while bundles are loaded
  std::shared_ptr<SharedLists> shared = std::make_shared<SharedLists>();
};

// The same for a bundle of an audit with many.
absl::StatusOr<v1::Bundle> LoadBundle(FleetStore& store, const v1::StoredBundle& stored, MessageBudget& budget,
                                      ListsInCommon& lists);

// Takes a bundle apart as an agent would have; its contents go into `set`. Texts that are not UTF-8 get their display
// form in `bundle`. AddBundleDocument (server/recorded_runs.h) refers to them. ResourceExhausted: evidence above the
// limit.
absl::StatusOr<v1::StoredBundle> StoreBundle(v1::Bundle& bundle, WriteSet& set);

}  // namespace paritect

#endif  // PARITECT_SERVER_BUNDLE_READER_H_
