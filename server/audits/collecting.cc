// From the start of a run to the last node's answer: tasks, progress, silence, time limits.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/duration.h"
#include "common/message_bytes.h"
#include "server/audits/audits.h"
#include "server/recorded_runs.h"
#include "server/shared_mounts.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

// The tasks of plans that a node runs by itself (docs/agent.md, `plans`).
constexpr absl::string_view kOwnTaskPrefix = "own:";

bool IsOver(const v1::NodeTask& task) {
  return task.state() != v1::NODE_TASK_STATE_WAITING && task.state() != v1::NODE_TASK_STATE_RUNNING;
}

}  // namespace

// Under the lock. `timeout_ms` 0: as stored in the run.
void Audits::Begin(v1::AuditRun run, std::int64_t timeout_ms) {
  const std::string key = AuditRunKey(run.audit(), run.number());
  Active& active = active_[key];
  const std::int64_t limit = timeout_ms > 0         ? timeout_ms
                             : run.timeout_ms() > 0 ? run.timeout_ms()
                                                    : options_.timeout_ms;
  active.deadline_unix_ms = clock_() + limit;
  active.run = std::move(run);
  for (v1::NodeTask& task : *active.run.mutable_tasks()) {
    if (task.state() == v1::NODE_TASK_STATE_WAITING) ports_.dispatch(task.node(), MakeTask(active.run, task));
  }
  AfterChange(active);
}

v1::Task Audits::MakeTask(const v1::AuditRun& run, const v1::NodeTask& node_task) const {
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

std::vector<v1::Task> Audits::TasksFor(const std::string& node, const std::set<std::string>& done) {
  std::lock_guard<std::mutex> lock(mutex_);
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

void Audits::OnProgress(const std::string& node, const v1::TaskProgress& progress) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t now = clock_();
  for (auto& [key, active] : active_) {
    for (v1::NodeTask& task : *active.run.mutable_tasks()) {
      if (task.node() != node || task.task_id() != progress.task_id() || IsOver(task)) continue;
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
      changed_.notify_all();
    }
  }
}

void Audits::OnTaskEnd(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end) {
  if (absl::StartsWith(end.task_id(), kOwnTaskPrefix)) return RecordOwnRun(node, epoch, end);
  std::lock_guard<std::mutex> lock(mutex_);
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

// What a node collected by itself is a recorded run, for audits that name it under `runs`.
// The end of its task goes with the same commit: what is left of them at a start was not recorded yet.
void Audits::RecordOwnRun(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end) {
  WriteSet set;
  set.documents.push_back({"task_end", TaskEndKey(end.task_id(), node), std::nullopt, {}});
  if (end.cancelled() || !end.refused().empty()) {
    ports_.commit(std::move(set)).IgnoreError();
    return;
  }
  v1::NodeTask task;
  task.set_task_id(end.task_id());
  task.set_node(node);
  task.set_attempt(end.attempt());
  task.set_epoch(epoch);
  task.set_pieces(end.pieces());
  auto stored = ports_.stored_bundle(task);
  if (!stored.ok() || stored->plan().run().empty()) return;  // its pieces stay, `verify` names what is damaged
  stored->set_source(absl::StrCat("plan of node ", node));
  stored->set_origin(v1::BUNDLE_ORIGIN_NODE);
  stored->set_stored_unix_ms(clock_());
  // The same bundle of an import or an audit stays theirs: it says whose run it is.
  WriteSet bundle;
  const std::string key = AddBundleDocument(*stored, bundle);
  const auto known = store_.Get("bundle", key);
  if (!known.ok() || !known->has_value()) set.documents.push_back(std::move(bundle.documents[0]));
  ports_.commit(std::move(set)).IgnoreError();
}

// The server may have ended between the end of a node's own task and its record.
void Audits::RecordOwnRunsLeft() {
  std::vector<std::pair<std::string, v1::TaskEnd>> left;
  store_
      .Scan("task_end", "own", "",
            [&](absl::string_view key, absl::string_view value) {
              v1::TaskEnd end;
              const auto parts = SplitKey(key);
              if (!parts || parts->size() != 2 || !ParseStable(value, end)) return true;
              if (absl::StartsWith(end.task_id(), kOwnTaskPrefix)) left.emplace_back((*parts)[1], std::move(end));
              return true;
            })
      .IgnoreError();
  for (const auto& [node, end] : left) RecordOwnRun(node, end.epoch(), end);
}

// Under the lock: counts a change, and hands the run to the judge when nothing is owed any more.
void Audits::AfterChange(Active& active) {
  ++active.revision;
  const bool over = std::all_of(active.run.tasks().begin(), active.run.tasks().end(), IsOver);
  if (over && active.run.state() == v1::AUDIT_RUN_STATE_COLLECTING) {
    active.run.set_state(v1::AUDIT_RUN_STATE_CHECKING);
    to_judge_.push_back(AuditRunKey(active.run.audit(), active.run.number()));
  }
  changed_.notify_all();
}

void Audits::TickRun(Active& active, const std::vector<KnownNode>& nodes, std::int64_t now) {
  std::map<std::string, const KnownNode*> by_name;
  for (const KnownNode& node : nodes) {
    if (!node.revoked) by_name[node.name] = &node;
  }
  bool changed = false;
  for (v1::NodeTask& task : *active.run.mutable_tasks()) {
    if (IsOver(task)) continue;
    const auto known = by_name.find(task.node());
    const bool enrolled = known != by_name.end();
    const bool online = enrolled && known->second->online;
    if (enrolled) task.set_last_seen_unix_ms(std::max(task.last_seen_unix_ms(), known->second->last_seen_unix_ms));
    if (online) active.unseen_since.erase(task.node());
    const std::int64_t since = online ? now : active.unseen_since.try_emplace(task.node(), now).first->second;
    const bool timed_out = now >= active.deadline_unix_ms;
    if (enrolled && now - since < options_.silent_after_ms && !timed_out) {
      // Said at once; that it is silent is settled later.
      const std::string detail = online ? "" : "not connected now";
      changed = changed || detail != task.detail();
      task.set_detail(detail);
      continue;
    }
    if (online && !timed_out) continue;
    task.set_state(v1::NODE_TASK_STATE_SILENT);
    task.set_detail(!enrolled ? "not enrolled" : timed_out && online ? kUnfinished : "not connected");
    if (timed_out && online) ports_.cancel(task.node(), task.task_id());
    changed = true;
  }
  if (changed) AfterChange(active);
}

void Audits::Tick() {
  const std::vector<KnownNode> nodes = ports_.nodes();
  std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t now = clock_();
  for (auto& [key, active] : active_) {
    if (active.run.state() == v1::AUDIT_RUN_STATE_COLLECTING) TickRun(active, nodes, now);
  }
  TickSchedules(now);
}

void Audits::TickSchedules(std::int64_t now) {
  for (auto& [name, definition] : definitions_) {
    if (definition.schedule_seconds() <= 0 || now / 1000 < definition.next_run_unix()) continue;
    if (!definition.until().empty() && FormatDate(now) > definition.until()) continue;
    definition.set_next_run_unix(now / 1000 + definition.schedule_seconds());
    WriteSet set;
    set.documents.push_back({"audit", name, definition.SerializeAsString(), {}});
    auto started = StartLocked(name, "schedule", 0);
    v1::AuditLogEntry entry;
    entry.set_at_unix_ms(now);
    entry.set_actor("schedule");
    entry.set_action("RunAudit");
    entry.set_subject(name);
    entry.set_outcome(started.ok() ? "ok" : std::string(started.status().message()));
    set.log.push_back(std::move(entry));
    // A failure to note the next time only makes the schedule drift after a restart.
    ports_.commit(std::move(set)).IgnoreError();
  }
}

absl::Status Audits::Cancel(const std::string& name, std::int64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [key, active] : active_) {
    if (active.run.audit() != name || (number != 0 && active.run.number() != number)) continue;
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
  return absl::NotFoundError(absl::StrCat("no run of audit '", name, "' is under way"));
}

absl::StatusOr<v1::AuditRun> Audits::WaitForChange(const std::string& name, std::int64_t number,
                                                   std::uint64_t& revision, std::int64_t wait_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto find = [&]() -> Active* {
    for (auto& [key, active] : active_) {
      if (active.run.audit() == name && (number == 0 || active.run.number() == number)) return &active;
    }
    return nullptr;
  };
  changed_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] {
    const Active* active = find();
    return stopping_ || active == nullptr || active->revision > revision;
  });
  if (const Active* active = find()) {
    revision = active->revision;
    return active->run;
  }
  return StoredRun(name, number);
}

}  // namespace paritect
