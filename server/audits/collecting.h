// Runs under way, from their start to the last node's answer: tasks, progress, silence, time limits.
//
// A run is COLLECTING while a node owes something, then CHECKING, and is handed on through `complete`; it stays here
// until `Forget`, so that whoever waits for it sees it. Thread-safe. The ports are called with the lock held and must
// not call back.
#ifndef PARITECT_SERVER_AUDITS_COLLECTING_H_
#define PARITECT_SERVER_AUDITS_COLLECTING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "paritect/v1/fleet.pb.h"
#include "server/known_node.h"
#include "server/wall_clock.h"

namespace paritect {

// NodeTask.detail of a node that was connected and at work when the time was over.
inline constexpr char kUnfinished[] = "did not finish in time";

struct CollectingPorts {
  std::function<void(const std::string& node, const v1::Task&)> dispatch;  // dropped where it is not connected
  std::function<void(const std::string& node, const std::string& task_id)> cancel;
  std::function<void(const v1::AuditRun&)> complete;  // nothing is owed any more
};

class Collecting {
 public:
  // `silent_after_ms`: a node without connection for so long is silent; at once, where it was away before already.
  Collecting(WallClock clock, std::int64_t silent_after_ms, CollectingPorts ports);

  // Nobody waits here any more, and no run goes back to collecting.
  void Stop();

  // Takes the run and sends its tasks that are WAITING. `timeout_ms`: from now on.
  void Begin(v1::AuditRun run, std::int64_t timeout_ms);
  // More is asked of the nodes of a run that was complete. False: it is not here, or the server ends.
  bool GoOn(const v1::AuditRun& run, std::vector<v1::NodeTask> tasks);
  // The run is stored as ended.
  void Forget(const v1::AuditRun& run);

  // NotFound; FailedPrecondition: it is being judged. `number` 0: whichever is under way.
  absl::Status Cancel(const std::string& audit, std::int64_t number);

  // `number` 0: whichever is under way.
  std::optional<v1::AuditRun> Find(const std::string& audit, std::int64_t number) const;
  // Returns the run when its revision is above `revision` (which it updates) or the wait is over; nullopt: it is not
  // under way (any more).
  std::optional<v1::AuditRun> WaitForChange(const std::string& audit, std::int64_t number, std::uint64_t& revision,
                                            std::int64_t wait_ms) const;

  // What the node owes, but for `done`.
  std::vector<v1::Task> TasksFor(const std::string& node, const std::set<std::string>& done);
  void OnProgress(const std::string& node, const v1::TaskProgress& progress);
  void OnTaskEnd(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end);
  // Silence and time limits.
  void Tick(const std::vector<KnownNode>& nodes);

 private:
  struct Active {
    v1::AuditRun run;
    std::uint64_t revision = 1;
    std::int64_t deadline_unix_ms = 0;
    std::map<std::string, std::int64_t> unseen_since;                        // node -> since when without connection
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> rate_base;  // task -> (time, bytes)
  };

  const Active* FindActive(const std::string& audit, std::int64_t number) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // So long that it counted as silent then.
  bool WasAway(const KnownNode& node, std::int64_t at_unix_ms) const;
  void AfterChange(Active& active) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TickRun(Active& active, const std::map<std::string, const KnownNode*>& nodes, std::int64_t now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const WallClock clock_;
  const std::int64_t silent_after_ms_;
  const std::int64_t began_unix_ms_;  // before, no node could be connected
  const CollectingPorts ports_;

  mutable absl::Mutex mutex_;
  std::map<std::string, Active> active_ ABSL_GUARDED_BY(mutex_);  // by run key
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_COLLECTING_H_
