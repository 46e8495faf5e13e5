// The audits of a server: definitions (definitions.h), runs under way (collecting.h) and their judgement (judging.h),
// as one thing to the rest of it.
//
// Runs survive a restart: what a node has delivered is in the store, the rest is asked for again. Thread-safe.
#ifndef PARITECT_SERVER_AUDITS_AUDITS_H_
#define PARITECT_SERVER_AUDITS_AUDITS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "checks/evidence_set.h"
#include "common/message_bytes.h"
#include "paritect/v1/fleet.pb.h"
#include "paritect/v1/report.pb.h"
#include "rules/rules.h"
#include "server/audits/collecting.h"
#include "server/audits/definitions.h"
#include "server/audits/judging.h"
#include "server/audits/own_runs.h"
#include "server/known_node.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

// How audits reach the rest of the server; none of them may call back into Audits.
struct AuditPorts {
  std::function<std::vector<KnownNode>()> nodes;
  std::function<void(const std::string& node, const v1::Task&)> dispatch;  // dropped where it is not connected
  std::function<void(const std::string& node, const std::string& task_id)> cancel;
  std::function<absl::Status(WriteSet)> commit;  // durable when it returns
  // What a node delivered for a task.
  std::function<absl::StatusOr<v1::StoredBundle>(const v1::NodeTask&)> stored_bundle;
  // DataLoss: damaged. ResourceExhausted: it costs more than the budget, from which it is taken, allows. Lists may be
  // null: the bundle then has its own.
  std::function<absl::StatusOr<v1::Bundle>(const v1::StoredBundle&, MessageBudget&, ListsInCommon*)> load_bundle;
  std::function<std::string(std::size_t)> random_bytes;
  std::function<void(const std::string& url, const std::string& json)> notify;
  // The live comparison (server/live.h); may be empty. Called with the lock of Audits held, but for `judged`.
  std::function<void(const v1::AuditRun&)> begin_live;
  std::function<void(const std::string& audit)> judged;
  std::function<void(const v1::AuditRun&)> set_aside;  // at a start; may be empty
  std::function<void(const v1::AuditRun&, const absl::Status&)> not_stored = {};  // as JudgingPorts has it
  std::function<void(const std::string& audit, WriteSet&)> remove_live;
};

struct AuditOptionsOfServer {
  std::int64_t silent_after_ms = 60'000;                    // a node without connection for so long is silent
  std::int64_t timeout_ms = std::int64_t{6} * 3600 * 1000;  // a run waits no longer
  absl::Duration store_again_after = absl::Seconds(10);     // a run whose end could not be stored
};

class Audits {
 public:
  using Created = AuditDefinitions::Created;

  Audits(FleetStore& store, const Rules& rules, WallClock clock, AuditOptionsOfServer options, AuditPorts ports);
  ~Audits();  // Stop()

  absl::Status Load();
  void Stop();  // the judge's thread ends after the report it is at

  // As AuditDefinitions has them.
  absl::StatusOr<Created> Create(const std::string& text, const std::string& file, bool replace, const std::string& by);
  absl::StatusOr<bool> StopSchedule(const std::string& name);
  std::vector<v1::AuditDefinition> Definitions();

  // The audit with its runs, reports and answers; recorded runs stay. Gives how many runs went. NotFound;
  // FailedPrecondition: a run is under way.
  absl::StatusOr<std::int64_t> Remove(const std::string& name);

  // NotFound: no such audit, a run that is not recorded; InvalidArgument: no enrolled node matches;
  // FailedPrecondition: a run is under way. Gives the run's number.
  absl::StatusOr<std::int64_t> Start(const std::string& name, const std::string& by, std::int64_t timeout_ms);
  absl::Status Cancel(const std::string& name, std::int64_t number);

  // number 0: the last. NotFound.
  absl::StatusOr<v1::AuditRun> FindRun(const std::string& name, std::int64_t number);
  absl::StatusOr<std::vector<v1::AuditRun>> Runs(const std::string& name);
  absl::StatusOr<v1::Report> FindReport(const std::string& name, std::int64_t number);
  // The evidence that the run judged, as bundles of one side.
  absl::StatusOr<std::vector<v1::Bundle>> Evidence(const std::string& name, std::int64_t number, Side side);

  // Returns the run when its revision is above `revision` (which it updates) or the wait is over.
  absl::StatusOr<v1::AuditRun> WaitForChange(const std::string& name, std::int64_t number, std::uint64_t& revision,
                                             std::int64_t wait_ms);

  // What the node owes, but for `done`. Marks it as running there.
  std::vector<v1::Task> TasksFor(const std::string& node, const std::set<std::string>& done);
  void OnProgress(const std::string& node, const v1::TaskProgress& progress);
  // After its records are durable.
  void OnTaskEnd(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end);
  // Silence, time limits, schedules: to be called about twice a second.
  void Tick();

 private:
  DefinitionPorts MakeDefinitionPorts() const;
  CollectingPorts MakeCollectingPorts();
  JudgingPorts MakeJudgingPorts();

  absl::StatusOr<bool> SetAside(v1::AuditRun& run);
  absl::Status LoadUnfinished();
  absl::StatusOr<v1::AuditRun> StoredRun(const std::string& name, std::int64_t number);
  absl::StatusOr<std::int64_t> StartLocked(const std::string& name, const std::string& by, std::int64_t timeout_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnJudged(const v1::AuditRun& run);

  FleetStore& store_;
  const WallClock clock_;
  const AuditOptionsOfServer options_;
  const AuditPorts ports_;

  // Order of locks: this (one audit is defined, begun or removed at a time), Collecting's, Judging's.
  absl::Mutex mutex_;
  AuditDefinitions definitions_ ABSL_GUARDED_BY(mutex_);
  OwnRuns own_runs_;
  Judging judging_;
  Collecting collecting_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_AUDITS_H_
