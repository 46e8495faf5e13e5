// What a server gives up, by age and by run. Contents that nothing refers to any more go with the store's Compact.
#ifndef PARITECT_SERVER_RETENTION_H_
#define PARITECT_SERVER_RETENTION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/wall_clock.h"
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

struct RetentionOptions {
  std::int64_t keep_ms = 0;  // what is older goes; 0: nothing ever does
  std::int64_t first_after_ms = 60'000;
  std::int64_t every_ms = 3'600'000;
};

// A thread of its own that drops what is older, again and again, and compacts the store when something went.
class RetentionJob {
 public:
  // `report` hears of each round that dropped something or failed, in words; called by the job's thread.
  using Report = std::function<void(const absl::Status& status, const std::string& what)>;

  RetentionJob(FleetStore& store, CommitPort commit, WallClock clock, RetentionOptions options, Report report);
  RetentionJob(const RetentionJob&) = delete;
  RetentionJob& operator=(const RetentionJob&) = delete;
  ~RetentionJob();  // Stop()
  // Returns when the round that is under way is over; to be called while `commit` still works.
  void Stop();

 private:
  void Loop();
  void Round();

  FleetStore& store_;
  const CommitPort commit_;
  const WallClock clock_;
  const RetentionOptions options_;
  const Report report_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_RETENTION_H_
