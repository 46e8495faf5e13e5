// From the last node's answer to the stored report.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/runner.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "formats/audit_file.h"
#include "formats/evidence_parts.h"
#include "server/audits/audits.h"
#include "server/audits/silent_bundle.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

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

absl::string_view VerdictWord(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_PASS: return "pass";
    case v1::VERDICT_FAIL: return "fail";
    case v1::VERDICT_NOT_PERFORMED: return "not_performed";
    default: return "";
  }
}

void AddRunDocument(const std::string& key, const v1::AuditRun& run, WriteSet& set) {
  DocumentWrite document = {"audit_run", key, run.SerializeAsString(), {}};
  for (const auto* bundles : {&run.baseline_bundles(), &run.migrated_bundles()}) {
    for (const v1::StoredBundle& stored : *bundles) {
      for (std::string& part : PartsOf(stored)) document.references.push_back(std::move(part));
    }
  }
  set.documents.push_back(std::move(document));
}

}  // namespace

void Audits::JudgeLoop() {
  for (;;) {
    std::string key;
    v1::AuditRun run;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !to_judge_.empty(); });
      if (stopping_) return;
      key = to_judge_.front();
      to_judge_.pop_front();
      const auto active = active_.find(key);
      if (active == active_.end()) continue;
      run = active->second.run;
    }
    Judge(key, std::move(run));
  }
}

namespace {

// What an answer is evidence of is the audit's to say: a node that named another run would put its bundle there.
void OwnTheAnswer(const v1::AuditRun& run, const v1::PlanInfo& asked, v1::StoredBundle& stored) {
  v1::PlanInfo& plan = *stored.mutable_plan();
  plan.set_run(asked.run());
  plan.set_role(asked.role());
  plan.clear_identity();
  plan.mutable_identity()->set_key(AuditPlanKey());
  stored.set_source(absl::StrCat("audit ", run.audit(), " #", run.number()));
  stored.set_origin(v1::BUNDLE_ORIGIN_AUDIT);
}

// A node that a side's patterns fit and that is revoked is one that did not report: it must not vanish.
void AddRevoked(const v1::AuditRun& run, const std::map<std::string, KnownNode>& known, FleetFacts& facts) {
  for (const std::string& name : run.revoked_nodes()) {
    FleetFacts::Node fact;
    const auto& baseline = run.definition().baseline().nodes();
    const bool is_baseline = std::any_of(baseline.begin(), baseline.end(),
                                         [&](const std::string& pattern) { return GlobMatch(pattern, name); });
    fact.side = is_baseline ? Side::kBaseline : Side::kMigrated;
    fact.name = name;
    const auto found = known.find(name);
    const bool seen = found != known.end() && found->second.last_seen_unix_ms > 0;
    if (seen) fact.last_seen = FormatTime(found->second.last_seen_unix_ms);
    fact.revoked = true;
    facts.nodes.push_back(std::move(fact));
  }
}

}  // namespace

FleetFacts Audits::Facts(const v1::AuditRun& run, FleetFacts facts) {
  std::map<std::pair<bool, std::string>, bool> reported;
  std::set<std::pair<bool, std::string>> unfinished;
  for (const v1::NodeTask& task : run.tasks()) {
    if (!task.questions().empty()) continue;
    auto [one, fresh] = reported.try_emplace({task.migrated(), task.node()}, true);
    one->second = one->second && task.state() == v1::NODE_TASK_STATE_DONE;
    if (task.state() == v1::NODE_TASK_STATE_SILENT && task.detail() == kUnfinished) {
      unfinished.insert({task.migrated(), task.node()});
    }
  }
  std::map<std::string, KnownNode> known;
  for (const KnownNode& node : ports_.nodes()) known[node.name] = node;
  for (const auto& [node, all] : reported) {
    FleetFacts::Node fact;
    fact.side = node.first ? Side::kMigrated : Side::kBaseline;
    fact.name = node.second;
    fact.reported = all;
    fact.unfinished = unfinished.count(node) > 0;
    const auto found = known.find(node.second);
    if (found != known.end()) {
      if (found->second.last_seen_unix_ms > 0) fact.last_seen = FormatTime(found->second.last_seen_unix_ms);
      fact.clock_offset_ms = found->second.clock_offset_ms;
      fact.revoked = found->second.revoked;
      const auto before = run.lost_before().find(node.second);
      fact.lost_records = found->second.lost_records - (before == run.lost_before().end() ? 0 : before->second);
    }
    facts.nodes.push_back(std::move(fact));
  }
  AddRevoked(run, known, facts);
  std::optional<v1::AuditLogEntry> previous;
  for (;;) {
    auto page = store_.ReadLog(facts.log_entries + 1, 1000);
    if (!page.ok()) facts.log_fault = std::string(page.status().message());
    if (!page.ok() || page->empty() || !facts.log_fault.empty()) return facts;
    for (const v1::AuditLogEntry& entry : *page) {
      facts.log_fault = CheckLogLink(previous ? &*previous : nullptr, entry);
      if (!facts.log_fault.empty()) return facts;
      previous = entry;
      ++facts.log_entries;
    }
  }
}

// False: it is damaged, and that is noted.
bool Audits::LoadInto(const v1::StoredBundle& stored, bool migrated, Gathered& out) {
  const int side = migrated ? 1 : 0;
  auto bundle = ports_.load_bundle(stored);
  out.facts.records_checked += stored.pieces_size();
  if (bundle.ok()) {
    out.bundles[side].push_back(*std::move(bundle));
    out.task_of[side].push_back(-1);
  } else {
    out.facts.damaged_records.push_back(absl::StrCat(stored.plan().node(), ": ", bundle.status().message()));
  }
  out.stored[side].push_back(stored);
  return bundle.ok();
}

absl::Status Audits::GatherRuns(const v1::AuditSide& side, bool migrated, Gathered& out) {
  const Side which = migrated ? Side::kMigrated : Side::kBaseline;
  for (const std::string& name : side.runs()) {
    const std::vector<std::string> nodes = NodesOfRun(side, name);
    PARITECT_ASSIGN_OR_RETURN(const RecordedRun recorded, ReadRecordedRun(store_, name, nodes));
    for (const v1::StoredBundle& stored : recorded.counted) LoadInto(stored, migrated, out);
    for (const std::string& damage : recorded.damaged) out.facts.damaged_records.push_back(damage);
    FleetFacts::Recorded fact = {which, name};
    fact.replaced = static_cast<int>(recorded.replaced.size());
    fact.nodes_named = !nodes.empty();
    for (const v1::StoredBundle& stored : recorded.left_out) fact.left_out.insert(stored.plan().node());
    out.facts.recorded.push_back(std::move(fact));
  }
  return absl::OkStatus();
}

// Everything of one side, in the order of the audit file: recorded runs first, then plans.
absl::Status Audits::GatherSide(const v1::AuditRun& run, bool migrated, Gathered& out) {
  const v1::AuditSide& side = migrated ? run.definition().migrated() : run.definition().baseline();
  PARITECT_RETURN_IF_ERROR(GatherRuns(side, migrated, out));
  for (int plan = 0; plan < side.plans_size(); ++plan) {
    for (int index = 0; index < run.tasks_size(); ++index) {
      const v1::NodeTask& task = run.tasks(index);
      if (task.migrated() != migrated || task.plan() != plan || !task.questions().empty()) continue;
      if (task.state() == v1::NODE_TASK_STATE_DONE) {
        auto stored = ports_.stored_bundle(task);
        if (stored.ok()) OwnTheAnswer(run, side.plans(plan).info(), *stored);
        if (!stored.ok()) {
          out.facts.damaged_records.push_back(absl::StrCat(task.node(), ": ", stored.status().message()));
        }
        if (stored.ok() && LoadInto(*stored, migrated, out)) {
          out.task_of[migrated ? 1 : 0].back() = index;
          out.fresh.push_back(*std::move(stored));
          continue;
        }
      }
      const bool refused = task.state() == v1::NODE_TASK_STATE_REFUSED;
      out.bundles[migrated ? 1 : 0].push_back(
          SilentBundle(side.plans(plan), task.node(), refused ? task.detail() : ""));
      out.task_of[migrated ? 1 : 0].push_back(-1);
    }
  }
  return absl::OkStatus();
}

// False: the run has gone back to collecting.
bool Audits::Report(const std::string& key, Gathered& gathered, const Profile& profile, v1::AuditRun& run,
                    WriteSet& set) {
  EvidenceSet evidence(std::move(gathered.bundles[0]), std::move(gathered.bundles[1]),
                       Facts(run, std::move(gathered.facts)));
  if (!run.followed_up() && AskAboutFiles(key, evidence, gathered, run)) return false;
  TakeAnswers(run, gathered, evidence);
  AuditOptions options;
  options.today = FormatDate(run.ended_unix_ms());
  const v1::Report report = RunAudit(evidence, profile, rules_, options);
  for (int number = static_cast<int>(run.number()) - 1; number > 0; --number) {
    auto before = FindReport(run.audit(), number);
    if (!before.ok()) continue;  // that run has none, or retention took it
    for (v1::ChangedVerdict& one : Compare(*before, report)) *run.add_changed() = std::move(one);
    break;
  }
  for (v1::StoredBundle& stored : gathered.stored[0]) *run.add_baseline_bundles() = std::move(stored);
  for (v1::StoredBundle& stored : gathered.stored[1]) *run.add_migrated_bundles() = std::move(stored);
  run.set_state(v1::AUDIT_RUN_STATE_DONE);
  run.set_verdict(report.verdict());
  set.documents.push_back({"report", AuditRunKey(run.audit(), run.number()), report.SerializeAsString(), {}});
  return true;
}

void Audits::Judge(const std::string& key, v1::AuditRun run) {
  WriteSet set;
  Gathered gathered;
  absl::Status status = GatherSide(run, false, gathered);
  if (status.ok()) status = GatherSide(run, true, gathered);
  auto profile = ReadAuditProfile(run.definition(), rules_.profile);
  if (status.ok()) status = profile.status();
  if (status.ok()) status = AddAnswers(store_, run.audit(), *profile);
  run.set_ended_unix_ms(clock_());
  std::set<std::string> silent;
  for (const v1::NodeTask& task : run.tasks()) {
    const bool ended_by_person = run.problem() == "cancelled" && task.state() == v1::NODE_TASK_STATE_CANCELLED;
    const bool done = task.state() == v1::NODE_TASK_STATE_DONE || ended_by_person;
    if (task.questions().empty() && !done) silent.insert(task.node());
  }
  for (const std::string& node : silent) run.add_silent_nodes(node);
  if (run.problem() == "cancelled") {
    run.set_state(v1::AUDIT_RUN_STATE_CANCELLED);
  } else if (!status.ok()) {
    run.set_state(v1::AUDIT_RUN_STATE_FAILED);
    run.set_problem(std::string(status.message()));
  } else if (!Report(key, gathered, *profile, run, set)) {
    return;
  }
  AddRunDocument(key, run, set);
  for (v1::StoredBundle& stored : gathered.fresh) {
    stored.set_stored_unix_ms(run.ended_unix_ms());
    AddBundleDocument(stored, set);
  }
  if (absl::Status kept = ports_.commit(std::move(set)); !kept.ok()) {
    run.set_state(v1::AUDIT_RUN_STATE_FAILED);
    run.set_problem(absl::StrCat("the report could not be stored: ", kept.message()));
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    active_.erase(key);
  }
  changed_.notify_all();
  if (ports_.judged) ports_.judged(run.audit());
  Announce(run);
}

// Tells the audit's webhook what a person would want to know without looking: another verdict, silent nodes, a failure.
void Audits::Announce(const v1::AuditRun& run) {
  const std::string& url = run.definition().webhook();
  if (url.empty()) return;
  if (run.number() > 1 && run.changed().empty() && run.silent_nodes().empty() && run.problem().empty()) return;
  const auto quoted = [](absl::string_view text) {
    using Json = nlohmann::json;
    return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::vector<std::string> changed;
  for (const v1::ChangedVerdict& one : run.changed()) {
    changed.push_back(absl::StrCat("{\"check\":", quoted(one.check()),
                                   ",\"before\":", quoted(VerdictWord(one.before())),
                                   ",\"after\":", quoted(VerdictWord(one.after())), "}"));
  }
  std::vector<std::string> silent;
  for (const std::string& node : run.silent_nodes()) silent.push_back(quoted(node));
  ports_.notify(url, absl::StrCat("{\"event\":\"audit_done\",\"audit\":", quoted(run.audit()),
                                  ",\"run\":", run.number(), ",\"verdict\":", quoted(VerdictWord(run.verdict())),
                                  ",\"problem\":", quoted(run.problem()), ",\"changed\":[", absl::StrJoin(changed, ","),
                                  "],\"silent_nodes\":[", absl::StrJoin(silent, ","), "]}"));
}

}  // namespace paritect
