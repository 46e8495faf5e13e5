// paritect report [NAME] | report --db FILE | report verify FILE: a server's report, or one that `check --db` kept, in
// any format, and whether a report file is genuine.
#include "absl/strings/str_join.h"
#include "client/remote/audit_run.h"
#include "client/report/audit_options.h"
#include "client/report/json.h"
#include "client/report/keep_audit.h"
#include "client/terminal.h"
#include "client/verbs.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect report";
constexpr absl::string_view kVerify = "paritect report verify";
constexpr absl::string_view kSummary = "print an audit's stored report; verify a report file";
constexpr std::uint64_t kReportBytesMax = 256 << 20;
constexpr int kFaultsMax = 20;

// Faults of a report file, each in words. The file has the shape that HasShape wants.
class Verifier {
 public:
  explicit Verifier(CommandEnv& env) : env_(env) {}

  void Fault(const std::string& text) {
    if (++faults_ <= kFaultsMax) env_.out << DisplayBytes(text) << "\n";
  }
  int faults() const { return faults_; }

  // What the file says of itself must follow from what it holds.
  void Consistent(const OrderedJson& report) {
    std::map<std::string, int> counts;
    bool failed = false;
    bool open = false;
    for (const OrderedJson& item : report["items"]) {
      const std::string verdict = item.value("verdict", "");
      ++counts[verdict];
      failed = failed || verdict == "fail";
      open = open || verdict == "not_performed";
      Item(item, verdict);
    }
    for (const char* word : {"pass", "fail", "not_performed"}) {
      const auto stated = report["counts"].value(word, -1);
      if (stated != counts[word])
        Fault(absl::StrCat("counts.", word, " is ", stated, ", the items give ", counts[word]));
    }
    if (failed != (report.value("verdict", "") == "fail")) {
      Fault(absl::StrCat("verdict is '", report.value("verdict", ""), "', the items give another"));
    }
    if (open && report.value("verdict", "") == "pass") Fault("verdict is 'pass' though items were not performed");
  }

  // The file against the server's own.
  void Equal(const OrderedJson& file, const OrderedJson& stored) {
    if (file == stored) return;
    const OrderedJson changes = OrderedJson::diff(stored, file);
    for (const OrderedJson& change : changes) {
      Fault(absl::StrCat("differs from the server's report: ", change.value("op", ""), " ", change.value("path", "")));
    }
  }

 private:
  void Item(const OrderedJson& item, const std::string& verdict) {
    bool failed = false;
    for (const OrderedJson& check : item["checks"]) {
      const std::string of_check = check.value("verdict", "");
      failed = failed || of_check == "fail";
      bool error = false;
      for (const OrderedJson& finding : check["findings"]) {
        const bool waived = finding.contains("waived") && !finding["waived"].is_null();
        error = error || (finding.value("severity", "") == "error" && !waived);
      }
      if (error && of_check != "fail") {
        Fault(absl::StrCat(check.value("id", "?"), ": has errors that nobody waived, but its verdict is '", of_check,
                           "'"));
      }
    }
    if (failed != (verdict == "fail")) {
      Fault(absl::StrCat(item.value("id", "?"), ": its verdict is '", verdict, "', its checks give another"));
    }
  }

  CommandEnv& env_;
  int faults_ = 0;
};

// nlohmann-json's value() throws on other types than asked for: the shape is made sure of first.
bool HasWords(const OrderedJson& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!object.contains(name) || !object[name].is_string()) return false;
  }
  return true;
}

bool ChecksHaveShape(const OrderedJson& item) {
  if (!item.contains("checks") || !item["checks"].is_array()) return false;
  for (const OrderedJson& check : item["checks"]) {
    if (!check.is_object() || !HasWords(check, {"id", "verdict"})) return false;
    if (!check.contains("findings") || !check["findings"].is_array()) return false;
    for (const OrderedJson& finding : check["findings"]) {
      if (!finding.is_object() || !HasWords(finding, {"severity", "kind"})) return false;
    }
  }
  return true;
}

bool HasShape(const OrderedJson& report) {
  if (!report.is_object() || !HasWords(report, {"schema", "verdict", "profile"})) return false;
  if (report["schema"] != "paritect.report/1") return false;
  if (!report.contains("counts") || !report["counts"].is_object()) return false;
  for (const auto& [name, count] : report["counts"].items()) {
    if (!count.is_number_integer()) return false;
  }
  if (!report.contains("items") || !report["items"].is_array()) return false;
  for (const OrderedJson& item : report["items"]) {
    if (!item.is_object() || !HasWords(item, {"id", "verdict"}) || !ChecksHaveShape(item)) return false;
  }
  return true;
}

absl::StatusOr<OrderedJson> ReadReportFile(CommandEnv& env, const std::string& file) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(env.fs, file, kReportBytesMax));
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (json.is_discarded() || !HasShape(json)) {
    return absl::InvalidArgumentError(
        absl::StrCat(DisplayBytes(file), ": not a report in JSON form (schema paritect.report/1)"));
  }
  return json;
}

ExitCode EndOfVerify(CommandEnv& env, const Verifier& verifier, const std::string& file, absl::string_view against) {
  if (verifier.faults() > kFaultsMax) env.out << "and " << verifier.faults() - kFaultsMax << " more\n";
  if (verifier.faults() > 0) {
    env.err << kVerify << ": " << DisplayBytes(file) << " is not genuine\n";
    return kExitFailed;
  }
  env.out << DisplayBytes(file) << ": " << against << "\n";
  return kExitOk;
}

// The number of the run whose stored report it is; 0: of none.
std::int64_t RunOfReport(RemoteServer& server, const std::string& audit, const OrderedJson& json) {
  v1::ListAuditRunsRequest wanted;
  wanted.set_name(audit);
  const auto runs = server.ListAuditRuns(wanted);
  if (!runs.ok()) return 0;
  for (auto run = runs->runs().rbegin(); run != runs->runs().rend(); ++run) {
    if (run->state() != v1::AUDIT_RUN_STATE_DONE) continue;
    v1::GetReportRequest request;
    request.set_name(audit);
    request.set_number(run->number());
    const auto answer = server.GetReport(request);
    if (answer.ok() && json == OrderedJson::parse(DumpJson(ReportToJson(answer->report())), nullptr, false)) {
      return run->number();
    }
  }
  return 0;
}

ExitCode VerifyFile(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string file;
  std::string audit;
  int number = 0;
  Arguments arguments(kVerify, "whether a JSON report agrees with itself and, with --audit, with the server's own");
  arguments.Text("file", file, "a report made with -o json", true);
  arguments.Text("--audit", audit, "the audit whose report it claims to be");
  arguments.Int("--run", number, "that run of it (default: the last)");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kVerify, arguments, args)) return *code;
  if (number != 0 && audit.empty()) return UsageError(env, kVerify, "--run needs --audit");
  auto json = ReadReportFile(env, file);
  if (!json.ok()) return UsageError(env, kVerify, json.status().message());
  // When and where it was made is no part of the judgement.
  json->erase("meta");
  Verifier verifier(env);
  verifier.Consistent(*json);
  if (audit.empty()) return EndOfVerify(env, verifier, file, "agrees with itself");
  return WithServer(env, kVerify, remote, [&](Connection& connection) {
    v1::GetReportRequest request;
    request.set_name(audit);
    request.set_number(number);
    auto answer = connection.server->GetReport(request);
    if (!answer.ok()) return ServerError(env, kVerify, answer.status());
    // Through text and back, as the file was: numbers then compare as they are written.
    const OrderedJson stored = OrderedJson::parse(DumpJson(ReportToJson(answer->report())), nullptr, false);
    if (*json != stored) {
      // Genuine, and another run's.
      if (const std::int64_t other = RunOfReport(*connection.server, audit, *json); other > 0) {
        env.out << DisplayBytes(file) << ": is the report of run " << other << " of audit " << audit << ", not of run "
                << answer->run().number() << (number == 0 ? ", the last\n" : "\n");
        return number == 0 ? kExitOk : kExitFailed;
      }
    }
    verifier.Equal(*json, stored);
    return EndOfVerify(env, verifier, file,
                       absl::StrCat("is the report of run ", answer->run().number(), " of audit ", audit));
  });
}

ExitCode ListKept(CommandEnv& env, const std::string& file) {
  auto audits = KeptAudits(env, file);
  if (!audits.ok()) return UsageError(env, kName, audits.status().message());
  for (const v1::KeptAudit& audit : *audits) {
    env.out << audit.number() << "  " << audit.created_on() << "  " << TerminalSafe(audit.name()) << "\n";
  }
  return kExitOk;
}

ExitCode PrintKept(CommandEnv& env, const PreparedReport& prepared, const std::string& file, int number) {
  auto kept = LoadKeptAudit(env, file, number);
  if (!kept.ok()) return UsageError(env, kName, kept.status().message());
  v1::GetReportResponse answer;
  *answer.mutable_report() = std::move(kept->report);
  return PrintAuditReport(env, kName, prepared, answer);
}

ExitCode Print(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  ReportArguments report;
  v1::GetReportRequest request;
  int number = 0;
  std::string db;
  bool list = false;
  Arguments arguments(kName, "print an audit's stored report; `paritect report verify FILE` checks a file");
  arguments.Text("name", *request.mutable_name(), "the audit's name on the server");
  arguments.Text("--db", db, "a file that `paritect check --db` has written, in place of a server");
  arguments.Flag("--list", list, "with --db: the audits in it");
  arguments.Int("--run", number, "that run's report, of --db that audit's (default: the last)");
  DeclareReportArguments(arguments, report);
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  auto prepared = PrepareReport(env, report);
  if (!prepared.ok()) return UsageError(env, kName, prepared.status().message());
  if (db.empty() == request.name().empty()) {
    return UsageError(env, kName, "either an audit's NAME (of a server) or --db FILE is needed");
  }
  if (list && db.empty()) return UsageError(env, kName, "--list needs --db FILE");
  if (!db.empty()) return list ? ListKept(env, db) : PrintKept(env, *prepared, db, number);
  request.set_number(number);
  return WithServer(env, kName, remote, [&](Connection& connection) {
    auto answer = connection.server->GetReport(request);
    if (!answer.ok()) return ServerError(env, kName, answer.status());
    return PrintAuditReport(env, kName, *prepared, *answer);
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"verify", "whether a report file is genuine", &VerifyFile}};
  if (args.size() == 1 && args[0] == kListOptions) RunVerb(env, kName, kSummary, kVerbs, args);
  if (!args.empty() && args[0] == "verify") {
    return VerifyFile(env, std::vector<std::string>(args.begin() + 1, args.end()));
  }
  return Print(env, args);
}

}  // namespace

extern const Command kReportCommand;
const Command kReportCommand = {"report", kSummary, &Run};

}  // namespace paritect
