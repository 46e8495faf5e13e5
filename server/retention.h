// What a server gives up, by age and by run. Contents that nothing refers to any more go with the store's Compact.
#ifndef PARITECT_SERVER_RETENTION_H_
#define PARITECT_SERVER_RETENTION_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/fleet_store.h"

namespace paritect {

struct RetentionResult {
  std::int64_t batches = 0;
  std::int64_t bundles = 0;
  std::int64_t audit_runs = 0;
  std::int64_t others = 0;  // reports, pieces, ends of tasks, events, gaps, series
};

// Durable when it returns; the server's Writer.
using CommitPort = std::function<absl::Status(WriteSet)>;

// Everything older than `before`: batches, recorded and imported bundles, events, gaps and series by the time they
// came; runs of audits by the time they ended, with their reports and what nodes delivered for them. Kept at any age:
// a run that is not over, the newest run of each audit (the next is compared with it), what a task of a kept run
// delivered, nodes, tokens, definitions, waivers, watermarks (delivery stays exactly once) and the log.
absl::StatusOr<RetentionResult> DropOlderThan(FleetStore& store, const CommitPort& commit,
                                              std::int64_t before_unix_ms);

// The recorded and imported bundles and the series of one run. Batches stay until their age: they are of a node, not of
// a run. NotFound: there is no such run.
absl::StatusOr<RetentionResult> DropRun(FleetStore& store, const CommitPort& commit, const std::string& run);

}  // namespace paritect

#endif  // PARITECT_SERVER_RETENTION_H_
