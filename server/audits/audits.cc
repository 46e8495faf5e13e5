// Definitions, starting, looking up. Collecting is in collecting.cc, judging in judging.cc.
#include "server/audits/audits.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/digest.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "formats/audit_file.h"
#include "server/recorded_runs.h"
#include "server/shared_mounts.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr absl::string_view kAuditCollection = "audit";
constexpr absl::string_view kRunCollection = "audit_run";
constexpr absl::string_view kNumberCollection = "audit_number";  // key: the audit; the last number that was given

bool Matches(const v1::AuditSide& side, absl::string_view node) {
  return std::any_of(side.nodes().begin(), side.nodes().end(),
                     [&](const std::string& pattern) { return GlobMatch(pattern, node); });
}

bool IsPattern(absl::string_view name) {
  return name.find_first_of("*?[") != absl::string_view::npos;
}

// Enrolled nodes of the side, and those it names outright that are not enrolled: they are rows too, never dropped.
std::set<std::string> NodesOf(const v1::AuditSide& side, const std::vector<KnownNode>& known) {
  std::set<std::string> nodes;
  for (const KnownNode& node : known) {
    if (!node.revoked && Matches(side, node.name)) nodes.insert(node.name);
  }
  for (const std::string& pattern : side.nodes()) {
    if (!IsPattern(pattern)) nodes.insert(pattern);
  }
  return nodes;
}

absl::Status RequireNodes(const v1::AuditSide& side, absl::string_view name, const std::vector<KnownNode>& known) {
  if (side.nodes_size() == 0 || !NodesOf(side, known).empty()) return absl::OkStatus();
  std::vector<std::string> names;
  std::vector<std::string> revoked;
  for (const KnownNode& node : known) {
    if (!node.revoked) names.push_back(node.name);
    if (node.revoked && Matches(side, node.name)) revoked.push_back(node.name);
  }
  if (!revoked.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("every enrolled node of the ", name, " side was revoked (", absl::StrJoin(revoked, ", "),
                     "); let one join again with a token of its name (`paritect token create --role agent --node ",
                     revoked[0], "`), or change the side's nodes"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no enrolled node matches the ", name, " side's nodes (", absl::StrJoin(side.nodes(), ", "),
      "); enrolled: ", names.empty() ? "none; join them with `paritect-agent join`" : absl::StrJoin(names, ", ")));
}

void AddTasks(const v1::AuditSide& side, bool migrated, const std::vector<KnownNode>& known, v1::AuditRun& run) {
  for (const std::string& node : NodesOf(side, known)) {
    for (int plan = 0; plan < side.plans_size(); ++plan) {
      const std::string& only = side.plans(plan).info().node();
      if (!only.empty() && !GlobMatch(only, node)) continue;
      v1::NodeTask& task = *run.add_tasks();
      task.set_task_id(absl::StrCat(run.audit(), ".", run.number(), ".", migrated ? "m" : "b", plan));
      task.set_node(node);
      task.set_migrated(migrated);
      task.set_plan(plan);
      task.set_state(v1::NODE_TASK_STATE_WAITING);
    }
  }
}

// A plan that no node runs, or a node without a plan, would vanish from the report and leave a pass behind.
absl::Status RequireWork(const v1::AuditSide& side, bool migrated, const std::vector<KnownNode>& known,
                         const v1::AuditRun& run) {
  const absl::string_view name = migrated ? "migrated" : "baseline";
  std::set<int> plans;
  std::set<std::string> nodes;
  for (const v1::NodeTask& task : run.tasks()) {
    if (task.migrated() != migrated) continue;
    plans.insert(task.plan());
    nodes.insert(task.node());
  }
  for (int plan = 0; plan < side.plans_size(); ++plan) {
    if (plans.count(plan) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("plan ", plan + 1, " of the ", name, " side (run ", side.plans(plan).info().run(),
                     ") is for node '", side.plans(plan).info().node(), "', which is none of that side's nodes"));
  }
  for (const std::string& node : NodesOf(side, known)) {
    if (side.plans_size() == 0 || nodes.count(node) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("node '", node, "' is one of the ", name, " side's nodes, but no plan of that side is for it"));
  }
  return absl::OkStatus();
}

template <typename Message>
absl::StatusOr<Message> ParseStored(absl::string_view what, absl::string_view value) {
  Message message;
  if (message.ParseFromArray(value.data(), static_cast<int>(value.size()))) return message;
  return absl::DataLossError(absl::StrCat("stored ", what, " is damaged"));
}

}  // namespace

Audits::Audits(FleetStore& store, const Rules& rules, WallClock clock, AuditOptionsOfServer options, AuditPorts ports)
    : store_(store), rules_(rules), clock_(std::move(clock)), options_(options), ports_(std::move(ports)) {}

Audits::~Audits() {
  Stop();
}

absl::Status Audits::Load() {
  absl::Status damage;
  PARITECT_RETURN_IF_ERROR(store_.Scan(kAuditCollection, "", "", [&](absl::string_view key, absl::string_view value) {
    auto definition = ParseStored<v1::AuditDefinition>(absl::StrCat("audit ", key), value);
    if (definition.ok()) {
      definitions_[std::string(key)] = *std::move(definition);
    } else {
      damage = definition.status();
    }
    return true;
  }));
  std::vector<v1::AuditRun> unfinished;
  PARITECT_RETURN_IF_ERROR(store_.Scan(kRunCollection, "", "", [&](absl::string_view key, absl::string_view value) {
    auto run = ParseStored<v1::AuditRun>(absl::StrCat("audit run ", key), value);
    if (!run.ok()) {
      damage = run.status();
    } else if (run->state() == v1::AUDIT_RUN_STATE_COLLECTING || run->state() == v1::AUDIT_RUN_STATE_CHECKING) {
      unfinished.push_back(*std::move(run));
    }
    return true;
  }));
  PARITECT_RETURN_IF_ERROR(damage);
  std::lock_guard<std::mutex> lock(mutex_);
  for (v1::AuditRun& run : unfinished) {
    for (v1::NodeTask& task : *run.mutable_tasks()) {
      if (task.state() == v1::NODE_TASK_STATE_RUNNING) task.set_state(v1::NODE_TASK_STATE_WAITING);
      PARITECT_ASSIGN_OR_RETURN(const auto end, store_.Get("task_end", TaskEndKey(task.task_id(), task.node())));
      if (!end) continue;
      auto stored = ports_.stored_bundle(task);
      if (stored.ok()) task.set_state(v1::NODE_TASK_STATE_DONE);
    }
    run.set_state(v1::AUDIT_RUN_STATE_COLLECTING);
    Begin(std::move(run), 0);
  }
  RecordOwnRunsLeft();
  judge_ = std::thread([this] { JudgeLoop(); });
  return absl::OkStatus();
}

void Audits::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (judge_.joinable()) judge_.join();
}

absl::StatusOr<Audits::Created> Audits::Create(const std::string& text, const std::string& file, bool replace,
                                               const std::string& by) {
  auto parsed = ParseAuditFile(text);
  if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", parsed.status().message()));
  auto profile = ReadAuditProfile(*parsed, rules_.profile);
  if (!profile.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", profile.status().message()));
  v1::AuditDefinition& definition = *parsed;
  if (const absl::Status runs = CheckRecordedRuns(store_, *parsed); !runs.ok()) {
    return absl::Status(runs.code(), absl::StrCat(file, ": ", runs.message()));
  }
  const std::int64_t now_s = clock_() / 1000;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = definitions_.find(definition.name());
  if (known != definitions_.end() && !replace && known->second.source() != text) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is another audit '", definition.name(), "' already; --replace takes its place"));
  }
  definition.set_created_by(by);
  definition.set_created_unix(now_s);
  definition.set_redaction_key(known != definitions_.end() ? known->second.redaction_key() : ports_.random_bytes(32));
  if (definition.schedule_seconds() > 0) definition.set_next_run_unix(now_s + definition.schedule_seconds());
  WriteSet set;
  set.documents.push_back({std::string(kAuditCollection), definition.name(), definition.SerializeAsString(), {}});
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  const bool replaced = known != definitions_.end() && known->second.source() != text;
  definitions_[definition.name()] = definition;
  return Created{definition.name(), replaced};
}

std::vector<v1::AuditDefinition> Audits::Definitions() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<v1::AuditDefinition> out;
  for (const auto& [name, definition] : definitions_) out.push_back(definition);
  return out;
}

absl::StatusOr<std::int64_t> Audits::LastNumber(const std::string& name) {
  std::int64_t last = 0;
  PARITECT_RETURN_IF_ERROR(
      store_.Scan(kRunCollection, GroupPrefix(name), "", [&](absl::string_view, absl::string_view value) {
        v1::AuditRun run;
        if (run.ParseFromArray(value.data(), static_cast<int>(value.size()))) last = std::max(last, run.number());
        return true;
      }));
  // Runs go with retention and with their audit; a number that comes again would bring old evidence with it.
  PARITECT_ASSIGN_OR_RETURN(const std::optional<std::string> used, store_.Get(kNumberCollection, name));
  std::int64_t number = 0;
  if (used && absl::SimpleAtoi(*used, &number)) last = std::max(last, number);
  return last;
}

absl::StatusOr<std::int64_t> Audits::Start(const std::string& name, const std::string& by, std::int64_t timeout_ms) {
  std::lock_guard<std::mutex> lock(mutex_);
  return StartLocked(name, by, timeout_ms);
}

absl::StatusOr<std::int64_t> Audits::StartLocked(const std::string& name, const std::string& by,
                                                 std::int64_t timeout_ms) {
  const auto found = definitions_.find(name);
  if (found == definitions_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no audit '", name, "' (`paritect audit ls` lists all)"));
  }
  for (const auto& [key, active] : active_) {
    if (active.run.audit() == name) {
      return absl::FailedPreconditionError(absl::StrCat("audit '", name, "' is running already (run ",
                                                        active.run.number(), "); wait for it or cancel it"));
    }
  }
  const std::vector<KnownNode> nodes = ports_.nodes();
  PARITECT_RETURN_IF_ERROR(RequireNodes(found->second.baseline(), "baseline", nodes));
  PARITECT_RETURN_IF_ERROR(RequireNodes(found->second.migrated(), "migrated", nodes));
  PARITECT_RETURN_IF_ERROR(CheckRecordedRuns(store_, found->second));
  v1::AuditRun run = MakeRun(found->second, by, nodes);
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t last, LastNumber(name));
  run.set_number(last + 1);
  run.set_timeout_ms(timeout_ms > 0 ? timeout_ms : options_.timeout_ms);
  AddTasks(found->second.baseline(), false, nodes, run);
  AddTasks(found->second.migrated(), true, nodes, run);
  std::uint64_t seed = 0;
  for (char byte : ports_.random_bytes(sizeof(seed))) seed = seed << 8 | static_cast<unsigned char>(byte);
  ShareMounts(nodes, seed, run);
  PARITECT_RETURN_IF_ERROR(RequireWork(found->second.baseline(), false, nodes, run));
  PARITECT_RETURN_IF_ERROR(RequireWork(found->second.migrated(), true, nodes, run));
  WriteSet set;
  set.documents.push_back({std::string(kRunCollection), AuditRunKey(name, run.number()), run.SerializeAsString(), {}});
  set.documents.push_back({std::string(kNumberCollection), name, absl::StrCat(run.number()), {}});
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  const std::int64_t number = run.number();
  Begin(run, timeout_ms);
  if (ports_.begin_live) ports_.begin_live(run);
  return number;
}

v1::AuditRun Audits::MakeRun(const v1::AuditDefinition& definition, const std::string& by,
                             std::vector<KnownNode> nodes) {
  v1::AuditRun run;
  run.set_audit(definition.name());
  run.set_state(v1::AUDIT_RUN_STATE_COLLECTING);
  run.set_started_unix_ms(clock_());
  run.set_started_by(by);
  *run.mutable_definition() = definition;
  for (const KnownNode& node : nodes) {
    if (node.lost_records > 0) (*run.mutable_lost_before())[node.name] = node.lost_records;
    // A name that a side gives outright is a row of its own already.
    const auto by_pattern = [&](const v1::AuditSide& side) {
      const auto& names = side.nodes();
      return Matches(side, node.name) && std::find(names.begin(), names.end(), node.name) == names.end();
    };
    const bool fits = by_pattern(definition.baseline()) || by_pattern(definition.migrated());
    if (node.revoked && fits) run.add_revoked_nodes(node.name);
  }
  return run;
}

absl::StatusOr<v1::AuditRun> Audits::StoredRun(const std::string& name, std::int64_t number) {
  if (number == 0) {
    PARITECT_ASSIGN_OR_RETURN(number, LastNumber(name));
  }
  PARITECT_ASSIGN_OR_RETURN(const auto value, store_.Get(kRunCollection, AuditRunKey(name, number)));
  if (value) return ParseStored<v1::AuditRun>("audit run", *value);
  if (definitions_.count(name) == 0) {
    return absl::NotFoundError(absl::StrCat("there is no audit '", name, "' (`paritect audit ls` lists all)"));
  }
  if (number == 0) {
    return absl::NotFoundError(
        absl::StrCat("audit '", name, "' has not been run yet (`paritect audit run ", name, "`)"));
  }
  return absl::NotFoundError(absl::StrCat("audit '", name, "' has no run ", number));
}

absl::StatusOr<v1::AuditRun> Audits::FindRun(const std::string& name, std::int64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, active] : active_) {
    if (active.run.audit() == name && (number == 0 || active.run.number() == number)) return active.run;
  }
  return StoredRun(name, number);
}

absl::StatusOr<std::vector<v1::AuditRun>> Audits::Runs(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (definitions_.count(name) == 0) {
    return absl::NotFoundError(absl::StrCat("there is no audit '", name, "' (`paritect audit ls` lists all)"));
  }
  std::vector<v1::AuditRun> runs;
  PARITECT_RETURN_IF_ERROR(
      store_.Scan(kRunCollection, GroupPrefix(name), "", [&](absl::string_view key, absl::string_view value) {
        const auto active = active_.find(std::string(key));
        v1::AuditRun run;
        if (active != active_.end()) {
          runs.push_back(active->second.run);
        } else if (run.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          runs.push_back(std::move(run));
        }
        return true;
      }));
  return runs;
}

absl::StatusOr<v1::Report> Audits::FindReport(const std::string& name, std::int64_t number) {
  PARITECT_ASSIGN_OR_RETURN(const v1::AuditRun run, FindRun(name, number));
  PARITECT_ASSIGN_OR_RETURN(const auto value, store_.Get("report", AuditRunKey(name, run.number())));
  if (value) return ParseStored<v1::Report>("report", *value);
  return absl::NotFoundError(absl::StrCat("run ", run.number(), " of audit '", name, "' has no report",
                                          run.problem().empty() ? " yet" : absl::StrCat(": ", run.problem())));
}

absl::StatusOr<std::vector<v1::Bundle>> Audits::Evidence(const std::string& name, std::int64_t number, Side side) {
  PARITECT_ASSIGN_OR_RETURN(const v1::AuditRun run, FindRun(name, number));
  if (run.state() != v1::AUDIT_RUN_STATE_DONE) {
    return absl::FailedPreconditionError(
        absl::StrCat("run ", run.number(), " of audit '", name, "' is not done; its evidence cannot be shown"));
  }
  std::vector<v1::Bundle> bundles;
  for (const v1::StoredBundle& stored : side == Side::kBaseline ? run.baseline_bundles() : run.migrated_bundles()) {
    PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, ports_.load_bundle(stored));
    bundles.push_back(std::move(bundle));
  }
  return bundles;
}

}  // namespace paritect
