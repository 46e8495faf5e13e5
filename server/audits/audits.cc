#include "server/audits/audits.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/audits/announcement.h"
#include "server/audits/new_run.h"
#include "server/audits/stored_runs.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {

namespace {

// One for an end that the judgement had no part in, one that confirms.
constexpr int kMaxUnendedJudgements = 2;

}  // namespace

Audits::Audits(FleetStore& store, const Rules& rules, WallClock clock, AuditOptionsOfServer options, AuditPorts ports)
    : store_(store),
      clock_(std::move(clock)),
      options_(options),
      ports_(std::move(ports)),
      definitions_(store, rules, clock_, MakeDefinitionPorts()),
      own_runs_(store, clock_, {ports_.commit, ports_.stored_bundle}),
      judging_(store, rules, clock_, MakeJudgingPorts()),
      collecting_(clock_, options.silent_after_ms, MakeCollectingPorts()) {}

Audits::~Audits() {
  Stop();
}

DefinitionPorts Audits::MakeDefinitionPorts() const {
  return {ports_.commit, ports_.random_bytes};
}

CollectingPorts Audits::MakeCollectingPorts() {
  return {ports_.dispatch, ports_.cancel, [this](const v1::AuditRun& run) { judging_.Add(run); }};
}

JudgingPorts Audits::MakeJudgingPorts() {
  JudgingPorts ports;
  ports.nodes = ports_.nodes;
  ports.commit = ports_.commit;
  ports.evidence = {ports_.stored_bundle, ports_.load_bundle};
  ports.ask = [this](const v1::AuditRun& run, std::vector<v1::NodeTask> tasks) {
    return collecting_.GoOn(run, std::move(tasks));
  };
  ports.judged = [this](const v1::AuditRun& run) { OnJudged(run); };
  ports.not_stored = ports_.not_stored;
  ports.try_again_after = options_.store_again_after;
  return ports;
}

absl::Status Audits::Load() {
  {
    absl::MutexLock lock(&mutex_);
    PARITECT_RETURN_IF_ERROR(definitions_.Load());
  }
  PARITECT_RETURN_IF_ERROR(LoadUnfinished());
  own_runs_.RecordLeft();
  judging_.Start();
  return absl::OkStatus();
}

// What was delivered before the end of the server counts; the rest is asked for again.
absl::Status Audits::LoadUnfinished() {
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::AuditRun> unfinished, UnfinishedRuns(store_));
  for (v1::AuditRun& run : unfinished) {
    PARITECT_ASSIGN_OR_RETURN(const bool set_aside, SetAside(run));
    if (set_aside) continue;
    for (v1::NodeTask& task : *run.mutable_tasks()) {
      if (task.state() == v1::NODE_TASK_STATE_RUNNING) task.set_state(v1::NODE_TASK_STATE_WAITING);
      PARITECT_ASSIGN_OR_RETURN(const auto end, store_.Get("task_end", TaskEndKey(task.task_id(), task.node())));
      if (!end) continue;
      if (ports_.stored_bundle(task).ok()) task.set_state(v1::NODE_TASK_STATE_DONE);
    }
    run.set_state(v1::AUDIT_RUN_STATE_COLLECTING);
    const std::int64_t timeout_ms = run.timeout_ms() > 0 ? run.timeout_ms() : options_.timeout_ms;
    collecting_.Begin(std::move(run), timeout_ms);
  }
  return absl::OkStatus();
}

// A run that the server was judging when it ended without a word would end it again, and again. Once proves nothing: a
// server is killed for other reasons too, and may well judge just then.
absl::StatusOr<bool> Audits::SetAside(v1::AuditRun& run) {
  PARITECT_ASSIGN_OR_RETURN(const int unended, UnendedJudgements(store_, run));
  if (unended < kMaxUnendedJudgements) return false;
  run.set_state(v1::AUDIT_RUN_STATE_FAILED);
  run.set_problem(absl::StrCat(
      "the server ended ", unended, " times while it judged this run, and has set it aside: its evidence may need more "
      "memory than there is; look at it with `paritect runs ls`, then `paritect audit run` begins anew"));
  run.set_ended_unix_ms(clock_());
  WriteSet set;
  AddJudgedRun(run, set);
  AddJudgingMarkRemoval(run, set);
  v1::AuditLogEntry& entry = set.log.emplace_back();
  entry.set_at_unix_ms(clock_());
  entry.set_actor("server");
  entry.set_action("SetAside");
  entry.set_subject(absl::StrCat(run.audit(), " #", run.number()));
  entry.set_outcome("ok");
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  if (ports_.set_aside) ports_.set_aside(run);
  return true;
}

void Audits::Stop() {
  collecting_.Stop();
  judging_.Stop();
}

absl::StatusOr<Audits::Created> Audits::Create(const std::string& text, const std::string& file, bool replace,
                                               const std::string& by) {
  absl::MutexLock lock(&mutex_);
  return definitions_.Create(text, file, replace, by);
}

absl::StatusOr<bool> Audits::StopSchedule(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  return definitions_.StopSchedule(name);
}

std::vector<v1::AuditDefinition> Audits::Definitions() {
  absl::MutexLock lock(&mutex_);
  return definitions_.All();
}

absl::StatusOr<std::int64_t> Audits::Remove(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  if (!definitions_.Has(name)) return NoSuchAudit(name);
  if (const auto running = collecting_.Find(name, 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("audit '", name, "' is running (run ", running->number(), "); cancel it first"));
  }
  WriteSet set;
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t runs, AddRemovalOfRuns(store_, name, set));
  if (ports_.remove_live) ports_.remove_live(name, set);
  PARITECT_RETURN_IF_ERROR(definitions_.Remove(name, std::move(set)));
  return runs;
}

absl::StatusOr<std::int64_t> Audits::Start(const std::string& name, const std::string& by, std::int64_t timeout_ms) {
  absl::MutexLock lock(&mutex_);
  return StartLocked(name, by, timeout_ms);
}

absl::StatusOr<std::int64_t> Audits::StartLocked(const std::string& name, const std::string& by,
                                                 std::int64_t timeout_ms) {
  PARITECT_ASSIGN_OR_RETURN(const v1::AuditDefinition definition, definitions_.Find(name));
  if (const auto running = collecting_.Find(name, 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("audit '", name, "' is running already (run ", running->number(), "); wait for it or cancel it"));
  }
  const std::vector<KnownNode> nodes = ports_.nodes();
  PARITECT_RETURN_IF_ERROR(RequireNodes(definition, nodes));
  PARITECT_RETURN_IF_ERROR(CheckRecordedRuns(store_, definition));
  NewRunOptions options;
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t last, LastRunNumber(store_, name));
  options.number = last + 1;
  options.by = by;
  options.now_unix_ms = clock_();
  options.timeout_ms = timeout_ms > 0 ? timeout_ms : options_.timeout_ms;
  for (char byte : ports_.random_bytes(sizeof(options.seed))) {
    options.seed = options.seed << 8 | static_cast<unsigned char>(byte);
  }
  PARITECT_ASSIGN_OR_RETURN(const v1::AuditRun run, NewRun(definition, nodes, options));
  WriteSet set;
  AddNewRun(run, set);
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  collecting_.Begin(run, options.timeout_ms);
  if (ports_.begin_live) ports_.begin_live(run);
  return run.number();
}

absl::Status Audits::Cancel(const std::string& name, std::int64_t number) {
  return collecting_.Cancel(name, number);
}

absl::StatusOr<v1::AuditRun> Audits::StoredRun(const std::string& name, std::int64_t number) {
  auto run = ReadStoredRun(store_, name, number);
  if (!absl::IsNotFound(run.status())) return run;
  absl::MutexLock lock(&mutex_);
  return definitions_.Has(name) ? run.status() : NoSuchAudit(name);
}

// A run is in the store before it is forgotten: whoever does not find it under way finds it there.
absl::StatusOr<v1::AuditRun> Audits::FindRun(const std::string& name, std::int64_t number) {
  if (std::optional<v1::AuditRun> active = collecting_.Find(name, number)) return *std::move(active);
  return StoredRun(name, number);
}

absl::StatusOr<std::vector<v1::AuditRun>> Audits::Runs(const std::string& name) {
  {
    absl::MutexLock lock(&mutex_);
    if (!definitions_.Has(name)) return NoSuchAudit(name);
  }
  const std::optional<v1::AuditRun> active = collecting_.Find(name, 0);
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::AuditRun> runs, ReadStoredRuns(store_, name));
  for (v1::AuditRun& run : runs) {
    if (active && active->number() == run.number()) run = *active;
  }
  return runs;
}

absl::StatusOr<v1::Report> Audits::FindReport(const std::string& name, std::int64_t number) {
  PARITECT_ASSIGN_OR_RETURN(const v1::AuditRun run, FindRun(name, number));
  return ReadStoredReport(store_, run);
}

absl::StatusOr<std::vector<v1::Bundle>> Audits::Evidence(const std::string& name, std::int64_t number, Side side) {
  PARITECT_ASSIGN_OR_RETURN(const v1::AuditRun run, FindRun(name, number));
  if (run.state() != v1::AUDIT_RUN_STATE_DONE) {
    return absl::FailedPreconditionError(
        absl::StrCat("run ", run.number(), " of audit '", name, "' is not done; its evidence cannot be shown"));
  }
  std::vector<v1::Bundle> bundles;
  MessageBudget budget;
  for (const v1::StoredBundle& stored : side == Side::kBaseline ? run.baseline_bundles() : run.migrated_bundles()) {
    PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, ports_.load_bundle(stored, budget, nullptr));
    bundles.push_back(std::move(bundle));
  }
  return bundles;
}

absl::StatusOr<v1::AuditRun> Audits::WaitForChange(const std::string& name, std::int64_t number,
                                                   std::uint64_t& revision, std::int64_t wait_ms) {
  if (auto active = collecting_.WaitForChange(name, number, revision, wait_ms)) return *std::move(active);
  return StoredRun(name, number);
}

std::vector<v1::Task> Audits::TasksFor(const std::string& node, const std::set<std::string>& done) {
  return collecting_.TasksFor(node, done);
}

void Audits::OnProgress(const std::string& node, const v1::TaskProgress& progress) {
  collecting_.OnProgress(node, progress);
}

void Audits::OnTaskEnd(const std::string& node, std::uint64_t epoch, const v1::TaskEnd& end) {
  if (OwnRuns::IsOwn(end)) return own_runs_.Record(node, epoch, end);
  collecting_.OnTaskEnd(node, epoch, end);
}

void Audits::Tick() {
  collecting_.Tick(ports_.nodes());
  own_runs_.TryAgain();
  absl::MutexLock lock(&mutex_);
  const std::int64_t now = clock_();
  for (const v1::AuditDefinition& definition : definitions_.TakeDue(now)) {
    const auto started = StartLocked(definition.name(), "schedule", 0);
    WriteSet set;
    AddDefinition(definition, set);
    v1::AuditLogEntry entry;
    entry.set_at_unix_ms(now);
    entry.set_actor("schedule");
    entry.set_action("RunAudit");
    entry.set_subject(definition.name());
    entry.set_outcome(started.ok() ? "ok" : std::string(started.status().message()));
    set.log.push_back(std::move(entry));
    // A failure to note the next time only makes the schedule drift after a restart.
    ports_.commit(std::move(set)).IgnoreError();
  }
}

void Audits::OnJudged(const v1::AuditRun& run) {
  collecting_.Forget(run);
  if (ports_.judged) ports_.judged(run.audit());
  const std::string& url = run.definition().webhook();
  if (url.empty()) return;
  if (const auto text = Announcement(run)) ports_.notify(url, *text);
}

}  // namespace paritect
