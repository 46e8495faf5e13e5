#include "server/audits/collecting.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/recorded_runs.h"
#include "server/shared_mounts.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

bool IsOver(const v1::NodeTask& task) {
  return task.state() != v1::NODE_TASK_STATE_WAITING && task.state() != v1::NODE_TASK_STATE_RUNNING;
}

std::string KeyOf(const v1::AuditRun& run) {
  return AuditRunKey(run.audit(), run.number());
}

v1::Task MakeTask(const v1::AuditRun& run, const v1::NodeTask& node_task) {
  const v1::AuditSide& side = node_task.migrated() ? run.definition().migrated() : run.definition().baseline();
  v1::Task task;
  task.set_id(node_task.task_id());
  *task.mutable_plan() = side.plans(node_task.plan());
  if (!node_task.questions().empty()) {
    // An agent that does not know questions collects nothing, which answers nothing.
    const v1::PlanInfo info = task.plan().info();
    task.mutable_plan()->Clear();
    *task.mutable_plan()->mutable_info() = info;
    task.mutable_plan()->mutable_info()->set_live(false);
    *task.mutable_questions() = node_task.questions();
  }
  ApplyShares(node_task, *task.mutable_plan());
  v1::PlanInfo& info = *task.mutable_plan()->mutable_info();
  info.set_node(node_task.node());
  info.set_plan_file(absl::StrCat("audit ", run.audit()));
  info.mutable_identity()->set_key(AuditPlanKey());
  task.mutable_plan()->set_base("/");  // a node has no plan file beside which paths could start
  task.set_redaction_key(run.definition().redaction_key());
  task.set_deadline_ms(run.timeout_ms());
  return task;
}

}  // namespace

Collecting::Collecting(WallClock clock, std::int64_t silent_after_ms, CollectingPorts ports)
    : clock_(std::move(clock)), silent_after_ms_(silent_after_ms), began_unix_ms_(clock_()), ports_(std::move(ports)) {}

void Collecting::Stop() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
}

void Collecting::Begin(v1::AuditRun run, std::int64_t timeout_ms) {
  absl::MutexLock lock(&mutex_);
  Active& active = active_[KeyOf(run)];
  active.deadline_unix_ms = clock_() + timeout_ms;
  active.run = std::move(run);
  for (v1::NodeTask& task : *active.run.mutable_tasks()) {
    if (task.state() == v1::NODE_TASK_STATE_WAITING) ports_.dispatch(task.node(), MakeTask(active.run, task));
  }
  AfterChange(active);
}

bool Collecting::GoOn(const v1::AuditRun& run, std::vector<v1::NodeTask> tasks) {
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(KeyOf(run));
  if (found == active_.end() || stopping_) return false;
  Active& active = found->second;
  active.run.set_state(v1::AUDIT_RUN_STATE_COLLECTING);
  active.run.set_followed_up(true);
  for (v1::NodeTask& task : tasks) {
    ports_.dispatch(task.node(), MakeTask(active.run, task));
    *active.run.add_tasks() = std::move(task);
  }
  AfterChange(active);
  return true;
}

void Collecting::Forget(const v1::AuditRun& run) {
  absl::MutexLock lock(&mutex_);
  active_.erase(KeyOf(run));
}

absl::Status Collecting::Cancel(const std::string& audit, std::int64_t number) {
  absl::MutexLock lock(&mutex_);
  for (auto& [key, active] : active_) {
    if (active.run.audit() != audit || (number != 0 && active.run.number() != number)) continue;
    if (active.run.state() != v1::AUDIT_RUN_STATE_COLLECTING) {
      return absl::FailedPreconditionError("the run is being judged; it ends by itself");
    }
    for (v1::NodeTask& task : *active.run.mutable_tasks()) {
      if (IsOver(task)) continue;
      ports_.cancel(task.node(), task.task_id());
      task.set_state(v1::NODE_TASK_STATE_CANCELLED);
    }
    active.run.set_problem("cancelled");
    AfterChange(active);
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("no run of audit '", audit, "' is under way"));
}

const Collecting::Active* Collecting::FindActive(const std::string& audit, std::int64_t number) const {
  for (const auto& [key, active] : active_) {
    if (active.run.audit() == audit && (number == 0 || active.run.number() == number)) return &active;
  }
  return nullptr;
}

std::optional<v1::AuditRun> Collecting::Find(const std::string& audit, std::int64_t number) const {
  absl::MutexLock lock(&mutex_);
  const Active* const active = FindActive(audit, number);
  return active == nullptr ? std::nullopt : std::optional<v1::AuditRun>(active->run);
}

std::optional<v1::AuditRun> Collecting::WaitForChange(const std::string& audit, std::int64_t number,
                                                      std::uint64_t& revision, std::int64_t wait_ms) const {
  absl::MutexLock lock(&mutex_);
  const auto changed = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const Active* const active = FindActive(audit, number);
    return stopping_ || active == nullptr || active->revision > revision;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&changed), absl::Milliseconds(wait_ms));
  const Active* const active = FindActive(audit, number);
  if (active == nullptr) return std::nullopt;
  revision = active->revision;
  return active->run;
}

std::vector<v1::Task> Collecting::TasksFor(const std::string& node, const std::set<std::string>& done) {
  absl::MutexLock lock(&mutex_);
  std::vector<v1::Task> tasks;
  for (auto& [key, active] : active_) {
    if (active.run.state() != v1::AUDIT_RUN_STATE_COLLECTING) continue;
    active.unseen_since.erase(node);
    for (v1::NodeTask& task : *active.run.mutable_tasks()) {
      if (task.node() != node || IsOver(task) || done.count(task.task_id()) > 0) continue;
      tasks.push_back(MakeTask(active.run, task));
    }
  }
  return tasks;
}

void Collecting::OnProgress(const std::string& node, const v1::TaskProgress& progress) {
  absl::MutexLock lock(&mutex_);
  const std::int64_t now = clock_();
  for (auto& [key, active] : active_) {
    for (v1::NodeTask& task : *active.run.mutable_tasks()) {
      if (task.node() != node || task.task_id() != progress.task_id()) continue;
      if (task.state() == v1::NODE_TASK_STATE_DONE) *task.mutable_progress() = progress;  // it came behind the end
      if (IsOver(task)) continue;
      auto [base, fresh] =
          active.rate_base.try_emplace(absl::StrCat(node, "/", task.task_id()), now, progress.bytes_done());
      // The rate of the last seconds, not of the whole: a node that slows down is seen.
      const std::int64_t elapsed_ms = now - base->second.first;
      if (!fresh && elapsed_ms >= 2000) {
        task.set_rate_bytes_per_s(
            std::max<std::int64_t>(0, (progress.bytes_done() - base->second.second) * 1000 / elapsed_ms));
        base->second = {now, progress.bytes_done()};
      }
      task.set_state(v1::NODE_TASK_STATE_RUNNING);
      task.set_last_seen_unix_ms(now);
      *task.mutable_progress() = progress;
      ++active.revision;
    }
  }
}

void Collecting::OnTaskEnd(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end) {
  absl::MutexLock lock(&mutex_);
  for (auto& [key, active] : active_) {
    if (active.run.state() != v1::AUDIT_RUN_STATE_COLLECTING) continue;
    bool changed = false;
    for (v1::NodeTask& task : *active.run.mutable_tasks()) {
      if (task.node() != node || task.task_id() != end.task_id()) continue;
      // Late is better than never: an answer that comes before the judgement counts.
      task.set_state(!end.refused().empty() ? v1::NODE_TASK_STATE_REFUSED
                     : end.cancelled()      ? v1::NODE_TASK_STATE_CANCELLED
                                            : v1::NODE_TASK_STATE_DONE);
      task.set_detail(end.refused());
      task.set_attempt(end.attempt());
      task.set_epoch(epoch);
      task.set_pieces(end.pieces());
      task.set_last_seen_unix_ms(clock_());
      changed = true;
    }
    if (changed) AfterChange(active);
  }
}

// Counts a change, and hands the run on when nothing is owed any more.
void Collecting::AfterChange(Active& active) {
  ++active.revision;
  const bool over = std::all_of(active.run.tasks().begin(), active.run.tasks().end(), IsOver);
  if (!over || active.run.state() != v1::AUDIT_RUN_STATE_COLLECTING) return;
  active.run.set_state(v1::AUDIT_RUN_STATE_CHECKING);
  ports_.complete(active.run);
}

bool Collecting::WasAway(const KnownNode& node, std::int64_t at_unix_ms) const {
  return std::max(node.last_seen_unix_ms, began_unix_ms_) + silent_after_ms_ <= at_unix_ms;
}

void Collecting::TickRun(Active& active, const std::map<std::string, const KnownNode*>& nodes, std::int64_t now) {
  bool changed = false;
  for (v1::NodeTask& task : *active.run.mutable_tasks()) {
    if (IsOver(task)) continue;
    const auto known = nodes.find(task.node());
    const bool is_known = known != nodes.end();
    const bool enrolled = is_known && !known->second->revoked;
    const bool online = enrolled && known->second->online;
    if (is_known) task.set_last_seen_unix_ms(std::max(task.last_seen_unix_ms(), known->second->last_seen_unix_ms));
    if (online) active.unseen_since.erase(task.node());
    std::int64_t since = online ? now : active.unseen_since.try_emplace(task.node(), now).first->second;
    // One that was dead already when the run began is not waited for.
    if (enrolled && !online && WasAway(*known->second, active.run.started_unix_ms())) since = now - silent_after_ms_;
    const bool timed_out = now >= active.deadline_unix_ms;
    if (enrolled && now - since < silent_after_ms_ && !timed_out) {
      // Said at once; that it is silent is settled later.
      const std::string detail = online ? "" : "not connected now";
      changed = changed || detail != task.detail();
      task.set_detail(detail);
      continue;
    }
    if (online && !timed_out) continue;
    task.set_state(v1::NODE_TASK_STATE_SILENT);
    task.set_detail(!is_known             ? "not enrolled"
                    : !enrolled           ? "revoked"
                    : timed_out && online ? kUnfinished
                                          : "not connected");
    if (timed_out && online) ports_.cancel(task.node(), task.task_id());
    changed = true;
  }
  if (changed) AfterChange(active);
}

void Collecting::Tick(const std::vector<KnownNode>& nodes) {
  std::map<std::string, const KnownNode*> known;
  for (const KnownNode& node : nodes) known[node.name] = &node;
  absl::MutexLock lock(&mutex_);
  const std::int64_t now = clock_();
  for (auto& [key, active] : active_) {
    if (active.run.state() == v1::AUDIT_RUN_STATE_COLLECTING) TickRun(active, known, now);
  }
}

}  // namespace paritect
