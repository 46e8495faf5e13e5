#include "server/live.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "checks/pictures/pictures.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "formats/audit_file.h"
#include "formats/live_event.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr absl::string_view kFollows = "live";
constexpr absl::string_view kEvents = "live_event";

constexpr std::int64_t kWaitMs = 250;
// Comparing takes longer the longer the run: at most this share of a core.
constexpr std::int64_t kCostFactor = 20;

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

std::string KeyOf(const LiveFinding& found) {
  return absl::StrCat(found.event, "/", found.finding.kind(), "/", found.finding.subject());
}

// What a comparison of runs reads of a bundle: data sets may be as large as they like.
v1::StoredBundle LogsOf(const v1::StoredBundle& stored) {
  v1::StoredBundle out = stored;
  out.clear_pieces();
  for (const v1::Piece& piece : stored.pieces()) {
    if (piece.kind() == v1::EVIDENCE_KIND_RUN_LOG || piece.kind() == v1::EVIDENCE_KIND_SETTINGS) {
      *out.add_pieces() = piece;
    }
  }
  return out;
}

}  // namespace

Live::Live(FleetStore& store, const Rules& rules, WallClock clock, LiveOptions options, LivePorts ports)
    : store_(store), rules_(rules), clock_(std::move(clock)), options_(options), ports_(std::move(ports)) {}

Live::~Live() {
  Stop();
}

absl::Status Live::Load() {
  {
    absl::MutexLock lock(&mutex_);
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
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  if (thread_.joinable()) thread_.join();
  absl::MutexLock lock(&mutex_);
  TellOutboxes();
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
  absl::MutexLock lock(&mutex_);
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
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(audit);
  if (found == active_.end()) return;
  found->second.baseline_due = true;
  found->second.dirty = true;
  changed_.SignalAll();
}

absl::Status Live::End(const std::string& audit, const std::string& why) {
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(audit);
  if (found == active_.end()) return absl::NotFoundError(absl::StrCat("no log of audit '", audit, "' is followed"));
  for (v1::NodeTask& task : *found->second.follow.mutable_tasks()) {
    if (IsOver(task)) continue;
    ports_.cancel(task.node(), task.task_id());
    task.set_state(v1::NODE_TASK_STATE_CANCELLED);
  }
  found->second.ending = why;
  found->second.due_ms = 0;
  changed_.SignalAll();
  return absl::OkStatus();
}

void Live::Remove(const std::string& audit, WriteSet& set) {
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(audit);
  if (found != active_.end()) {
    for (const v1::NodeTask& task : found->second.follow.tasks()) ports_.cancel(task.node(), task.task_id());
    active_.erase(found);
    changed_.SignalAll();
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
  absl::MutexLock lock(&mutex_);
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
    absl::MutexLock lock(&mutex_);
    for (auto& [audit, active] : active_) {
      const auto is_it = [&](const v1::NodeTask& task) {
        return task.node() == node && task.task_id() == chunk.task_id();
      };
      if (!std::any_of(active.follow.tasks().begin(), active.follow.tasks().end(), is_it)) continue;
      wanted = true;
      Apply(node, chunk, active);
      const auto tell = [&, &followed = active](const std::string& event, const std::string& detail) {
        v1::LiveEvent& added = followed.outbox.emplace_back(NewEvent(followed, event, detail));
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
  changed_.SignalAll();
}

void Live::OnTaskEnd(const std::string& node, const v1::TaskEnd& end) {
  absl::MutexLock lock(&mutex_);
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
  changed_.SignalAll();
}

void Live::Tick() {
  const std::int64_t now = clock_();
  std::vector<std::string> over;
  {
    absl::MutexLock lock(&mutex_);
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
bool Live::TellOutboxes() {
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
  changed_.SignalAll();
  mutex_.Unlock();
  for (const auto& [url, json] : notices) ports_.notify(url, json);
  mutex_.Lock();
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
    absl::MutexLock lock(&mutex_);
    followed = !stopping_ && active_.count(audit) > 0;
  }
  auto events = read();
  if (!events.ok() || !events->empty() || !followed || wait_ms == 0) return events;
  {
    absl::MutexLock lock(&mutex_);
    changed_.WaitWithTimeout(&mutex_, absl::Milliseconds(wait_ms));
    followed = !stopping_ && active_.count(audit) > 0;
  }
  return read();
}

// --- the thread that compares what is followed with the baseline ----------------------------------------------------

void Live::Loop() {
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    const bool told = TellOutboxes();
    if (!CompareOne() && !told) changed_.WaitWithTimeout(&mutex_, absl::Milliseconds(kWaitMs));
  }
}

std::vector<v1::Bundle> Live::LoadBaseline(const v1::LiveFollow& follow) {
  std::vector<v1::StoredBundle> stored;
  const v1::AuditSide& side = follow.definition().baseline();
  for (const std::string& run : side.runs()) {
    auto recorded = ReadRecordedRun(store_, run, NodesOfRun(side, run));
    if (recorded.ok()) stored.insert(stored.end(), recorded->counted.begin(), recorded->counted.end());
  }
  if (side.nodes_size() > 0) {
    v1::AuditRun newest;
    const std::string wanted = side.SerializeAsString();
    store_
        .Scan("audit_run", GroupPrefix(follow.audit()), "",
              [&](absl::string_view, absl::string_view value) {
                v1::AuditRun run;
                if (!run.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
                const bool fits = run.state() == v1::AUDIT_RUN_STATE_DONE &&
                                  run.definition().baseline().SerializeAsString() == wanted;
                if (fits) newest = std::move(run);
                return true;
              })
        .IgnoreError();
    stored.assign(newest.baseline_bundles().begin(), newest.baseline_bundles().end());
  }
  std::vector<v1::Bundle> bundles;
  for (const v1::StoredBundle& one : stored) {
    auto bundle = ports_.load_bundle(LogsOf(one));
    if (bundle.ok()) bundles.push_back(*std::move(bundle));
  }
  return bundles;
}

// After a restart: the steps that were stored before it. Without the lock.
void Live::ReadBack(const v1::LiveFollow& follow) {
  std::set<std::string> nodes;
  for (const v1::NodeTask& task : follow.tasks()) nodes.insert(task.node());
  for (const std::string& node : nodes) {
    const auto take = [&](const BatchWrite& write) {
      v1::Batch batch;
      if (!ParseStable(write.payload, batch)) return true;
      for (const v1::Envelope& envelope : batch.envelopes()) {
        v1::Record record;
        if (!ParseStable(envelope.record(), record) || !record.has_steps()) continue;
        absl::MutexLock lock(&mutex_);
        const auto found = active_.find(follow.audit());
        if (found != active_.end()) Apply(node, record.steps(), found->second);
      }
      absl::MutexLock lock(&mutex_);
      return !stopping_;
    };
    store_.ScanBatches(node, take).IgnoreError();
  }
}

std::vector<v1::Bundle> Live::MigratedBundles(const Active& active) const {
  std::map<std::pair<std::string, int>, v1::Bundle> bundles;
  for (const auto& [key, series] : active.series) {
    v1::Bundle& bundle = bundles[{series.node, series.plan}];
    *bundle.mutable_plan() = active.follow.definition().migrated().plans(series.plan).info();
    bundle.mutable_plan()->set_node(series.node);
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(series.head.source());
    if (series.head.has_rank()) evidence.set_rank(series.head.rank());
    v1::RunLog& log = *evidence.mutable_run_log();
    log = series.about;
    for (const auto& [step, record] : series.records) *log.add_records() = record;
    for (const auto& [line, record] : series.unplaced) *log.add_records() = record;
    std::stable_sort(log.mutable_records()->begin(), log.mutable_records()->end(),
                     [](const v1::StepRecord& a, const v1::StepRecord& b) { return a.step() < b.step(); });
    if (log.records_size() == 0) continue;
    v1::Segment& segment = *log.add_segments();
    segment.set_first(log.records(0).step());
    segment.set_last(log.records(log.records_size() - 1).step());
    log.mutable_end()->set_last_step(segment.last());
  }
  std::vector<v1::Bundle> out;
  for (auto& [key, bundle] : bundles) out.push_back(std::move(bundle));
  return out;
}

// Under the lock: what is new and stood for long enough.
void Live::NewEvents(Active& active, const std::vector<LiveFinding>& found, std::int64_t now) {
  std::map<std::string, std::int64_t> seen;
  for (const LiveFinding& one : found) {
    const std::string key = KeyOf(one);
    if (active.told.count(key) > 0) continue;
    const auto before = active.seen.find(key);
    const std::int64_t since = before == active.seen.end() ? now : before->second;
    if (now - since < options_.settle_ms && active.ending.empty()) {
      seen[key] = since;
      continue;
    }
    active.told.insert(key);
    const std::string same = absl::StrCat(key, "/", one.step.value_or(0), "/", one.finding.migrated());
    if (!active.earlier.insert(same).second) continue;
    v1::LiveEvent event = NewEvent(active, one.event, "");
    event.set_training_run(one.training_run);
    event.set_has_step(one.step.has_value());
    event.set_step(one.step.value_or(0));
    *event.mutable_finding() = one.finding;
    std::set<std::string> nodes;
    for (const auto& [name, series] : active.series) {
      if (series.run == one.training_run) nodes.insert(series.node);
    }
    if (nodes.size() == 1) event.set_node(*nodes.begin());
    active.outbox.push_back(std::move(event));
  }
  active.seen = std::move(seen);
}

// Gives the lock up while it reads and compares.
absl::StatusOr<v1::ReportPictures> Live::Curves(const std::string& audit) {
  std::optional<EvidenceSet> evidence;
  v1::AuditDefinition definition;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = active_.find(audit);
    if (found == active_.end()) return absl::NotFoundError(absl::StrCat("nothing of '", audit, "' is followed"));
    evidence.emplace(found->second.baseline, MigratedBundles(found->second));
    definition = found->second.follow.definition();
  }
  PARITECT_ASSIGN_OR_RETURN(const Profile profile, ReadAuditProfile(definition, rules_.profile));
  v1::ReportPictures pictures;
  AddCurvePictures({*evidence, profile, rules_}, {}, pictures);
  return pictures;
}

bool Live::CompareOne() {
  const std::int64_t now = clock_();
  const auto due = std::find_if(active_.begin(), active_.end(), [&](const auto& one) {
    const Active& active = one.second;
    return !active.over && now >= active.due_ms &&
           (active.dirty || active.read_back || !active.seen.empty() || !active.ending.empty());
  });
  if (due == active_.end()) return false;
  const std::string audit = due->first;
  v1::LiveFollow follow = due->second.follow;
  const absl::Time began = absl::Now();
  if (due->second.read_back || due->second.baseline_due) {
    const bool read_back = due->second.read_back;
    due->second.baseline_due = false;
    mutex_.Unlock();
    if (read_back) ReadBack(follow);
    std::vector<v1::Bundle> baseline = LoadBaseline(follow);
    mutex_.Lock();
    const auto again = active_.find(audit);
    if (again == active_.end()) return true;
    again->second.baseline = std::move(baseline);
    if (read_back) again->second.read_back = false;
    again->second.dirty = true;
  }
  Active& active = active_.find(audit)->second;
  active.dirty = false;
  const bool ending = !active.ending.empty();
  const EvidenceSet evidence(active.baseline, MigratedBundles(active));
  mutex_.Unlock();
  auto profile = ReadAuditProfile(follow.definition(), rules_.profile);
  std::vector<LiveFinding> found;
  if (profile.ok() && !evidence.bundles(Side::kMigrated).empty()) found = CompareLive({evidence, *profile, rules_});
  mutex_.Lock();
  const auto again = active_.find(audit);
  if (again == active_.end() || again->second.follow.run() != follow.run()) return true;
  const std::int64_t cost = absl::ToInt64Milliseconds(absl::Now() - began);
  again->second.due_ms = clock_() + std::max(options_.every_ms, kCostFactor * cost);
  NewEvents(again->second, found, clock_());
  if (!ending) return true;
  // The last event and the end of the follow are stored together: whoever waits for events sees the last ones before it
  // hears that no more will come.
  if (again->second.started) {
    again->second.outbox.push_back(NewEvent(again->second, "live_ended", again->second.ending));
  }
  again->second.over = true;
  return true;
}

}  // namespace paritect
