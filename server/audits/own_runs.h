// What a node collects by itself (docs/agent.md, `plans`) is a recorded run, for audits that name it under `runs`.
// Thread-safe.
#ifndef PARITECT_SERVER_AUDITS_OWN_RUNS_H_
#define PARITECT_SERVER_AUDITS_OWN_RUNS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "paritect/v1/fleet.pb.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

struct OwnRunPorts {
  std::function<absl::Status(WriteSet)> commit;
  std::function<absl::StatusOr<v1::StoredBundle>(const v1::NodeTask&)> stored_bundle;
};

// A plan every five minutes for a month.
inline constexpr int kBundlesOfNodeMax = 10'000;

class OwnRuns {
 public:
  OwnRuns(FleetStore& store, WallClock clock, OwnRunPorts ports, int bundles_of_node_max = kBundlesOfNodeMax)
      : store_(store),
        clock_(std::move(clock)),
        ports_(std::move(ports)),
        bundles_of_node_max_(bundles_of_node_max) {}

  // Whether the task that ended is of a plan that a node runs by itself.
  static bool IsOwn(const v1::TaskEnd& end);

  // After the task's records are durable. A node that has more bundles than any would need is refused, in the log of
  // calls, until retention or `runs rm` made room.
  void Record(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end);
  // The server may have ended between the end of a node's own task and its record.
  void RecordLeft();
  // Now and then: what could not be stored, for the disk was full.
  void TryAgain();

 private:
  void CountBundles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoom(const std::string& node);
  void Commit(WriteSet set);

  std::atomic<bool> left_ = false;  // the ends of some tasks are in the store and not recorded
  std::atomic<std::int64_t> tried_unix_ms_ = 0;
  absl::Mutex mutex_;
  std::map<std::string, int> bundles_of_ ABSL_GUARDED_BY(mutex_);  // by node
  std::int64_t counted_unix_ms_ ABSL_GUARDED_BY(mutex_) = 0;       // 0: never
  FleetStore& store_;
  const WallClock clock_;
  const OwnRunPorts ports_;
  const int bundles_of_node_max_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_OWN_RUNS_H_
