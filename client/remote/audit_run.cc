#include "client/remote/audit_run.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "client/localise.h"
#include "client/remote/words.h"
#include "client/report/exit.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/status_macros.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kRun = "paritect audit run";
constexpr std::int64_t kReconnectMs = 60'000;
constexpr std::int64_t kReconnectPauseMs = 1000;
constexpr std::size_t kSilentShownMax = 20;

struct RunOptions {
  std::string name;
  std::string timeout;
  bool watch = false;
  ReportArguments report;
  RemoteArguments remote;
};

// Silent and refused nodes with what is known of each; never dropped.
void PrintSilent(CommandEnv& env, absl::string_view command, const v1::AuditRun& run) {
  if (run.silent_nodes_size() == 0) return;
  std::map<std::string, std::string> why;
  for (const NodeProgress& row : ProgressRows(run)) {
    if (row.state == v1::NODE_TASK_STATE_DONE) continue;
    std::string& text = why[row.node];
    text = row.state == v1::NODE_TASK_STATE_REFUSED
               ? absl::StrCat("refused: ", row.detail)
               : absl::StrCat(NodeTaskWord(row.state), ", last seen ", TimeWord(row.last_seen_unix_ms));
  }
  std::vector<std::string> parts;
  for (const std::string& node : run.silent_nodes()) {
    if (parts.size() == kSilentShownMax) {
      parts.push_back(absl::StrCat("and ", run.silent_nodes_size() - static_cast<int>(kSilentShownMax), " more"));
      break;
    }
    const auto known = why.find(node);
    parts.push_back(known == why.end() ? node : absl::StrCat(node, " (", known->second, ")"));
  }
  const std::string warning =
      absl::StrCat(command, ": warning: ", run.silent_nodes_size(), " of ", ProgressRows(run).size(),
                   " nodes gave no (or not all) evidence: ", absl::StrJoin(parts, ", "), "; the report is partial");
  env.err << TerminalSafe(Localised(env.language, warning)) << "\n";
}

// Where events go: standard output in a pipe that nothing else is asked for, else standard error.
std::unique_ptr<AuditWatcher> WatcherFor(CommandEnv& env, const RunOptions& o, bool& report_as_event) {
  report_as_event = false;
  if (!o.watch) return NewAuditWatcher(env, WatchStyle::kQuiet, env.err);
  if (env.out_is_terminal || !o.report.output.empty()) {
    return NewAuditWatcher(env, ChooseWatchStyle(env, env.err_is_terminal), env.err);
  }
  report_as_event = true;
  return NewAuditWatcher(env, WatchStyle::kJson, env.out);
}

// In a stream of events the report is the last of them.
ExitCode PrintReportEvent(CommandEnv& env, const PreparedReport& prepared, const v1::GetReportResponse& answer) {
  OrderedJson json;
  json["event"] = "report";
  json["at"] = TimeJson(env.now_unix_ms());
  json["audit"] = answer.run().audit();
  json["run"] = answer.run().number();
  json["report"] = ReportToJson(answer.report(), CompanionOf(answer));
  env.out << DumpJson(json, -1) << "\n";
  PreparedReport nowhere = {{}, prepared.render, prepared.complete};
  return PrintAuditReport(env, kRun, nowhere, answer);
}

ExitCode RunAndPrint(CommandEnv& env, const RunOptions& o, const PreparedReport& prepared, std::int64_t timeout_s,
                     RemoteServer& server) {
  v1::RunAuditRequest request;
  request.set_name(o.name);
  request.set_timeout_seconds(timeout_s);
  auto started = server.RunAudit(request);
  if (!started.ok()) return ServerError(env, kRun, started.status());
  if (!o.watch) {
    const std::string told = absl::StrCat("audit ", o.name, ": run ", started->number(),
                                          " started; waiting for its nodes (--watch shows them)");
    env.err << Localised(env.language, told) << "\n";
    env.err.flush();
  }
  bool report_as_event = false;
  const std::unique_ptr<AuditWatcher> watcher = WatcherFor(env, o, report_as_event);
  auto run = FollowAuditRun(env, server, o.name, started->number(), 0, *watcher);
  if (!run.ok()) return ServerError(env, kRun, run.status());
  if (absl::Status status = RequireDone(*run); !status.ok()) return ServerError(env, kRun, status);
  v1::GetReportRequest wanted;
  wanted.set_name(o.name);
  wanted.set_number(started->number());
  auto answer = server.GetReport(wanted);
  if (!answer.ok()) return ServerError(env, kRun, answer.status());
  return report_as_event ? PrintReportEvent(env, prepared, *answer) : PrintAuditReport(env, kRun, prepared, *answer);
}

}  // namespace

ReportCompanion CompanionOf(const v1::GetReportResponse& answer) {
  return {answer.has_pictures() ? &answer.pictures() : nullptr, answer.has_meta() ? &answer.meta() : nullptr,
          answer.has_signature() ? &answer.signature() : nullptr};
}

void DeclareReportArguments(Arguments& arguments, ReportArguments& options) {
  arguments.Texts("-o,--output", options.output, absl::StrCat("FORMAT or FORMAT=FILE, repeatable: ", RendererNames()));
  arguments.Flag("--complete", options.complete,
                 "end with 3 when nothing failed but a required check was not performed");
  arguments.Text("--lang", options.text.lang, "en, zh, or both as en,zh (default: from LC_ALL, LC_MESSAGES, LANG)");
  arguments.Text("--color", options.text.colour, "auto, always or never");
  DeclareDetailArguments(arguments, options.text);
}

absl::StatusOr<PreparedReport> PrepareReport(CommandEnv& env, const ReportArguments& options) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<OutputTarget> targets, ParseOutputTargets(options.output));
  PARITECT_ASSIGN_OR_RETURN(const RenderOptions render, TextOptions(env, options.text));
  return PreparedReport{std::move(targets), render, options.complete};
}

absl::StatusOr<v1::AuditRun> FollowAuditRun(CommandEnv& env, RemoteServer& server, const std::string& name,
                                            std::int64_t number, std::int64_t deadline_unix_ms, AuditWatcher& watcher) {
  v1::WatchAuditRequest request;
  request.set_name(name);
  request.set_number(number);
  v1::AuditRun last;
  std::int64_t lost_since = 0;
  for (;;) {
    std::int64_t left = 0;
    if (deadline_unix_ms > 0) {
      left = deadline_unix_ms - env.now_unix_ms();
      if (left <= 0) return absl::DeadlineExceededError("the time is over");
    }
    const absl::Status status = server.WatchAudit(request, left, [&](const v1::AuditRun& run) {
      lost_since = 0;
      last = run;
      watcher.Show(run);
      return !IsEnded(run);
    });
    if (IsEnded(last)) return last;
    if (absl::IsDeadlineExceeded(status) && deadline_unix_ms > 0)
      return absl::DeadlineExceededError("the time is over");
    // An end without a last state: the server goes down in good order.
    if (!status.ok() && !absl::IsUnavailable(status)) return status;
    const std::int64_t now = env.now_unix_ms();
    if (lost_since == 0) {
      lost_since = now;
      watcher.Note(
          Localised(env.language, absl::StrCat("the connection to ", server.address(), " was lost; trying again")));
    }
    if (now - lost_since >= kReconnectMs) {
      return status.ok() ? absl::UnavailableError(absl::StrCat("server ", server.address(), " ended the watch"))
                         : status;
    }
    env.sleep_ms(kReconnectPauseMs);
  }
}

absl::Status RequireDone(const v1::AuditRun& run) {
  const std::string which = absl::StrCat("run ", run.number(), " of audit '", run.audit(), "'");
  if (run.state() == v1::AUDIT_RUN_STATE_DONE) return absl::OkStatus();
  if (run.state() == v1::AUDIT_RUN_STATE_CANCELLED) {
    return absl::CancelledError(absl::StrCat(which, " was cancelled: it has no report"));
  }
  if (run.state() == v1::AUDIT_RUN_STATE_FAILED) {
    return absl::FailedPreconditionError(absl::StrCat(which, " could not be judged: ", run.problem()));
  }
  return absl::FailedPreconditionError(absl::StrCat(which, " is not done yet (", AuditRunWord(run.state()), ")"));
}

ExitCode PrintAuditReport(CommandEnv& env, absl::string_view command, const PreparedReport& prepared,
                          const v1::GetReportResponse& answer) {
  for (const v1::Text& warning : answer.report().warnings()) {
    env.err << command << ": warning: " << TerminalSafe(InAll(prepared.render.languages, warning)) << "\n";
  }
  if (!prepared.targets.empty()) {
    RenderOptions render = prepared.render;
    render.companion = CompanionOf(answer);
    const absl::Status written = WriteOutputs(env, prepared.targets, answer.report(), render);
    if (!written.ok()) return UsageError(env, command, written.message());
  }
  PrintSilent(env, command, answer.run());
  const ExitCode code = CodeOfReport(answer.report(), prepared.complete);
  if (code != kExitFailed && answer.run().silent_nodes_size() > 0) return kExitSilentNodes;
  return code;
}

ExitCode AuditRunVerb(CommandEnv& env, const std::vector<std::string>& args) {
  RunOptions o;
  Arguments arguments(kRun, "run an audit now and print its report");
  arguments.Text("name", o.name, "the audit's name", true);
  arguments.Flag("--watch", o.watch, "show each node's progress: bars on a terminal, JSON lines in a pipe");
  arguments.Text("--timeout", o.timeout,
                 "nodes that gave nothing by then count as silent: 30m, 2h (default: the server's)");
  DeclareReportArguments(arguments, o.report);
  DeclareRemoteArguments(arguments, o.remote, false);
  if (auto code = ParseOrAnswer(env, kRun, arguments, args)) return *code;
  std::int64_t timeout_s = 0;
  if (!o.timeout.empty()) {
    auto seconds = ParseDuration(o.timeout);
    if (!seconds.ok()) return UsageError(env, kRun, absl::StrCat("--timeout: ", seconds.status().message()));
    timeout_s = *seconds;
  }
  auto prepared = PrepareReport(env, o.report);
  if (!prepared.ok()) return UsageError(env, kRun, prepared.status().message());
  return WithServer(env, kRun, o.remote, [&](Connection& connection) {
    return RunAndPrint(env, o, *prepared, timeout_s, *connection.server);
  });
}

}  // namespace paritect
