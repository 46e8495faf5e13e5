#include "server/audits/judging.h"

#include <malloc.h>

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "checks/pictures/pictures.h"
#include "checks/runner.h"
#include "common/status_macros.h"
#include "formats/audit_file.h"
#include "server/audits/follow_up.h"
#include "server/audits/stored_runs.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

// Evidence that is slow to judge must not hold up the audits of others for ever; a thousand nodes take seconds.
constexpr absl::Duration kJudgingTimeMax = absl::Minutes(30);

// What persons answered on this server, on top of the audit's own profile.
absl::Status AddAnswers(FleetStore& store, const std::string& audit, Profile& profile) {
  PARITECT_RETURN_IF_ERROR(store.Scan("waiver", "", "", [&](absl::string_view, absl::string_view value) {
    v1::StoredWaiver waiver;
    if (!waiver.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
    if (!waiver.audit().empty() && waiver.audit() != audit) return true;
    profile.waivers.push_back({waiver.check(),
                               waiver.kind(),
                               waiver.subject(),
                               {waiver.nodes().begin(), waiver.nodes().end()},
                               waiver.reason(),
                               waiver.by(),
                               waiver.until(),
                               waiver.ref()});
    return true;
  }));
  return store.Scan("attestation", GroupPrefix(audit), "", [&](absl::string_view, absl::string_view value) {
    v1::StoredAttestation one;
    if (one.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      profile.attestations.push_back({one.check(), one.by(), one.reason(), one.until()});
    }
    return true;
  });
}

std::vector<v1::ChangedVerdict> Compare(const v1::Report& before, const v1::Report& after) {
  std::map<std::string, v1::Verdict> verdicts;
  for (const v1::ItemResult& item : before.items()) {
    for (const v1::CheckResult& check : item.checks()) verdicts[check.id()] = check.verdict();
  }
  std::vector<v1::ChangedVerdict> changed;
  for (const v1::ItemResult& item : after.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      const auto known = verdicts.find(check.id());
      if (known == verdicts.end() || known->second == check.verdict()) continue;
      v1::ChangedVerdict one;
      one.set_check(check.id());
      one.set_before(known->second);
      one.set_after(check.verdict());
      changed.push_back(std::move(one));
    }
  }
  return changed;
}

// Against the newest report before it: of some runs there is none, or retention took it.
void AddChanges(FleetStore& store, const v1::Report& report, v1::AuditRun& run) {
  for (std::int64_t number = run.number() - 1; number > 0; --number) {
    auto before = ReadStoredRun(store, run.audit(), number);
    auto known = before.ok() ? ReadStoredReport(store, *before) : before.status();
    if (!known.ok()) continue;
    for (v1::ChangedVerdict& one : Compare(*known, report)) *run.add_changed() = std::move(one);
    return;
  }
}

void AddSilentNodes(v1::AuditRun& run) {
  std::set<std::string> silent;
  for (const v1::NodeTask& task : run.tasks()) {
    const bool ended_by_person = run.problem() == "cancelled" && task.state() == v1::NODE_TASK_STATE_CANCELLED;
    const bool done = task.state() == v1::NODE_TASK_STATE_DONE || ended_by_person;
    if (task.questions().empty() && !done) silent.insert(task.node());
  }
  for (const std::string& node : silent) run.add_silent_nodes(node);
}

}  // namespace

Judging::Judging(FleetStore& store, const Rules& rules, WallClock clock, JudgingPorts ports)
    : store_(store), rules_(rules), clock_(std::move(clock)), ports_(std::move(ports)) {}

Judging::~Judging() {
  Stop();
}

void Judging::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Judging::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  Unmark();
  if (thread_.joinable()) thread_.join();
}

// The end that is wanted is none of the run's doing, however long its report takes.
void Judging::Unmark() {
  WriteSet set;
  {
    absl::MutexLock lock(&mutex_);
    if (!judged_) return;
    AddJudgingMarkRemoval(*judged_, set);
  }
  ports_.commit(std::move(set)).IgnoreError();
}

absl::Status Judging::Mark(const v1::AuditRun& run, int unended) {
  {
    absl::MutexLock lock(&mutex_);
    judged_.emplace();
    judged_->set_audit(run.audit());
    judged_->set_number(run.number());
  }
  WriteSet set;
  AddJudgingMark(run, unended + 1, set);
  return ports_.commit(std::move(set));
}

void Judging::Add(v1::AuditRun run) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(std::move(run));
}

void Judging::Loop() {
  for (;;) {
    v1::AuditRun run;
    {
      absl::MutexLock lock(&mutex_);
      const auto due = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !waiting_.empty(); };
      mutex_.Await(absl::Condition(&due));
      if (stopping_) return;
      run = std::move(waiting_.front());
      waiting_.pop_front();
    }
    for (absl::Status kept = Judge(run); !kept.ok(); kept = Judge(run)) {
      if (!WaitToTryAgain(run, kept)) return;
    }
    // What an audit held of its nodes' lists goes back to the machine: the next one may be a week away.
    malloc_trim(0);
    absl::MutexLock lock(&mutex_);
    judged_.reset();
  }
}

// False: the server stops. The next start judges the run.
bool Judging::WaitToTryAgain(const v1::AuditRun& run, const absl::Status& why) {
  Unmark();
  absl::MutexLock lock(&mutex_);
  if (stopping_) return false;
  if (ports_.not_stored) ports_.not_stored(run, why);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), ports_.try_again_after);
  return !stopping_;
}

// False: the run has gone back to collecting.
bool Judging::Report(Gathered& gathered, const Profile& profile, v1::AuditRun& run, WriteSet& set) {
  AddFleetFacts(run, ports_.nodes(), gathered.facts);
  log_.Follow(store_, clock_(), gathered.facts);
  TakeFileAnswers(run, ports_.evidence, gathered);
  const EvidenceSet evidence(std::move(gathered.baseline.bundles), std::move(gathered.migrated.bundles),
                             gathered.lists.shared, std::move(gathered.facts));
  if (!run.followed_up()) {
    std::vector<v1::NodeTask> questions = FileQuestionTasks(evidence, gathered, run);
    if (!questions.empty() && ports_.ask(run, std::move(questions))) {
      Unmark();
      return false;
    }
  }
  AuditOptions options;
  options.today = FormatDate(run.ended_unix_ms());
  options.time_is_over = [end = absl::Now() + kJudgingTimeMax]() { return absl::Now() > end; };
  const CheckContext context{evidence, profile, rules_};
  const v1::Report report = RunAudit(context, options);
  AddChanges(store_, report, run);
  for (v1::StoredBundle& stored : gathered.baseline.stored) *run.add_baseline_bundles() = std::move(stored);
  for (v1::StoredBundle& stored : gathered.migrated.stored) *run.add_migrated_bundles() = std::move(stored);
  run.set_state(v1::AUDIT_RUN_STATE_DONE);
  run.set_verdict(report.verdict());
  // Who judges for too long draws nothing: pictures decide nothing.
  AddReport(run, report, options.time_is_over() ? v1::ReportPictures() : MakePictures(context), set);
  return true;
}

// A report that cannot be stored, of its size for example, must not be judged for ever: the run says so.
absl::Status Judging::StoreFailure(v1::AuditRun run, const absl::Status& why) {
  run.set_state(v1::AUDIT_RUN_STATE_FAILED);
  run.clear_verdict();
  run.clear_changed();
  run.clear_baseline_bundles();
  run.clear_migrated_bundles();
  run.set_problem(absl::StrCat("the report could not be stored: ", why.message()));
  WriteSet set;
  AddJudgedRun(run, set);
  AddJudgingMarkRemoval(run, set);
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  ports_.judged(run);
  return absl::OkStatus();
}

// Not OK: nothing can be stored now, not even that.
absl::Status Judging::Judge(v1::AuditRun run) {
  WriteSet set;
  Gathered gathered;
  const absl::StatusOr<int> unended = UnendedJudgements(store_, run);
  // Without the mark a run that ends the server would do so at each start: it is not judged then.
  if (unended.ok()) PARITECT_RETURN_IF_ERROR(Mark(run, *unended));
  absl::Status status = unended.status();
  if (status.ok()) status = Gather(store_, ports_.evidence, run, gathered);
  absl::StatusOr<Profile> profile = ReadAuditProfile(run.definition(), rules_.profile);
  if (status.ok()) status = profile.status();
  if (status.ok()) status = AddAnswers(store_, run.audit(), *profile);
  run.set_ended_unix_ms(clock_());
  AddSilentNodes(run);
  if (run.problem() == "cancelled") {
    run.set_state(v1::AUDIT_RUN_STATE_CANCELLED);
  } else if (!status.ok()) {
    run.set_state(v1::AUDIT_RUN_STATE_FAILED);
    run.set_problem(std::string(status.message()));
  } else if (!Report(gathered, *profile, run, set)) {
    return absl::OkStatus();
  }
  AddJudgedRun(run, set);
  AddJudgingMarkRemoval(run, set);
  for (v1::StoredBundle& stored : gathered.fresh) {
    stored.set_stored_unix_ms(run.ended_unix_ms());
    AddBundleDocument(stored, set);
  }
  if (const absl::Status kept = ports_.commit(std::move(set)); !kept.ok()) return StoreFailure(std::move(run), kept);
  ports_.judged(run);
  return absl::OkStatus();
}

}  // namespace paritect
