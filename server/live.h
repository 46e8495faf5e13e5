// Live comparison: while a migrated run trains, its steps are compared with the baseline as they arrive, and what is
// worth telling (checks/runs/live_comparison.h) becomes an event, once.
//
// Follows begin with a run of their audit and end when the logs say that the training ended, when nobody writes to them
// any more, at the audit's limit, or by an operator. They survive a restart: the steps are read back from the batches
// that were stored. Events are numbered, stored and told by one thread in one order: a number is given only with what
// is stored, and what could not be stored is tried again before anything that follows it. Thread-safe. Order of locks:
// that of Audits, this, the fleet's.
#ifndef PARITECT_SERVER_LIVE_H_
#define PARITECT_SERVER_LIVE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "checks/runs/live_comparison.h"
#include "paritect/v1/fleet.pb.h"
#include "paritect/v1/pictures.pb.h"
#include "rules/rules.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

// Task ids of follows begin so; audits have none of this form.
inline constexpr char kLiveTaskPrefix[] = "live:";

struct LivePorts {
  std::function<void(const std::string& node, const v1::Task&)> dispatch;  // dropped where it is not connected
  std::function<void(const std::string& node, const std::string& task_id)> cancel;
  std::function<absl::Status(WriteSet)> commit;  // durable when it returns; called under the lock
  std::function<absl::StatusOr<v1::Bundle>(const v1::StoredBundle&)> load_bundle;
  std::function<void(const std::string& url, const std::string& json)> notify;
};

struct LiveOptions {
  std::int64_t limit_ms = std::int64_t{30} * 86'400'000;  // where the audit states none
  std::int64_t every_ms = 500;                            // a follow is compared so often at most
  // What is seen once may be put right by the next line (an overflow that explains a NaN).
  std::int64_t settle_ms = 1500;
  std::int64_t retry_ms = 1000;  // until an event that could not be stored is stored again
};

class Live {
 public:
  Live(FleetStore& store, const Rules& rules, WallClock clock, LiveOptions options, LivePorts ports);
  ~Live();  // Stop()

  absl::Status Load();
  void Stop();

  // Follows the logs of the run's migrated side, unless that is done already or the audit does not want it.
  void Begin(const v1::AuditRun& run);
  // A run of that audit was judged: its baseline may be one now.
  void Judged(const std::string& audit);
  // NotFound: nothing is followed.
  absl::Status End(const std::string& audit, const std::string& why);
  // With the documents that tell of it; for an audit that is removed.
  void Remove(const std::string& audit, WriteSet& set);

  std::vector<v1::Task> TasksFor(const std::string& node);
  void OnSteps(const std::string& node, const v1::StepChunk& chunk);
  void OnTaskEnd(const std::string& node, const v1::TaskEnd& end);
  // Time limits: to be called now and then.
  void Tick();

  // The events of the audit after number `after`; waits for one at most `wait_ms` while something is followed.
  // `followed`: whether more may come.
  absl::StatusOr<std::vector<v1::LiveEvent>> Events(const std::string& audit, std::int64_t after, std::int64_t wait_ms,
                                                    bool& followed);

  // The curves so far of what is followed, against the baseline. NotFound: nothing is followed.
  absl::StatusOr<v1::ReportPictures> Curves(const std::string& audit);

 private:
  using StepKey = std::tuple<std::int32_t, std::string, std::int64_t>;  // rank, engine, step
  struct Series {
    std::string node;
    std::string run;
    int plan = 0;
    v1::StepChunk head;  // run, rank, source
    v1::RunLog about;
    std::map<StepKey, v1::StepRecord> records;
    std::map<std::int64_t, v1::StepRecord> unplaced;  // without a step, by line
  };
  struct Active {
    v1::LiveFollow follow;
    std::map<std::string, Series> series;
    std::vector<v1::Bundle> baseline;  // logs and settings alone
    bool baseline_due = true;
    bool read_back = false;  // its steps are in the store
    bool dirty = false;
    bool started = false;
    std::string ending;  // why it ends, once what came was compared
    std::int64_t due_ms = 0;
    std::int64_t last_number = 0;              // of the events that are stored
    std::vector<v1::LiveEvent> outbox;         // to be numbered, stored and told, in this order
    std::int64_t retry_ms = 0;                 // not before, where storing failed
    bool over = false;                         // the last event is in the outbox
    std::map<std::string, std::int64_t> seen;  // findings not told yet, since when
    std::set<std::string> told;
    std::set<std::string> earlier;  // told by follows before: the same log is not told twice
  };

  void Loop();
  // One follow that is due; false: none.
  bool CompareOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadBack(const v1::LiveFollow& follow);
  std::vector<v1::Bundle> LoadBaseline(const v1::LiveFollow& follow);
  static void Apply(const std::string& node, const v1::StepChunk& chunk, Active& active);
  std::vector<v1::Bundle> MigratedBundles(const Active& active) const;
  void NewEvents(Active& active, const std::vector<LiveFinding>& found, std::int64_t now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::LiveEvent NewEvent(Active& active, const std::string& event, const std::string& detail) const;
  bool TellOutboxes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StoreOutbox(Active& active) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoadTold(Active& active) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::Task MakeTask(const v1::LiveFollow& follow, const v1::NodeTask& task) const;
  void AddTasks(const v1::AuditRun& run, v1::LiveFollow& follow) const;
  void Store(const v1::LiveFollow& follow) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FleetStore& store_;
  const Rules& rules_;
  const WallClock clock_;
  const LiveOptions options_;
  const LivePorts ports_;

  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::map<std::string, Active> active_ ABSL_GUARDED_BY(mutex_);  // by audit
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_LIVE_H_
