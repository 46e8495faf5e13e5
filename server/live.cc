// Which logs are followed, what their nodes send, what was told. Comparing is in live_comparing.cc.
#include "server/live.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/live_event.h"
#include "server/wall_clock.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr absl::string_view kFollows = "live";
constexpr absl::string_view kEvents = "live_event";

// Whether the day that `date` names ("2026-11-29"; empty: none) is over.
bool IsAfter(std::int64_t unix_ms, const std::string& date) {
  return !date.empty() && FormatDate(unix_ms) > date;
}

bool IsOver(const v1::NodeTask& task) {
  return task.state() != v1::NODE_TASK_STATE_WAITING && task.state() != v1::NODE_TASK_STATE_RUNNING;
}

bool IsAlarm(const v1::LiveEvent& event) {
  return event.has_finding();
}

}  // namespace

Live::Live(FleetStore& store, const Rules& rules, WallClock clock, LiveOptions options, LivePorts ports)
    : store_(store), rules_(rules), clock_(std::move(clock)), options_(options), ports_(std::move(ports)) {}

Live::~Live() {
  Stop();
}

absl::Status Live::Load() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    PARITECT_RETURN_IF_ERROR(store_.Scan(kFollows, "", "", [&](absl::string_view key, absl::string_view value) {
      v1::LiveFollow follow;
      if (!follow.ParseFromArray(value.data(), static_cast<int>(value.size())) || follow.ended()) return true;
      Active& active = active_[std::string(key)];
      active.follow = std::move(follow);
      active.read_back = true;
      return true;
    }));
    for (auto& [audit, active] : active_) LoadTold(active);
  }
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

void Live::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::unique_lock<std::mutex> lock(mutex_);
  TellOutboxes(lock);
}

// What was told before: of this follow nothing is told twice, of earlier ones nothing that is the same.
void Live::LoadTold(Active& active) {
  const std::string& audit = active.follow.audit();
  store_
      .Scan(kEvents, GroupPrefix(audit), "",
            [&](absl::string_view, absl::string_view value) {
              v1::LiveEvent event;
              if (!event.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
              active.last_number = std::max(active.last_number, event.number());
              const bool own = event.run() >= active.follow.run();
              if (own && event.event() == "live_started") active.started = true;
              if (!IsAlarm(event)) return true;
              const std::string key =
                  absl::StrCat(event.event(), "/", event.finding().kind(), "/", event.finding().subject());
              if (own) active.told.insert(key);
              active.earlier.insert(absl::StrCat(key, "/", event.step(), "/", event.finding().migrated()));
              return true;
            })
      .IgnoreError();
}

void Live::AddTasks(const v1::AuditRun& run, v1::LiveFollow& follow) const {
  for (const v1::NodeTask& one : run.tasks()) {
    if (!one.migrated() || !one.questions().empty()) continue;
    if (run.definition().migrated().plans(one.plan()).logs().empty()) continue;
    const bool known = std::any_of(follow.tasks().begin(), follow.tasks().end(), [&](const v1::NodeTask& task) {
      return task.node() == one.node() && task.plan() == one.plan() && !IsOver(task);
    });
    if (known) continue;
    v1::NodeTask& task = *follow.add_tasks();
    task.set_task_id(absl::StrCat(kLiveTaskPrefix, run.audit(), ".", run.number(), ".m", one.plan()));
    task.set_node(one.node());
    task.set_migrated(true);
    task.set_plan(one.plan());
    task.set_state(v1::NODE_TASK_STATE_WAITING);
  }
}

v1::Task Live::MakeTask(const v1::LiveFollow& follow, const v1::NodeTask& node_task) const {
  v1::Task task;
  task.set_id(node_task.task_id());
  task.set_follow(true);
  const v1::Plan& whole = follow.definition().migrated().plans(node_task.plan());
  v1::Plan& plan = *task.mutable_plan();
  *plan.mutable_info() = whole.info();
  *plan.mutable_logs() = whole.logs();
  plan.set_base("/");
  plan.mutable_info()->set_node(node_task.node());
  plan.mutable_info()->set_live(false);
  plan.mutable_info()->set_plan_file(absl::StrCat("audit ", follow.audit(), ", followed"));
  task.set_deadline_ms(std::max<std::int64_t>(1, follow.until_unix_ms() - clock_()));
  return task;
}

// Under the lock. A failure costs a follow after a restart and nothing else.
void Live::Store(const v1::LiveFollow& follow) {
  WriteSet set;
  set.documents.push_back({std::string(kFollows), follow.audit(), follow.SerializeAsString(), {}});
  ports_.commit(std::move(set)).IgnoreError();
}

void Live::Begin(const v1::AuditRun& run) {
  const v1::AuditDefinition& definition = run.definition();
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = active_.find(run.audit());
  const bool same = found != active_.end() && found->second.ending.empty() &&
                    found->second.follow.definition().source() == definition.source();
  std::vector<v1::LiveEvent> waiting;  // of the follow before, not stored yet
  if (found != active_.end() && !same) {
    v1::LiveFollow old = std::move(found->second.follow);
    waiting = std::move(found->second.outbox);
    for (const v1::NodeTask& task : old.tasks()) ports_.cancel(task.node(), task.task_id());
    active_.erase(found);
    // Kept as ended, or a restart would go on with it.
    old.set_ended(true);
    old.set_ended_because("replaced");
    old.set_ended_unix_ms(clock_());
    Store(old);
  }
  const std::int64_t now = clock_();
  if (definition.live_off() || IsAfter(now, definition.until())) return;
  v1::LiveFollow follow;
  if (same) follow = active_[run.audit()].follow;
  const int before = follow.tasks_size();
  AddTasks(run, follow);
  if (follow.tasks_size() == before) return;
  if (!same) {
    follow.set_audit(run.audit());
    follow.set_run(run.number());
    *follow.mutable_definition() = definition;
    follow.set_started_unix_ms(now);
    follow.set_until_unix_ms(now +
                             (definition.live_seconds() > 0 ? definition.live_seconds() * 1000 : options_.limit_ms));
  }
  Active& active = active_[run.audit()];
  active.follow = std::move(follow);
  if (!same) LoadTold(active);
  active.outbox.insert(active.outbox.end(), waiting.begin(), waiting.end());
  Store(active.follow);
  for (int i = before; i < active.follow.tasks_size(); ++i) {
    ports_.dispatch(active.follow.tasks(i).node(), MakeTask(active.follow, active.follow.tasks(i)));
  }
}

void Live::Judged(const std::string& audit) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = active_.find(audit);
  if (found == active_.end()) return;
  found->second.baseline_due = true;
  found->second.dirty = true;
  changed_.notify_all();
}

absl::Status Live::End(const std::string& audit, const std::string& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = active_.find(audit);
  if (found == active_.end()) return absl::NotFoundError(absl::StrCat("no log of audit '", audit, "' is followed"));
  for (v1::NodeTask& task : *found->second.follow.mutable_tasks()) {
    if (IsOver(task)) continue;
    ports_.cancel(task.node(), task.task_id());
    task.set_state(v1::NODE_TASK_STATE_CANCELLED);
  }
  found->second.ending = why;
  found->second.due_ms = 0;
  changed_.notify_all();
  return absl::OkStatus();
}

void Live::Remove(const std::string& audit, WriteSet& set) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = active_.find(audit);
  if (found != active_.end()) {
    for (const v1::NodeTask& task : found->second.follow.tasks()) ports_.cancel(task.node(), task.task_id());
    active_.erase(found);
    changed_.notify_all();
  }
  set.documents.push_back({std::string(kFollows), audit, std::nullopt, {}});
  store_
      .Scan(kEvents, GroupPrefix(audit), "",
            [&](absl::string_view key, absl::string_view) {
              set.documents.push_back({std::string(kEvents), std::string(key), std::nullopt, {}});
              return true;
            })
      .IgnoreError();
}

std::vector<v1::Task> Live::TasksFor(const std::string& node) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<v1::Task> tasks;
  for (const auto& [audit, active] : active_) {
    for (const v1::NodeTask& task : active.follow.tasks()) {
      if (task.node() == node && !IsOver(task)) tasks.push_back(MakeTask(active.follow, task));
    }
  }
  return tasks;
}

// Under the lock of whoever holds `active`.
void Live::Apply(const std::string& node, const v1::StepChunk& chunk, Active& active) {
  for (const v1::NodeTask& task : active.follow.tasks()) {
    if (task.node() != node || task.task_id() != chunk.task_id()) continue;
    const std::string key = absl::StrCat(node, "/", chunk.has_rank() ? chunk.rank() : -1, "/", chunk.source());
    Series& series = active.series[key];
    series.node = node;
    series.run = chunk.run();
    series.plan = task.plan();
    series.head.set_source(chunk.source());
    if (chunk.has_rank()) series.head.set_rank(chunk.rank());
    if (chunk.has_about()) series.about = chunk.about();
    for (const v1::StepRecord& step : chunk.steps()) {
      if (step.step_unknown()) {
        series.unplaced[step.line()] = step;
      } else {
        series.records[{step.has_rank() ? step.rank() : -1, step.engine(), step.step()}] = step;
      }
    }
    active.dirty = true;
    return;
  }
}

void Live::OnSteps(const std::string& node, const v1::StepChunk& chunk) {
  bool wanted = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [audit, active] : active_) {
      const auto is_it = [&](const v1::NodeTask& task) {
        return task.node() == node && task.task_id() == chunk.task_id();
      };
      if (!std::any_of(active.follow.tasks().begin(), active.follow.tasks().end(), is_it)) continue;
      wanted = true;
      Apply(node, chunk, active);
      const auto tell = [&](const std::string& event, const std::string& detail) {
        v1::LiveEvent& added = active.outbox.emplace_back(NewEvent(active, event, detail));
        added.set_training_run(chunk.run());
        added.set_node(node);
      };
      if (!active.started && chunk.steps_size() > 0) tell("live_started", chunk.source());
      active.started = active.started || chunk.steps_size() > 0;
      if (!chunk.change().empty()) tell("log_changed", absl::StrCat(chunk.change(), ": ", chunk.source()));
    }
  }
  // A node that was away when its follow was stopped goes on until it is told.
  if (!wanted) ports_.cancel(node, chunk.task_id());
  changed_.notify_all();
}

void Live::OnTaskEnd(const std::string& node, const v1::TaskEnd& end) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [audit, active] : active_) {
    bool mine = false;
    std::string why;
    for (v1::NodeTask& task : *active.follow.mutable_tasks()) {
      if (task.node() == node && task.task_id() == end.task_id()) {
        mine = true;
        task.set_state(end.cancelled() ? v1::NODE_TASK_STATE_CANCELLED : v1::NODE_TASK_STATE_DONE);
        task.set_detail(end.ended());
      }
      if (why.empty() || task.detail() == "aborted") why = task.detail();
    }
    if (!mine) continue;
    const bool over = std::all_of(active.follow.tasks().begin(), active.follow.tasks().end(), IsOver);
    if (over && active.ending.empty()) active.ending = why.empty() ? "finished" : why;
    if (over) active.due_ms = 0;
  }
  changed_.notify_all();
}

void Live::Tick() {
  const std::int64_t now = clock_();
  std::vector<std::string> over;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [audit, active] : active_) {
      const bool past = now >= active.follow.until_unix_ms() || IsAfter(now, active.follow.definition().until());
      if (past && active.ending.empty()) over.push_back(audit);
    }
  }
  for (const std::string& audit : over) End(audit, "time_over").IgnoreError();
}

// Under the lock. Its number comes with its storing.
v1::LiveEvent Live::NewEvent(Active& active, const std::string& event, const std::string& detail) const {
  v1::LiveEvent out;
  out.set_audit(active.follow.audit());
  out.set_run(active.follow.run());
  out.set_event(event);
  out.set_detail(detail);
  out.set_at_unix_ms(clock_());
  return out;
}

// Under the lock, so that nobody stores between the number and its document; events are rare and a commit is short.
absl::Status Live::StoreOutbox(Active& active) {
  WriteSet set;
  std::int64_t number = active.last_number;
  for (v1::LiveEvent& event : active.outbox) {
    event.set_number(++number);
    set.documents.push_back(
        {std::string(kEvents), LiveEventKey(event.audit(), event.number()), event.SerializeAsString(), {}});
  }
  if (active.over) {
    v1::LiveFollow ended = active.follow;
    ended.set_ended(true);
    ended.set_ended_because(active.ending);
    ended.set_ended_unix_ms(clock_());
    set.documents.push_back({std::string(kFollows), ended.audit(), ended.SerializeAsString(), {}});
  }
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  active.last_number = number;
  return absl::OkStatus();
}

// Numbers and stores what waits, then tells it. False: nothing was there to tell.
bool Live::TellOutboxes(std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<std::string, std::string>> notices;  // url, JSON
  bool any = false;
  const std::int64_t now = clock_();
  for (auto it = active_.begin(); it != active_.end();) {
    Active& active = it->second;
    if ((active.outbox.empty() && !active.over) || now < active.retry_ms) {
      ++it;
      continue;
    }
    if (!StoreOutbox(active).ok()) {
      active.retry_ms = now + options_.retry_ms;
      ++it;
      continue;
    }
    any = true;
    const std::string& url = active.follow.definition().webhook();
    for (const v1::LiveEvent& event : active.outbox) {
      if (!url.empty() && IsAlarm(event)) notices.emplace_back(url, LiveEventJson(event));
    }
    active.outbox.clear();
    it = active.over ? active_.erase(it) : std::next(it);
  }
  if (!any) return false;
  changed_.notify_all();
  lock.unlock();
  for (const auto& [url, json] : notices) ports_.notify(url, json);
  lock.lock();
  return true;
}

absl::StatusOr<std::vector<v1::LiveEvent>> Live::Events(const std::string& audit, std::int64_t after,
                                                        std::int64_t wait_ms, bool& followed) {
  const auto read = [&]() -> absl::StatusOr<std::vector<v1::LiveEvent>> {
    std::vector<v1::LiveEvent> out;
    PARITECT_RETURN_IF_ERROR(store_.Scan(kEvents, GroupPrefix(audit), LiveEventKey(audit, after),
                                         [&](absl::string_view, absl::string_view value) {
                                           v1::LiveEvent event;
                                           if (event.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
                                             out.push_back(std::move(event));
                                           }
                                           return true;
                                         }));
    return out;
  };
  {
    std::lock_guard<std::mutex> lock(mutex_);
    followed = !stopping_ && active_.count(audit) > 0;
  }
  auto events = read();
  if (!events.ok() || !events->empty() || !followed || wait_ms == 0) return events;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(wait_ms));
    followed = !stopping_ && active_.count(audit) > 0;
  }
  return read();
}

}  // namespace paritect
