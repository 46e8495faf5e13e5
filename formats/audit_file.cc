#include "formats/audit_file.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/date.h"
#include "common/document_fields.h"
#include "common/duration.h"
#include "common/status_macros.h"
#include "formats/plan.h"
#include "formats/plan_sources.h"

namespace paritect {
namespace {

using absl::Status;

constexpr std::size_t kAuditBytesMax = 1 << 20;
constexpr int kPlansMax = 1000;

// A node has no plan file beside which a relative path could start.
Status RequireAbsolute(const DocumentNode& node, absl::string_view path) {
  if (path.empty() || path[0] == '/') return absl::OkStatus();
  return ErrorAt(node, absl::StrCat("'", path, "' must be an absolute path: a node reads it from its root"));
}

Status RequireAbsolutePaths(const DocumentNode& node, const v1::Plan& plan) {
  for (const PlanSource& source : SourcesOf(plan)) {
    for (absl::string_view path : source.paths) PARITECT_RETURN_IF_ERROR(RequireAbsolute(node, path));
  }
  return absl::OkStatus();
}

// A name, or a map that also says whose bundles count.
Status ReadRun(const DocumentNode& node, v1::AuditSide& side) {
  v1::RunNodes one;
  if (node.is_map()) {
    PARITECT_RETURN_IF_ERROR(
        ReadMap(node, "a run of `runs`",
                {{"run", [&](const DocumentNode& v) { return ReadText(v, "run", *one.mutable_run()); }},
                 {"nodes", [&](const DocumentNode& v) { return ReadTexts(v, "nodes", *one.mutable_nodes()); }}}));
    if (one.run().empty()) return ErrorAt(node, "a map in `runs` needs `run:`, the name of a recorded run");
    if (one.nodes_size() == 0) return ErrorAt(node, "a map in `runs` needs `nodes:`, whose bundles of the run count");
  } else {
    PARITECT_RETURN_IF_ERROR(ReadText(node, "runs", *one.mutable_run()));
  }
  if (std::find(side.runs().begin(), side.runs().end(), one.run()) != side.runs().end()) {
    return ErrorAt(node, absl::StrCat("run '", one.run(), "' stands twice in `runs`"));
  }
  side.add_runs(one.run());
  if (node.is_map()) *side.add_run_nodes() = std::move(one);
  return absl::OkStatus();
}

Status ReadSide(const DocumentNode& node, absl::string_view name, v1::AuditSide& side) {
  const auto read_plan = [&](const DocumentNode& one) -> Status {
    PARITECT_ASSIGN_OR_RETURN(*side.add_plans(), ReadPlan(one));
    if (side.plans_size() > kPlansMax) return ErrorAt(one, absl::StrCat("more than ", kPlansMax, " plans"));
    v1::PlanInfo& info = *side.mutable_plans(side.plans_size() - 1)->mutable_info();
    if (info.run().empty()) return ErrorAt(one, "a plan in an audit file needs `run:`, the name of its training run");
    return RequireAbsolutePaths(one, side.plans(side.plans_size() - 1));
  };
  const auto read_run = [&](const DocumentNode& one) { return ReadRun(one, side); };
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, absl::StrCat("`", name, "`"),
              {{"nodes", [&](const DocumentNode& v) { return ReadTexts(v, "nodes", *side.mutable_nodes()); }},
               {"plans", [&](const DocumentNode& v) { return ReadList(v, "plans", read_plan); }},
               {"runs", [&](const DocumentNode& v) { return ReadList(v, "runs", read_run); }}}));
  for (const std::string& pattern : side.nodes()) {
    if (pattern.empty()) return ErrorAt(node, absl::StrCat("`nodes` of `", name, "` holds an empty name"));
  }
  if (side.plans_size() > 0 && side.nodes_size() == 0) {
    return ErrorAt(node, absl::StrCat("`", name, "` has plans but no `nodes` to run them on"));
  }
  if (side.nodes_size() > 0 && side.plans_size() == 0) {
    return ErrorAt(node, absl::StrCat("`", name, "` names nodes but no `plans` to run there"));
  }
  if (side.plans_size() == 0 && side.runs_size() == 0) {
    return ErrorAt(node, absl::StrCat("`", name, "` needs `nodes` with `plans`, or recorded `runs`"));
  }
  return absl::OkStatus();
}

Status ReadName(const DocumentNode& v, v1::AuditDefinition& audit) {
  PARITECT_RETURN_IF_ERROR(ReadText(v, "audit", *audit.mutable_name()));
  // Tasks are named after their audit; a node's own tasks, and those that follow logs, begin like this.
  if (absl::StartsWith(audit.name(), "own:") || absl::StartsWith(audit.name(), "live:")) {
    return ErrorAt(v, "`audit` must not begin with 'own:' or 'live:'");
  }
  if (IsAuditName(audit.name())) return absl::OkStatus();
  return ErrorAt(v, "`audit` must be a name of letters, digits, '.', '_', '-'");
}

Status ReadSchedule(const DocumentNode& v, v1::AuditDefinition& audit) {
  auto seconds = ParseDuration(v.text);
  if (!v.is_scalar() || !seconds.ok()) return ErrorAt(v, absl::StrCat("`schedule`: ", seconds.status().message()));
  if (*seconds < 60) return ErrorAt(v, "`schedule` must be a minute or more");
  audit.set_schedule_seconds(*seconds);
  return absl::OkStatus();
}

Status ReadWebhook(const DocumentNode& v, v1::AuditDefinition& audit) {
  PARITECT_RETURN_IF_ERROR(ReadText(v, "webhook", *audit.mutable_webhook()));
  if (absl::StartsWith(v.text, "https://") || absl::StartsWith(v.text, "http://")) return absl::OkStatus();
  return ErrorAt(v, "`webhook` must be an http:// or https:// address");
}

// `live: false`, or how long growing logs are followed.
Status ReadLive(const DocumentNode& v, v1::AuditDefinition& audit) {
  if (v.is_scalar() && v.text == "true") return absl::OkStatus();
  if (v.is_scalar() && v.text == "false") {
    audit.set_live_off(true);
    return absl::OkStatus();
  }
  auto seconds = ParseDuration(v.text);
  if (!v.is_scalar() || !seconds.ok()) return ErrorAt(v, "`live` must be true, false, or a time like \"7d\"");
  audit.set_live_seconds(*seconds);
  return absl::OkStatus();
}

Status ReadUntil(const DocumentNode& v, v1::AuditDefinition& audit) {
  PARITECT_RETURN_IF_ERROR(ReadText(v, "until", *audit.mutable_until()));
  if (IsDate(audit.until())) return absl::OkStatus();
  return ErrorAt(v, "`until` must be a date like 2026-12-31");
}

// An inline profile is read when it is used, over the rules of that time.
Status ReadProfileName(const DocumentNode& v, v1::AuditDefinition& audit) {
  return v.is_map() ? absl::OkStatus() : ReadText(v, "profile", *audit.mutable_profile());
}

Status ReadAudit(const DocumentNode& root, v1::AuditDefinition& audit) {
  PARITECT_RETURN_IF_ERROR(
      ReadMap(root, "an audit file",
              {{"audit", [&](const DocumentNode& v) { return ReadName(v, audit); }},
               {"baseline", [&](const DocumentNode& v) { return ReadSide(v, "baseline", *audit.mutable_baseline()); }},
               {"migrated", [&](const DocumentNode& v) { return ReadSide(v, "migrated", *audit.mutable_migrated()); }},
               {"profile", [&](const DocumentNode& v) { return ReadProfileName(v, audit); }},
               {"schedule", [&](const DocumentNode& v) { return ReadSchedule(v, audit); }},
               {"live", [&](const DocumentNode& v) { return ReadLive(v, audit); }},
               {"until", [&](const DocumentNode& v) { return ReadUntil(v, audit); }},
               {"webhook", [&](const DocumentNode& v) { return ReadWebhook(v, audit); }}}));
  if (audit.name().empty()) return ErrorAt(root, "an audit file needs `audit:`, its name");
  if (!audit.has_baseline() && !audit.has_migrated()) {
    return ErrorAt(root, "an audit file needs `baseline:` or `migrated:`");
  }
  return absl::OkStatus();
}

absl::StatusOr<DocumentNode> ParseText(absl::string_view text) {
  DocumentLimits limits;
  limits.bytes_max = kAuditBytesMax;
  limits.nodes_max = 200'000;
  limits.depth_max = 20;
  return ParseDocument(text, limits);
}

}  // namespace

bool IsAuditName(absl::string_view name) {
  if (name.empty() || name.size() > 200 || name[0] == '-' || name == "." || name == "..") return false;
  for (char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                       c == '_' || c == '-' || c == '+' || c == '@' || c == ':';
    if (!plain) return false;
  }
  return true;
}

absl::StatusOr<v1::AuditDefinition> ParseAuditFile(absl::string_view text) {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ParseText(text));
  v1::AuditDefinition audit;
  PARITECT_RETURN_IF_ERROR(ReadAudit(root, audit));
  audit.set_source(std::string(text));
  return audit;
}

absl::StatusOr<Profile> ReadAuditProfile(const v1::AuditDefinition& definition, const Profile& built_in) {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ParseText(definition.source()));
  const DocumentNode* profile = root.is_map() ? root.Find("profile") : nullptr;
  if (profile == nullptr) return built_in;
  if (profile->is_map()) return ReadProfile(*profile, built_in);
  if (profile->text == built_in.name) return built_in;
  return ErrorAt(*profile, absl::StrCat("there is no profile '", profile->text, "'; built in: ", built_in.name,
                                        " (another one is written inline, as a map)"));
}

}  // namespace paritect
