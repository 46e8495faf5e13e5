// paritect audit create | run | ls | show | wait | cancel | events | stop | rm: audits of a server.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "client/remote/audit_events.h"
#include "client/remote/audit_run.h"
#include "client/remote/changed_verdicts.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/audit_file.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect audit";
constexpr absl::string_view kCreate = "paritect audit create";
constexpr absl::string_view kList = "paritect audit ls";
constexpr absl::string_view kShow = "paritect audit show";
constexpr absl::string_view kWait = "paritect audit wait";
constexpr absl::string_view kCancel = "paritect audit cancel";
constexpr absl::string_view kSummary = "audits of a server: create, run, watch and read them";
constexpr std::uint64_t kFileBytesMax = 1 << 20;
constexpr std::int64_t kPollMs = 1000;

// The file is read here too: its mistakes are told whether or not the server answers.
absl::StatusOr<v1::CreateAuditRequest> ReadAuditRequest(CommandEnv& env, const std::string& file) {
  v1::CreateAuditRequest request;
  auto text = ReadWholeFile(env.fs, file, kFileBytesMax);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  auto parsed = ParseAuditFile(*text);
  absl::Status status = parsed.status();
  if (status.ok()) status = ReadAuditProfile(*parsed, env.rules.profile).status();
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(file), ":", status.message()));
  request.set_text(*text);
  request.set_file(DisplayBytes(file));
  return request;
}

ExitCode Create(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string file;
  bool replace = false;
  Arguments arguments(kCreate, "create an audit from its file (docs/audits.md)");
  arguments.Text("file", file, "the audit file, YAML", true);
  arguments.Flag("--replace", replace, "take the place of the audit of that name");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kCreate, arguments, args)) return *code;
  auto request = ReadAuditRequest(env, file);
  if (!request.ok()) return UsageError(env, kCreate, request.status().message());
  request->set_replace(replace);
  return WithServer(env, kCreate, remote, [&](Connection& connection) {
    auto response = connection.server->CreateAudit(*request);
    if (!response.ok()) return ServerError(env, kCreate, response.status());
    for (const std::string& warning : response->warnings()) {
      env.err << kCreate << ": warning: " << TerminalSafe(warning) << "\n";
    }
    SayLine(env, absl::StrCat("audit ", response->name(), response->replaced() ? " replaced" : " created"));
    if (env.err_is_terminal) env.err << "run it: paritect audit run " << response->name() << " --watch\n";
    return kExitOk;
  });
}

OrderedJson RunJson(const v1::AuditRun& run) {
  OrderedJson json;
  json["run"] = run.number();
  json["state"] = AuditRunWord(run.state());
  json["verdict"] =
      run.verdict() == v1::VERDICT_UNSPECIFIED ? OrderedJson(nullptr) : OrderedJson(VerdictWord(run.verdict()));
  json["started"] = TimeJson(run.started_unix_ms());
  json["ended"] = TimeJson(run.ended_unix_ms());
  json["started_by"] = run.started_by();
  if (run.tasks_size() > 0) json["nodes"] = ProgressRows(run).size();
  json["silent_nodes"] = std::vector<std::string>(run.silent_nodes().begin(), run.silent_nodes().end());
  json["problem"] = run.problem();
  json["changed"] = OrderedJson::array();
  for (const v1::ChangedVerdict& one : run.changed()) {
    json["changed"].push_back(
        {{"check", one.check()}, {"before", VerdictWord(one.before())}, {"after", VerdictWord(one.after())}});
  }
  return json;
}

std::string SideWords(const v1::AuditSide& side) {
  std::vector<std::string> parts(side.nodes().begin(), side.nodes().end());
  for (const std::string& run : side.runs()) parts.push_back(absl::StrCat("run ", run));
  return parts.empty() ? "-" : absl::StrJoin(parts, ", ");
}

ExitCode PrintAudits(CommandEnv& env, const v1::ListAuditsResponse& audits, bool json) {
  if (json) {
    OrderedJson list = OrderedJson::array();
    for (const v1::AuditRow& row : audits.audits()) {
      const v1::AuditDefinition& audit = row.definition();
      OrderedJson one;
      one["audit"] = audit.name();
      one["baseline"] = SideWords(audit.baseline());
      one["migrated"] = SideWords(audit.migrated());
      one["profile"] = audit.profile();
      one["schedule_seconds"] =
          audit.schedule_seconds() > 0 ? OrderedJson(audit.schedule_seconds()) : OrderedJson(nullptr);
      one["next_run"] = TimeJson(audit.next_run_unix() * 1000);
      one["created"] = TimeJson(audit.created_unix() * 1000);
      one["created_by"] = audit.created_by();
      one["last_run"] = row.has_last_run() ? RunJson(row.last_run()) : OrderedJson(nullptr);
      list.push_back(std::move(one));
    }
    env.out << DumpJson(list) << "\n";
    return kExitOk;
  }
  TextTable table;
  table.Row({"AUDIT", "BASELINE", "MIGRATED", "SCHEDULE", "LAST RUN", "STATE", "VERDICT", "SILENT"});
  for (const v1::AuditRow& row : audits.audits()) {
    const v1::AuditDefinition& audit = row.definition();
    const v1::AuditRun& run = row.last_run();
    const bool any = row.has_last_run();
    table.Row({audit.name(), SideWords(audit.baseline()), SideWords(audit.migrated()),
               audit.schedule_seconds() > 0 ? FormatDuration(audit.schedule_seconds()) : "-",
               any ? TimeWord(run.started_unix_ms()) : "never", any ? std::string(AuditRunWord(run.state())) : "-",
               VerdictOrDash(run.verdict()), absl::StrCat(run.silent_nodes_size())});
  }
  if (table.empty()) {
    env.err << "no audit yet; make one with `paritect audit create FILE.yaml`\n";
  } else {
    table.Print(env.out, env.language);
  }
  return kExitOk;
}

ExitCode PrintRuns(CommandEnv& env, const v1::ListAuditRunsResponse& runs, bool json) {
  OrderedJson list = OrderedJson::array();
  TextTable table;
  table.Row({"RUN", "STARTED", "BY", "STATE", "VERDICT", "SILENT", "CHANGED", "PROBLEM"});
  for (const v1::AuditRun& run : runs.runs()) {
    list.push_back(RunJson(run));
    table.Row({absl::StrCat(run.number()), TimeWord(run.started_unix_ms()), run.started_by(),
               std::string(AuditRunWord(run.state())), VerdictOrDash(run.verdict()),
               absl::StrCat(run.silent_nodes_size()), absl::StrCat(run.changed_size()), run.problem()});
  }
  if (json) {
    env.out << DumpJson(list) << "\n";
  } else {
    table.Print(env.out, env.language);
  }
  return kExitOk;
}

ExitCode List(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string name;
  std::string output = "table";
  Arguments arguments(kList, "list audits; with a name, that audit's runs");
  arguments.Text("name", name, "an audit whose runs are wanted");
  arguments.Text("-o,--output", output, "table or json");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kList, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kList, output)) return *code;
  return WithServer(env, kList, remote, [&](Connection& connection) {
    if (name.empty()) {
      auto audits = connection.server->ListAudits({});
      if (!audits.ok()) return ServerError(env, kList, audits.status());
      return PrintAudits(env, *audits, output == "json");
    }
    v1::ListAuditRunsRequest request;
    request.set_name(name);
    auto runs = connection.server->ListAuditRuns(request);
    if (!runs.ok()) return ServerError(env, kList, runs.status());
    return PrintRuns(env, *runs, output == "json");
  });
}

// The newest run that is done, where no number is given; says so where a newer one is under way.
absl::StatusOr<v1::GetReportResponse> LastReport(CommandEnv& env, RemoteServer& server, const std::string& name,
                                                 int number) {
  v1::GetReportRequest request;
  request.set_name(name);
  request.set_number(number);
  if (number > 0) return server.GetReport(request);
  v1::ListAuditRunsRequest wanted;
  wanted.set_name(name);
  PARITECT_ASSIGN_OR_RETURN(const v1::ListAuditRunsResponse runs, server.ListAuditRuns(wanted));
  const v1::AuditRun* newest = nullptr;
  const v1::AuditRun* done = nullptr;
  for (const v1::AuditRun& run : runs.runs()) {
    if (newest == nullptr || run.number() > newest->number()) newest = &run;
    if (run.state() != v1::AUDIT_RUN_STATE_DONE) continue;
    if (done == nullptr || run.number() > done->number()) done = &run;
  }
  if (newest == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("audit '", name, "' has not been run yet (`paritect audit run ", name, "`)"));
  }
  if (done == nullptr) return RequireDone(*newest);
  if (done != newest) {
    env.err << kShow << ": this is run " << done->number() << "; run " << newest->number() << " "
            << (IsEnded(*newest) ? AuditRunWord(newest->state()) : "is under way") << "\n";
  }
  request.set_number(done->number());
  return server.GetReport(request);
}

// To standard output where the table goes there, else beside the report.
void PrintChanged(CommandEnv& env, const PreparedReport& prepared, const v1::GetReportResponse& answer) {
  const v1::AuditRun& run = answer.run();
  const Language language = prepared.render.languages[0];
  const absl::Span<const Language> languages(&language, 1);
  bool table = false;
  for (const OutputTarget& target : prepared.targets) {
    table = table || (target.renderer->name == "table" && target.file.empty());
  }
  std::ostream& out = table ? env.out : env.err;
  if (run.number() > 1 && run.changed_size() == 0) out << "\n" << Word(env.rules, languages, "changed_none") << "\n";
  if (run.changed_size() > 0) out << "\n" << Word(env.rules, languages, "changed_heading") << "\n";
  for (const std::string& line : ChangedLines(env.rules, language, run, answer.report())) {
    out << "  " << TerminalSafe(line) << "\n";
  }
}

ExitCode Show(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  ReportArguments report;
  std::string name;
  int number = 0;
  bool watch = false;
  Arguments arguments(kShow, "print the last report of an audit, and what changed since the run before");
  arguments.Text("name", name, "the audit's name", true);
  arguments.Int("--run", number, "that run's report (`paritect audit ls NAME` lists them; default: the last)");
  arguments.Flag("--watch", watch, "then print what the live comparison sees, until the training ends");
  DeclareReportArguments(arguments, report);
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kShow, arguments, args)) return *code;
  if (number < 0) return UsageError(env, kShow, "--run must be a run's number");
  auto prepared = PrepareReport(env, report);
  if (!prepared.ok()) return UsageError(env, kShow, prepared.status().message());
  return WithServer(env, kShow, remote, [&](Connection& connection) {
    auto answer = LastReport(env, *connection.server, name, number);
    const EventsRequest events = {name, true, !env.out_is_terminal, report.text.lang};
    // A training may be watched before its audit's first report is there.
    if (!answer.ok() && watch && absl::IsFailedPrecondition(answer.status())) {
      return PrintEvents(env, kShow, events, *connection.server);
    }
    if (!answer.ok()) return ServerError(env, kShow, answer.status());
    const ExitCode code = PrintAuditReport(env, kShow, *prepared, *answer);
    PrintChanged(env, *prepared, *answer);
    if (!watch) return code;
    const ExitCode live = PrintEvents(env, kShow, events, *connection.server);
    return live == kExitOk ? code : live;
  });
}

// The run to wait for: the last one, or the first of an audit that has not been run yet.
absl::StatusOr<v1::AuditRun> WaitForRun(CommandEnv& env, RemoteServer& server, const std::string& name,
                                        std::int64_t deadline_unix_ms, AuditWatcher& watcher) {
  for (;;) {
    v1::ListAuditRunsRequest wanted;
    wanted.set_name(name);
    PARITECT_ASSIGN_OR_RETURN(const v1::ListAuditRunsResponse runs, server.ListAuditRuns(wanted));
    const v1::AuditRun* newest = nullptr;
    for (const v1::AuditRun& run : runs.runs()) {
      if (newest == nullptr || run.number() > newest->number()) newest = &run;
    }
    if (newest != nullptr && IsEnded(*newest)) return *newest;
    if (newest != nullptr) return FollowAuditRun(env, server, name, newest->number(), deadline_unix_ms, watcher);
    if (env.now_unix_ms() + kPollMs >= deadline_unix_ms) return absl::DeadlineExceededError("the time is over");
    env.sleep_ms(kPollMs);
  }
}

ExitCode EndOfWait(CommandEnv& env, const v1::AuditRun& run, const std::string& wanted) {
  const std::string verdict = run.verdict() == v1::VERDICT_UNSPECIFIED ? "" : VerdictWord(run.verdict());
  SayLine(env, absl::StrCat("audit ", run.audit(), " run ", run.number(), ": ", AuditRunWord(run.state()),
                            verdict.empty() ? "" : absl::StrCat(", ", verdict)));
  if (absl::Status status = RequireDone(run); !status.ok()) return ServerError(env, kWait, status);
  return wanted == "done" || wanted == verdict ? kExitOk : kExitFailed;
}

ExitCode Wait(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string name;
  std::string wanted = "done";
  std::string timeout = "30m";
  bool watch = false;
  Arguments arguments(kWait, "wait until the last run of an audit has ended");
  arguments.Text("name", name, "the audit's name", true);
  arguments.Text("--for", wanted, "done (default), or the verdict that ends with 0: pass, fail; another ends with 1");
  arguments.Text("--timeout", timeout, "end with 5 after this time (default: 30m)");
  arguments.Flag("--watch", watch, "show each node's progress on standard error");
  DeclareRemoteArguments(arguments, remote, false);
  if (auto code = ParseOrAnswer(env, kWait, arguments, args)) return *code;
  if (wanted != "done" && wanted != "pass" && wanted != "fail") {
    return UsageError(
        env, kWait,
        absl::StrCat("--for ", wanted, ": there are done, pass, fail", DidYouMean(wanted, {"done", "pass", "fail"})));
  }
  auto seconds = ParseDuration(timeout);
  if (!seconds.ok()) return UsageError(env, kWait, absl::StrCat("--timeout: ", seconds.status().message()));
  return WithServer(env, kWait, remote, [&](Connection& connection) {
    const WatchStyle style = watch ? ChooseWatchStyle(env, env.err_is_terminal) : WatchStyle::kQuiet;
    const std::unique_ptr<AuditWatcher> watcher = NewAuditWatcher(env, style, env.err);
    const std::int64_t deadline = env.now_unix_ms() + *seconds * 1000;
    auto run = WaitForRun(env, *connection.server, name, deadline, *watcher);
    if (run.ok()) return EndOfWait(env, *run, wanted);
    if (!absl::IsDeadlineExceeded(run.status()) || env.now_unix_ms() + kPollMs < deadline) {
      return ServerError(env, kWait, run.status());
    }
    env.err << kWait << ": audit " << name << " is not done after " << FormatDuration(*seconds) << "\n";
    return kExitTimeout;
  });
}

ExitCode Cancel(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::CancelAuditRequest request;
  Arguments arguments(kCancel, "end the run that is under way; it gives no report");
  arguments.Text("name", *request.mutable_name(), "the audit's name", true);
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kCancel, arguments, args)) return *code;
  return WithServer(env, kCancel, remote, [&](Connection& connection) {
    auto response = connection.server->CancelAudit(request);
    if (!response.ok()) return ServerError(env, kCancel, response.status());
    SayLine(env, absl::StrCat("audit ", request.name(), " cancelled"));
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"create", "create an audit from its file", &Create},
                                    {"run", "run it now and print its report", &AuditRunVerb},
                                    {"ls", "list audits, or one audit's runs", &List},
                                    {"show", "print the last report, and what changed", &Show},
                                    {"wait", "wait until its run has ended", &Wait},
                                    {"cancel", "end the run that is under way", &Cancel},
                                    {"events", "what the live comparison saw", &AuditEventsVerb},
                                    {"stop", "end its schedule and the following of its logs", &AuditStopVerb},
                                    {"rm", "remove it with its runs and reports", &AuditRemoveVerb}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kAuditCommand;
const Command kAuditCommand = {"audit", kSummary, &Run};

}  // namespace paritect
