// paritect report [NAME] | report --db FILE | report verify FILE: a server's report, or one that `check --db` kept, in
// any format, and whether a report file is genuine.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "checks/pictures/pictures.h"
#include "client/remote/audit_run.h"
#include "client/report/audit_options.h"
#include "client/report/json.h"
#include "client/report/keep_audit.h"
#include "client/verbs.h"
#include "common/digest.h"
#include "common/pki/report_key.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/html_page.h"
#include "report/signature.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect report";
constexpr absl::string_view kVerify = "paritect report verify";
constexpr absl::string_view kSummary = "print an audit's stored report; verify a report file";
constexpr std::uint64_t kReportBytesMax = 256 << 20;
constexpr std::uint64_t kKeyBytesMax = 64 << 10;
constexpr int kFaultsMax = 20;

// Faults of a report file, each in words. The file has the shape that HasShape wants.
class Verifier {
 public:
  explicit Verifier(CommandEnv& env) : env_(env) {}

  void Fault(const std::string& text) {
    if (++faults_ <= kFaultsMax) SayLine(env_, DisplayBytes(text));
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

absl::StatusOr<ReportInFile> ReadReportFile(CommandEnv& env, const std::string& file) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(env.fs, file, kReportBytesMax));
  // A report in one HTML file holds its JSON.
  ReportInFile made = {OrderedJson(), /*page_is_ours=*/true, PicturesText(nullptr)};
  if (absl::StartsWith(text, "<!DOCTYPE html>")) {
    auto inside = ReportInHtml(text, env.rules);
    if (!inside.ok()) return Annotate(inside.status(), DisplayBytes(file));
    made = *std::move(inside);
  } else {
    made.report = OrderedJson::parse(text, nullptr, false);
  }
  if (made.report.is_discarded() || !HasShape(made.report)) {
    return absl::InvalidArgumentError(
        absl::StrCat(DisplayBytes(file), ": not a report in JSON or HTML form (schema paritect.report/1)"));
  }
  return made;
}

ExitCode EndOfVerify(CommandEnv& env, const Verifier& verifier, const std::string& file, absl::string_view against) {
  if (verifier.faults() > kFaultsMax) SayLine(env, absl::StrCat("and ", verifier.faults() - kFaultsMax, " more"));
  if (verifier.faults() > 0) {
    env.err << kVerify << ": " << DisplayBytes(file) << " is not genuine\n";
    return kExitFailed;
  }
  SayLine(env, absl::StrCat(DisplayBytes(file), ": ", against));
  return kExitOk;
}

// The server's report as a file would hold it, to compare with one: through text and back, so that numbers compare as
// they are written; without what the file does not state of its making, and without signature, which is verified.
OrderedJson StoredAs(const OrderedJson& file, const v1::GetReportResponse& answer) {
  const v1::ReportMeta* const meta = file.contains("meta") && answer.has_meta() ? &answer.meta() : nullptr;
  return OrderedJson::parse(DumpJson(ReportToJson(answer.report(), {.meta = meta})), nullptr, false);
}

OrderedJson WithoutSignature(OrderedJson json) {
  json.erase("signature");
  return json;
}

// What is known of the report's signature: in words for the last line, faults to the verifier. `trusted`: the raw key
// that must have signed it; "": nobody's in particular.
std::string JudgeSignature(const OrderedJson& report, const std::string& trusted, Verifier& verifier) {
  const auto key = SigningKeyOf(report);
  if (absl::IsNotFound(key.status())) {
    if (!trusted.empty()) verifier.Fault("is not signed");
    return "not signed";
  }
  if (!key.ok()) {
    verifier.Fault(std::string(key.status().message()));
    return "";
  }
  const std::string name = absl::StrCat("key sha256:", ToHex(Sha256(*key)));
  if (trusted.empty()) return absl::StrCat("signed with ", name, " (whose it is, --key or --audit tells)");
  if (*key != trusted) verifier.Fault(absl::StrCat("is signed with another key, ", name));
  return absl::StrCat("signed with the trusted ", name);
}

absl::StatusOr<std::string> ReadTrustedKey(CommandEnv& env, const std::string& file) {
  if (file.empty()) return "";
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(env.fs, file, kKeyBytesMax));
  auto key = ParseReportPublicKey(text);
  if (!key.ok()) return Annotate(key.status(), DisplayBytes(file));
  return key;
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
    if (answer.ok() && json == StoredAs(json, *answer)) {
      return run->number();
    }
  }
  return 0;
}

ExitCode VerifyFile(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string file;
  std::string audit;
  std::string key_file;
  int number = 0;
  Arguments arguments(kVerify,
                      "whether a report agrees with itself and its signature and, with --audit, with the server's own");
  arguments.Text("file", file, "a report made with -o json or -o html", true);
  arguments.Text("--key", key_file, "the public key that must have signed it (a server's report.pub)");
  arguments.Text("--audit", audit, "the audit whose report it claims to be");
  arguments.Int("--run", number, "that run of it (default: the last)");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kVerify, arguments, args)) return *code;
  if (number != 0 && audit.empty()) return UsageError(env, kVerify, "--run needs --audit");
  auto read = ReadReportFile(env, file);
  if (!read.ok()) return UsageError(env, kVerify, read.status().message());
  const OrderedJson* const json = &read->report;
  if (!read->page_is_ours) {
    SayLine(env, absl::StrCat(DisplayBytes(file),
                              ": the page in it is not the one that this version writes around these data: only the "
                              "data were looked at, and a browser may show others"));
  }
  auto trusted = ReadTrustedKey(env, key_file);
  if (!trusted.ok()) return UsageError(env, kVerify, trusted.status().message());
  Verifier verifier(env);
  verifier.Consistent(*json);
  const bool drawn = read->page_is_ours && read->pictures != PicturesText(nullptr);
  if (audit.empty()) {
    std::string signature = JudgeSignature(*json, *trusted, verifier);
    if (drawn) absl::StrAppend(&signature, "; its pictures are not signed (--audit compares them, too)");
    return EndOfVerify(env, verifier, file, absl::StrCat("agrees with itself; ", signature));
  }
  return WithServer(env, kVerify, remote, [&](Connection& connection) {
    v1::GetReportRequest request;
    request.set_name(audit);
    request.set_number(number);
    auto answer = connection.server->GetReport(request);
    if (!answer.ok()) return ServerError(env, kVerify, answer.status());
    if (trusted->empty() && answer->has_signature()) trusted = answer->signature().public_key();
    const bool is_signed = json->contains("signature");
    const std::string signature = JudgeSignature(*json, is_signed || !key_file.empty() ? *trusted : "", verifier);
    const OrderedJson plain = WithoutSignature(*json);
    const OrderedJson stored = StoredAs(plain, *answer);
    if (plain != stored) {
      // Genuine, and another run's.
      if (const std::int64_t other = RunOfReport(*connection.server, audit, plain); other > 0) {
        SayLine(env, absl::StrCat(DisplayBytes(file), ": is the report of run ", other, " of audit ", audit,
                                  ", not of run ", answer->run().number(), number == 0 ? ", the last" : ""));
        return number == 0 ? kExitOk : kExitFailed;
      }
    }
    verifier.Equal(plain, stored);
    if (drawn && read->pictures != PicturesText(answer->has_pictures() ? &answer->pictures() : nullptr)) {
      verifier.Fault("its pictures are not those of the server's report");
    }
    return EndOfVerify(
        env, verifier, file,
        absl::StrCat("is the report of run ", answer->run().number(), " of audit ", audit, "; ", signature));
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
  if (AnyDraws(prepared.targets)) {
    const EvidenceSet evidence(std::move(kept->baseline), std::move(kept->migrated));
    *answer.mutable_pictures() = MakePictures({evidence, env.rules.profile, env.rules});
  }
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
