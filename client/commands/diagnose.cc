// paritect diagnose: the walk from the symptom to its cause, each step answered by checks, with what to do next.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/explaining/diagnosis.h"
#include "checks/runner.h"
#include "client/diagnose/json.h"
#include "client/diagnose/view.h"
#include "client/remote/remote_evidence.h"
#include "client/report/audit_options.h"
#include "client/report/offline_audit.h"
#include "client/report/read.h"
#include "client/verbs.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect diagnose";
constexpr absl::string_view kSummary = "walk from the symptom to its cause, step by step, and say what to do next";
constexpr std::uint64_t kReportBytesMax = 256 << 20;

struct DiagnoseOptions {
  std::string source;
  std::string output = "text";
  AuditArguments audit;
  std::string remote_audit;
  RemoteArguments remote;
};

ExitCode Tell(CommandEnv& env, const DiagnoseOptions& o, const RenderOptions& options, const v1::Report& report) {
  const Diagnosis diagnosis = Diagnose(BuiltInWalk(), report);
  if (o.output == "json") {
    env.out << DumpJson(DiagnosisToJson(diagnosis, report, env.rules)) << "\n";
  } else {
    PrintDiagnosis(diagnosis, report, env.rules, options, env.out);
  }
  return diagnosis.failed() ? kExitFailed : kExitOk;
}

bool IsFolder(FileSystem& fs, const std::string& path) {
  auto info = fs.Stat(path);
  return info.ok() && info->type == FileInfo::Type::kDirectory;
}

// Plans of one side below FOLDER/baseline or FOLDER/migrated: the folder itself where it holds plan.yaml, else what in
// it is a plan, a bundle or a folder with a plan.
std::vector<std::string> PlansIn(FileSystem& fs, const std::string& folder) {
  std::vector<std::string> plans;
  if (!IsFolder(fs, folder)) return plans;
  if (fs.Stat(JoinPath(folder, "plan.yaml")).ok()) return {folder};
  (void)fs.List(folder, [&](const DirectoryEntry& entry) {
    const std::string path = JoinPath(folder, entry.name);
    const bool named = absl::EndsWith(entry.name, ".pbundle") || absl::EndsWith(entry.name, ".yaml");
    if (named || fs.Stat(JoinPath(path, "plan.yaml")).ok()) plans.push_back(path);
  });
  std::sort(plans.begin(), plans.end());
  return plans;
}

absl::StatusOr<v1::Report> ReadReport(FileSystem& fs, const std::string& path) {
  auto text = ReadWholeFile(fs, path, kReportBytesMax);
  if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": ", text.status().message()));
  auto report = ReportFromJson(*text);
  if (report.ok()) return report;
  return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": ", report.status().message()));
}

absl::StatusOr<v1::Report> AuditPlans(CommandEnv& env, const AuditArguments& o) {
  PARITECT_ASSIGN_OR_RETURN(const Profile profile, LoadProfile(env, o.profile, o.answers));
  PARITECT_ASSIGN_OR_RETURN(const AuditInput input, LoadAuditInput(env, o));
  AuditOptions options;
  options.today = env.today;
  return RunAudit(*input.evidence, profile, env.rules, options);
}

// A report file, a folder with report.json, or a folder with the plans of both sides. nullopt: no such path.
std::optional<absl::StatusOr<v1::Report>> FromPath(CommandEnv& env, const DiagnoseOptions& o) {
  if (!env.fs.Stat(o.source).ok()) return std::nullopt;
  if (!IsFolder(env.fs, o.source)) return ReadReport(env.fs, o.source);
  const std::string stored = JoinPath(o.source, "report.json");
  if (env.fs.Stat(stored).ok()) return ReadReport(env.fs, stored);
  AuditArguments sides = o.audit;
  sides.baseline = PlansIn(env.fs, JoinPath(o.source, "baseline"));
  sides.migrated = PlansIn(env.fs, JoinPath(o.source, "migrated"));
  if (sides.baseline.empty() && sides.migrated.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        DisplayBytes(o.source), ": neither report.json nor plans below baseline/ and migrated/ are in this folder"));
  }
  return AuditPlans(env, sides);
}

ExitCode AskServer(CommandEnv& env, const DiagnoseOptions& o, const RenderOptions& options, const std::string& audit) {
  return WithServer(env, kName, o.remote, [&](Connection& connection) {
    v1::GetReportRequest request;
    request.set_name(audit);
    auto answer = connection.server->GetReport(request);
    if (!answer.ok()) return ServerError(env, kName, answer.status());
    return Tell(env, o, options, answer->report());
  });
}

ExitCode Diagnosed(CommandEnv& env, const DiagnoseOptions& o) {
  auto options = TextOptions(env, o.audit);
  if (!options.ok()) return UsageError(env, kName, options.status().message());
  const bool plans = !o.audit.baseline.empty() || !o.audit.migrated.empty();
  if ((o.source.empty() ? 0 : 1) + (plans ? 1 : 0) + (o.remote_audit.empty() ? 0 : 1) != 1) {
    return UsageError(
        env, kName,
        "give one thing to diagnose: a report (FILE.json), a folder, an AUDIT on the server, or --baseline "
        "and --migrated plans");
  }
  if (!o.remote_audit.empty()) return AskServer(env, o, *options, o.remote_audit);
  if (plans) {
    auto report = AuditPlans(env, o.audit);
    if (!report.ok()) return UsageError(env, kName, report.status().message());
    return Tell(env, o, *options, *report);
  }
  const auto report = FromPath(env, o);
  if (!report.has_value()) {
    // A path that is not there is likelier a slip than an audit's name.
    if (absl::StrContains(o.source, "/") || absl::EndsWith(o.source, ".json")) {
      return UsageError(env, kName, absl::StrCat(DisplayBytes(o.source), ": not there"));
    }
    return AskServer(env, o, *options, o.source);
  }
  if (!report->ok()) return UsageError(env, kName, report->status().message());
  return Tell(env, o, *options, **report);
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  DiagnoseOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Texts("source", o.audit.sides,
                  "folders of the baseline and the migrated run; or a report made by -o json, a folder with "
                  "report.json or with plans below baseline/ and migrated/, or "
                  "the name of an audit on the server");
  DeclareAuditArguments(arguments, o.audit);
  arguments.Text("--audit", o.remote_audit, "the last run of this audit on the server");
  DeclareRemoteArguments(arguments, o.remote);
  arguments.Text("-o,--output", o.output, "text or json");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kName, o.output, "text")) return *code;
  if (o.audit.sides.size() == 1) {
    o.source = o.audit.sides[0];
    o.audit.sides.clear();
  } else if (!o.audit.sides.empty()) {
    if (absl::Status status = TakeSides(o.audit); !status.ok()) return UsageError(env, kName, status.message());
  }
  return Diagnosed(env, o);
}

}  // namespace

extern const Command kDiagnoseCommand;
const Command kDiagnoseCommand = {"diagnose", kSummary, &Run};

}  // namespace paritect
