// Audits of a server: their definitions, their runs, which node owes what, when a run has all it can get, its report.
//
// Runs survive a restart: what a node has delivered is in the store, the rest is asked for again. Thread-safe.
#ifndef PARITECT_SERVER_AUDITS_AUDITS_H_
#define PARITECT_SERVER_AUDITS_AUDITS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "checks/evidence_set.h"
#include "paritect/v1/fleet.pb.h"
#include "paritect/v1/report.pb.h"
#include "rules/rules.h"
#include "server/known_node.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

// NodeTask.detail of a node that was connected and at work when the time was over.
inline constexpr char kUnfinished[] = "did not finish in time";

// How audits reach the rest of the server; none of them may call back into Audits.
struct AuditPorts {
  std::function<std::vector<KnownNode>()> nodes;
  std::function<void(const std::string& node, const v1::Task&)> dispatch;  // dropped where it is not connected
  std::function<void(const std::string& node, const std::string& task_id)> cancel;
  std::function<absl::Status(WriteSet)> commit;  // durable when it returns
  // What a node delivered for a task.
  std::function<absl::StatusOr<v1::StoredBundle>(const v1::NodeTask&)> stored_bundle;
  std::function<absl::StatusOr<v1::Bundle>(const v1::StoredBundle&)> load_bundle;  // DataLoss: damaged
  std::function<std::string(std::size_t)> random_bytes;
  std::function<void(const std::string& url, const std::string& json)> notify;
  // The live comparison (server/live.h); may be empty. Called with the lock of Audits held, but for `judged`.
  std::function<void(const v1::AuditRun&)> begin_live;
  std::function<void(const std::string& audit)> judged;
  std::function<void(const std::string& audit, WriteSet&)> remove_live;
};

struct AuditOptionsOfServer {
  std::int64_t silent_after_ms = 60'000;                    // a node without connection for so long is silent
  std::int64_t timeout_ms = std::int64_t{6} * 3600 * 1000;  // a run waits no longer
};

class Audits {
 public:
  Audits(FleetStore& store, const Rules& rules, WallClock clock, AuditOptionsOfServer options, AuditPorts ports);
  ~Audits();  // Stop()

  absl::Status Load();
  void Stop();  // the judge's thread ends after the report it is at

  struct Created {
    std::string name;
    bool replaced = false;  // there was another one of that name
  };
  // InvalidArgument "FILE:LINE:COLUMN: ..."; NotFound: a run that is not recorded; AlreadyExists without `replace`.
  absl::StatusOr<Created> Create(const std::string& text, const std::string& file, bool replace, const std::string& by);
  std::vector<v1::AuditDefinition> Definitions();

  // The audit with its runs, reports and answers; recorded runs stay. Gives how many runs went. NotFound;
  // FailedPrecondition: a run is under way.
  absl::StatusOr<std::int64_t> Remove(const std::string& name);
  // False: it had no schedule. The next `Create` brings it back. NotFound.
  absl::StatusOr<bool> StopSchedule(const std::string& name);

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
  struct Active {
    v1::AuditRun run;
    std::uint64_t revision = 1;
    std::int64_t deadline_unix_ms = 0;
    std::map<std::string, std::int64_t> unseen_since;                        // node -> since when without connection
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> rate_base;  // task -> (time, bytes)
  };

  v1::AuditRun MakeRun(const v1::AuditDefinition& definition, const std::string& by, std::vector<KnownNode> nodes);
  void RecordOwnRunsLeft();
  absl::StatusOr<v1::AuditRun> StoredRun(const std::string& name, std::int64_t number);
  absl::StatusOr<std::int64_t> LastNumber(const std::string& name);
  absl::StatusOr<std::int64_t> StartLocked(const std::string& name, const std::string& by, std::int64_t timeout_ms);
  void Begin(v1::AuditRun run, std::int64_t timeout_ms);
  void RecordOwnRun(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end);
  void AfterChange(Active& active);
  void TickRun(Active& active, const std::vector<KnownNode>& nodes, std::int64_t now);
  void TickSchedules(std::int64_t now);
  v1::Task MakeTask(const v1::AuditRun& run, const v1::NodeTask& task) const;
  void JudgeLoop();
  // All evidence of one run, by side (0 baseline, 1 migrated).
  struct Gathered {
    std::vector<v1::Bundle> bundles[2];
    // The task of this run that gave the bundle; -1: none (a recorded run, a silent node).
    std::vector<int> task_of[2];
    std::vector<v1::StoredBundle> stored[2];
    std::vector<v1::StoredBundle> fresh;  // collected by this run: recorded for later audits
    FleetFacts facts;                     // of stored and recorded bundles
  };
  absl::Status GatherRuns(const v1::AuditSide& side, bool migrated, Gathered& out);
  bool LoadInto(const v1::StoredBundle& stored, bool migrated, Gathered& out);
  absl::Status GatherSide(const v1::AuditRun& run, bool migrated, Gathered& out);
  void Judge(const std::string& key, v1::AuditRun run);
  // follow_up.cc: asks the nodes about files that differ, where the answer names the cause. True: asked, the run
  // goes on collecting.
  bool AskAboutFiles(const std::string& key, const EvidenceSet& evidence, const Gathered& gathered,
                     const v1::AuditRun& run);
  void TakeAnswers(const v1::AuditRun& run, const Gathered& gathered, EvidenceSet& evidence);
  bool Report(const std::string& key, Gathered& gathered, const Profile& profile, v1::AuditRun& run, WriteSet& set);
  FleetFacts Facts(const v1::AuditRun& run, FleetFacts facts);
  void Announce(const v1::AuditRun& run);

  FleetStore& store_;
  const Rules& rules_;
  const WallClock clock_;
  const AuditOptionsOfServer options_;
  const AuditPorts ports_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, v1::AuditDefinition> definitions_;
  std::map<std::string, Active> active_;  // by run key, until its report is stored
  std::deque<std::string> to_judge_;
  bool stopping_ = false;
  std::thread judge_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_AUDITS_H_
