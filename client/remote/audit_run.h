// Running an audit on a server and printing what it answered: what `audit run`, `audit wait` and `audit show` share.
#ifndef PARITECT_CLIENT_REMOTE_AUDIT_RUN_H_
#define PARITECT_CLIENT_REMOTE_AUDIT_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "client/remote/audit_progress.h"
#include "client/remote/connection.h"
#include "client/report/audit_options.h"
#include "client/report/output_target.h"
#include "common/arguments.h"

namespace paritect {

// How a report is to be printed: the options of `check` that a server's report can answer.
struct ReportArguments {
  std::vector<std::string> output;
  bool complete = false;
  AuditArguments text;  // lang and colour alone
};

void DeclareReportArguments(Arguments& arguments, ReportArguments& options);

struct PreparedReport {
  std::vector<OutputTarget> targets;
  RenderOptions render;
  bool complete = false;
};

// InvalidArgument: the user's mistake; asked before a server is.
absl::StatusOr<PreparedReport> PrepareReport(CommandEnv& env, const ReportArguments& options);

// Shows every state until the run ends, and gives the last. A connection that is lost is made again for a minute: runs
// survive a server's restart. DeadlineExceeded at `deadline_unix_ms` (0: never).
absl::StatusOr<v1::AuditRun> FollowAuditRun(CommandEnv& env, RemoteServer& server, const std::string& name,
                                            std::int64_t number, std::int64_t deadline_unix_ms, AuditWatcher& watcher);

// What the server gave beside the report. Borrows from the answer.
ReportCompanion CompanionOf(const v1::GetReportResponse& answer);

// Prints the report of a run that is done (no targets: nowhere), its warnings and its silent nodes. The exit code:
// kExitFailed over kExitSilentNodes over kExitNotPerformed over kExitOk. `command`: for messages.
ExitCode PrintAuditReport(CommandEnv& env, absl::string_view command, const PreparedReport& prepared,
                          const v1::GetReportResponse& answer);

// "failed: ...", "was cancelled": why a run that ended has no report. OK where it is done.
absl::Status RequireDone(const v1::AuditRun& run);

// `paritect audit run NAME`
ExitCode AuditRunVerb(CommandEnv& env, const std::vector<std::string>& args);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_AUDIT_RUN_H_
