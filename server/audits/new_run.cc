#include "server/audits/new_run.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "server/shared_mounts.h"

namespace paritect {
namespace {

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

absl::Status RequireNodesOf(const v1::AuditSide& side, absl::string_view name, const std::vector<KnownNode>& known) {
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

// A node that a side's patterns fit and that is revoked did not report. A name that a side gives outright is a row of
// its own already.
void AddRevokedAndLosses(const std::vector<KnownNode>& known, v1::AuditRun& run) {
  const auto by_pattern = [](const v1::AuditSide& side, const std::string& node) {
    const auto& names = side.nodes();
    return Matches(side, node) && std::find(names.begin(), names.end(), node) == names.end();
  };
  for (const KnownNode& node : known) {
    if (node.lost_records > 0) (*run.mutable_lost_before())[node.name] = node.lost_records;
    const bool fits =
        by_pattern(run.definition().baseline(), node.name) || by_pattern(run.definition().migrated(), node.name);
    if (node.revoked && fits) run.add_revoked_nodes(node.name);
  }
}

}  // namespace

absl::Status RequireNodes(const v1::AuditDefinition& definition, const std::vector<KnownNode>& known) {
  PARITECT_RETURN_IF_ERROR(RequireNodesOf(definition.baseline(), "baseline", known));
  return RequireNodesOf(definition.migrated(), "migrated", known);
}

absl::StatusOr<v1::AuditRun> NewRun(const v1::AuditDefinition& definition, const std::vector<KnownNode>& known,
                                    const NewRunOptions& options) {
  v1::AuditRun run;
  run.set_audit(definition.name());
  run.set_number(options.number);
  run.set_state(v1::AUDIT_RUN_STATE_COLLECTING);
  run.set_started_unix_ms(options.now_unix_ms);
  run.set_started_by(options.by);
  run.set_timeout_ms(options.timeout_ms);
  *run.mutable_definition() = definition;
  AddRevokedAndLosses(known, run);
  AddTasks(definition.baseline(), false, known, run);
  AddTasks(definition.migrated(), true, known, run);
  ShareMounts(known, options.seed, run);
  PARITECT_RETURN_IF_ERROR(RequireWork(definition.baseline(), false, known, run));
  PARITECT_RETURN_IF_ERROR(RequireWork(definition.migrated(), true, known, run));
  return run;
}

}  // namespace paritect
