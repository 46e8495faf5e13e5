#include "server/retention.h"

#include <map>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "paritect/v1/fleet.pb.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr std::size_t kDocumentsAtOnce = 500;

// Takes documents away in sets of a bounded size.
class Dropper {
 public:
  explicit Dropper(const CommitPort& commit) : commit_(commit) {}

  absl::Status Drop(absl::string_view collection, absl::string_view key) {
    set_.documents.push_back({std::string(collection), std::string(key), std::nullopt, {}});
    return set_.documents.size() < kDocumentsAtOnce ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    if (set_.empty()) return absl::OkStatus();
    WriteSet set = std::move(set_);
    set_ = WriteSet();
    return commit_(std::move(set));
  }

 private:
  const CommitPort& commit_;
  WriteSet set_;
};

// Drops the documents of a collection that `old` says are to go; one that cannot be read stays as evidence of damage.
template <typename Message>
absl::StatusOr<std::int64_t> DropIf(FleetStore& store, Dropper& dropper, absl::string_view collection,
                                    absl::FunctionRef<bool(absl::string_view key, const Message&)> old) {
  std::int64_t dropped = 0;
  absl::Status status;
  const auto visit = [&](absl::string_view key, absl::string_view value) {
    Message message;
    if (!ParseStable(value, message) || !old(key, message)) return true;
    ++dropped;
    status = dropper.Drop(collection, key);
    return status.ok();
  };
  PARITECT_RETURN_IF_ERROR(store.Scan(collection, "", "", visit));
  PARITECT_RETURN_IF_ERROR(status);
  return dropped;
}

struct AuditRuns {
  std::vector<std::string> old;        // keys
  std::set<std::string> tasks_of_old;  // ids
  std::set<std::string> tasks_of_kept;
};

absl::StatusOr<AuditRuns> SortAuditRuns(FleetStore& store, std::int64_t before) {
  AuditRuns out;
  std::map<std::string, std::pair<std::int64_t, std::string>> newest;  // audit -> number, key
  std::map<std::string, std::vector<std::string>> tasks;               // key -> ids
  std::set<std::string> ended_before;
  PARITECT_RETURN_IF_ERROR(store.Scan("audit_run", "", "", [&](absl::string_view key, absl::string_view value) {
    v1::AuditRun run;
    if (!ParseStable(value, run)) return true;
    auto& best = newest[run.audit()];
    if (run.number() >= best.first) best = {run.number(), std::string(key)};
    for (const v1::NodeTask& task : run.tasks()) tasks[std::string(key)].push_back(task.task_id());
    if (run.ended_unix_ms() != 0 && run.ended_unix_ms() < before) ended_before.emplace(key);
    return true;
  }));
  for (const auto& [audit, best] : newest) ended_before.erase(best.second);
  for (auto& [key, ids] : tasks) {
    (ended_before.contains(key) ? out.tasks_of_old : out.tasks_of_kept).insert(ids.begin(), ids.end());
  }
  out.old.assign(ended_before.begin(), ended_before.end());
  return out;
}

// What nodes delivered: for runs that go, and for tasks of no audit (a node's own plans) by their age, as the node's
// clock tells it. The pieces of a task go with its end; those of one that never ended stay with their run.
absl::StatusOr<std::int64_t> DropTasks(FleetStore& store, Dropper& dropper, const AuditRuns& runs,
                                       std::int64_t before) {
  std::map<std::string, std::string> old;  // key of the end -> task
  PARITECT_RETURN_IF_ERROR(store.Scan("task_end", "", "", [&](absl::string_view key, absl::string_view value) {
    v1::TaskEnd end;
    if (!ParseStable(value, end)) return true;
    if (runs.tasks_of_old.contains(end.task_id()) || end.collected_at_unix_ms() < before) {
      old.emplace(key, end.task_id());
    }
    return true;
  }));
  // Read again: a run that began meanwhile is stored before its tasks can end.
  PARITECT_ASSIGN_OR_RETURN(const AuditRuns now, SortAuditRuns(store, before));
  std::set<std::string> gone;
  std::int64_t dropped = 0;
  for (const auto& [key, task] : old) {
    if (now.tasks_of_kept.contains(task)) continue;
    gone.insert(task);
    ++dropped;
    PARITECT_RETURN_IF_ERROR(dropper.Drop("task_end", key));
  }
  const auto old_piece = [&](absl::string_view, const v1::Piece& piece) { return gone.contains(piece.task_id()); };
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t pieces, DropIf<v1::Piece>(store, dropper, "piece", old_piece));
  return dropped + pieces;
}

absl::StatusOr<std::int64_t> DropNotes(FleetStore& store, Dropper& dropper, std::int64_t before) {
  const auto old = [before](absl::string_view, const auto& one) { return one.received_unix_ms() < before; };
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t events, DropIf<v1::StoredEvent>(store, dropper, "event", old));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t gaps, DropIf<v1::StoredGap>(store, dropper, "gap", old));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t series, DropIf<v1::StoredSeries>(store, dropper, "series", old));
  const auto old_lease = [before](absl::string_view, const v1::ContentLease& one) {
    return one.given_unix_ms() < before;
  };
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t leases, DropIf<v1::ContentLease>(store, dropper, "lease", old_lease));
  return events + gaps + series + leases;
}

}  // namespace

absl::StatusOr<RetentionResult> DropOlderThan(FleetStore& store, const CommitPort& commit,
                                              std::int64_t before_unix_ms) {
  RetentionResult result;
  Dropper dropper(commit);
  PARITECT_ASSIGN_OR_RETURN(const AuditRuns runs, SortAuditRuns(store, before_unix_ms));
  for (const std::string& key : runs.old) {
    PARITECT_RETURN_IF_ERROR(dropper.Drop("audit_run", key));
    PARITECT_RETURN_IF_ERROR(dropper.Drop("report", key));
    PARITECT_RETURN_IF_ERROR(dropper.Drop("report_pictures", key));
    ++result.audit_runs;
  }
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t delivered, DropTasks(store, dropper, runs, before_unix_ms));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t notes, DropNotes(store, dropper, before_unix_ms));
  const auto old_bundle = [&](absl::string_view, const v1::StoredBundle& one) {
    return one.stored_unix_ms() < before_unix_ms;
  };
  PARITECT_ASSIGN_OR_RETURN(result.bundles, DropIf<v1::StoredBundle>(store, dropper, "bundle", old_bundle));
  PARITECT_RETURN_IF_ERROR(dropper.Flush());
  result.others = result.audit_runs + delivered + notes;  // a report for each run
  PARITECT_ASSIGN_OR_RETURN(result.batches, store.DropBatches(before_unix_ms));
  return result;
}

absl::StatusOr<RetentionResult> DropRun(FleetStore& store, const CommitPort& commit, const std::string& run) {
  RetentionResult result;
  Dropper dropper(commit);
  const auto of_run = [&run](absl::string_view, const v1::StoredBundle& one) { return one.plan().run() == run; };
  PARITECT_ASSIGN_OR_RETURN(result.bundles, DropIf<v1::StoredBundle>(store, dropper, "bundle", of_run));
  const auto series_of_run = [&run](absl::string_view, const v1::StoredSeries& one) { return one.run() == run; };
  PARITECT_ASSIGN_OR_RETURN(result.others, DropIf<v1::StoredSeries>(store, dropper, "series", series_of_run));
  if (result.bundles + result.others == 0)
    return absl::NotFoundError(absl::StrCat("there is no recorded run '", run, "' (`paritect runs ls` lists all)"));
  PARITECT_RETURN_IF_ERROR(dropper.Flush());
  return result;
}

RetentionJob::RetentionJob(FleetStore& store, CommitPort commit, WallClock clock, RetentionOptions options,
                           Report report)
    : store_(store),
      commit_(std::move(commit)),
      clock_(std::move(clock)),
      options_(options),
      report_(std::move(report)) {
  if (options_.keep_ms > 0) thread_ = std::thread([this] { Loop(); });
}

RetentionJob::~RetentionJob() {
  Stop();
}

void RetentionJob::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void RetentionJob::Loop() {
  for (std::int64_t wait_ms = options_.first_after_ms;; wait_ms = options_.every_ms) {
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), absl::Milliseconds(wait_ms))) return;
    }
    Round();
  }
}

void RetentionJob::Round() {
  const auto dropped = DropOlderThan(store_, commit_, clock_() - options_.keep_ms);
  if (!dropped.ok()) return report_(dropped.status(), "");
  if (dropped->batches + dropped->bundles + dropped->audit_runs + dropped->others == 0) return;
  const std::string what = absl::StrCat(dropped->audit_runs, " audit runs, ", dropped->bundles, " bundles, ",
                                        dropped->batches, " batches, ", dropped->others, " other documents");
  report_(store_.Compact(), what);
}

}  // namespace paritect
