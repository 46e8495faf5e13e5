// From the last node's answer to the stored report: runs that are complete wait here for the one thread that judges.
//
// Of each the evidence is gathered; where the checks would like to know more of single files, the nodes are asked once
// and the run goes back to collecting; else report, run and fresh bundles are stored in one commit. Thread-safe.
#ifndef PARITECT_SERVER_AUDITS_JUDGING_H_
#define PARITECT_SERVER_AUDITS_JUDGING_H_

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "paritect/v1/fleet.pb.h"
#include "rules/rules.h"
#include "server/audits/gathering.h"
#include "server/known_node.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

// Called by the judge's thread, without a lock.
struct JudgingPorts {
  std::function<std::vector<KnownNode>()> nodes;
  std::function<absl::Status(WriteSet)> commit;  // durable when it returns
  GatheringPorts evidence;
  // Sends more tasks of the run; false: it cannot be asked now, judge with what is there.
  std::function<bool(const v1::AuditRun&, std::vector<v1::NodeTask>)> ask;
  std::function<void(const v1::AuditRun&)> judged;  // the run as it ended, and as it is stored
  // What it came to cannot be stored at all, which is a full disk's doing: it is tried again. May be empty.
  std::function<void(const v1::AuditRun&, const absl::Status&)> not_stored;
  absl::Duration try_again_after = absl::Seconds(10);
};

class Judging {
 public:
  Judging(FleetStore& store, const Rules& rules, WallClock clock, JudgingPorts ports);
  ~Judging();  // Stop()

  void Start();
  void Stop();  // after the report it is at

  // Takes a run that is complete; may be called before Start().
  void Add(v1::AuditRun run);

 private:
  void Loop();
  absl::Status Judge(v1::AuditRun run);
  absl::Status StoreFailure(v1::AuditRun run, const absl::Status& why);
  bool WaitToTryAgain(const v1::AuditRun& run, const absl::Status& why);
  absl::Status Mark(const v1::AuditRun& run, int unended);
  void Unmark();
  bool Report(Gathered& gathered, const Profile& profile, v1::AuditRun& run, WriteSet& set);

  FleetStore& store_;
  const Rules& rules_;
  const WallClock clock_;
  const JudgingPorts ports_;
  LogFollower log_;  // of the judge's thread

  absl::Mutex mutex_;
  std::deque<v1::AuditRun> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::AuditRun> judged_ ABSL_GUARDED_BY(mutex_);  // its name alone
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_JUDGING_H_
