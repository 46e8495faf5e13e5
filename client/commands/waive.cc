// paritect waive add | ls | lint: findings that a person accepts until a date.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/localise.h"
#include "client/remote/answers.h"
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/date.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/summary.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect waive";
constexpr absl::string_view kAdd = "paritect waive add";
constexpr absl::string_view kList = "paritect waive ls";
constexpr absl::string_view kRemove = "paritect waive rm";
constexpr absl::string_view kLint = "paritect waive lint";
constexpr absl::string_view kSummary = "accept findings until a date; list and check what was accepted";
constexpr std::uint64_t kFileBytesMax = 4 << 20;

absl::Status Check(const CommandEnv& env, const v1::StoredWaiver& waiver) {
  if (absl::Status status = RequireCheck(env.rules, waiver.check()); !status.ok()) return status;
  if (waiver.kind().empty() && waiver.subject().empty()) {
    return absl::InvalidArgumentError("a waiver needs --kind or --subject: one without would hide every finding");
  }
  if (absl::Status status = RequirePerson(waiver.by(), waiver.reason()); !status.ok()) return status;
  return RequireDate(env.today, waiver.until());
}

ExitCode Add(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::AddWaiverRequest request;
  v1::StoredWaiver& waiver = *request.mutable_waiver();
  std::vector<std::string> nodes;
  Arguments arguments(kAdd, "accept findings of a check until a date");
  arguments.Text("check", *waiver.mutable_check(), "the check's id", true);
  arguments.Text("--kind", *waiver.mutable_kind(), "only findings of this kind (`paritect explain KIND`)");
  arguments.Text("--subject", *waiver.mutable_subject(), "only findings whose subject fits this pattern (*, ?)");
  arguments.Texts("--node", nodes, "only findings about these nodes (patterns); repeatable");
  arguments.Text("--audit", *waiver.mutable_audit(), "only in this audit (default: in all)");
  arguments.Text("--by", *waiver.mutable_by(), "who accepts it", true);
  arguments.Text("--reason", *waiver.mutable_reason(), "why", true);
  arguments.Text("--until", *waiver.mutable_until(), "last day that it counts, YYYY-MM-DD", true);
  arguments.Text("--ref", *waiver.mutable_ref(), "ticket or document");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kAdd, arguments, args)) return *code;
  for (const std::string& node : nodes) waiver.add_nodes(node);
  if (absl::Status status = Check(env, waiver); !status.ok()) return UsageError(env, kAdd, status.message());
  return WithServer(env, kAdd, remote, [&](Connection& connection) {
    auto response = connection.server->AddWaiver(request);
    if (!response.ok()) return ServerError(env, kAdd, response.status());
    SayLine(env, absl::StrCat("waiver ", response->number(), ": ", waiver.check(), " until ", waiver.until(),
                              "; it counts from the next run"));
    return kExitOk;
  });
}

OrderedJson WaiverJson(const v1::StoredWaiver& waiver) {
  OrderedJson json;
  json["number"] = waiver.number();
  json["audit"] = waiver.audit().empty() ? OrderedJson(nullptr) : OrderedJson(waiver.audit());
  json["check"] = waiver.check();
  json["kind"] = waiver.kind();
  json["subject"] = waiver.subject();
  json["nodes"] = std::vector<std::string>(waiver.nodes().begin(), waiver.nodes().end());
  json["by"] = waiver.by();
  json["reason"] = waiver.reason();
  json["until"] = waiver.until();
  json["ref"] = waiver.ref();
  json["created"] = TimeJson(waiver.created_unix() * 1000);
  json["created_by"] = waiver.created_by();
  return json;
}

OrderedJson AttestationJson(const v1::StoredAttestation& answer) {
  OrderedJson json;
  json["audit"] = answer.audit();
  json["check"] = answer.check();
  json["by"] = answer.by();
  json["reason"] = answer.reason();
  json["until"] = answer.until();
  json["created"] = TimeJson(answer.created_unix() * 1000);
  json["created_by"] = answer.created_by();
  return json;
}

std::string What(const v1::StoredWaiver& waiver) {
  std::vector<std::string> parts;
  if (!waiver.kind().empty()) parts.push_back(waiver.kind());
  if (!waiver.subject().empty()) parts.push_back(waiver.subject());
  if (waiver.nodes_size() > 0) parts.push_back(absl::StrCat("on ", absl::StrJoin(waiver.nodes(), ",")));
  return absl::StrJoin(parts, " ");
}

void PrintTable(CommandEnv& env, const v1::ListWaiversResponse& all) {
  TextTable table;
  table.Row({"NUMBER", "AUDIT", "CHECK", "WHAT", "UNTIL", "BY", "REASON"});
  for (const v1::StoredWaiver& w : all.waivers()) {
    const std::string until = w.until() < env.today ? absl::StrCat(w.until(), " (ended)") : w.until();
    table.Row({absl::StrCat(w.number()), w.audit().empty() ? "all" : w.audit(), w.check(), What(w), until, w.by(),
               w.reason()});
  }
  for (const v1::StoredAttestation& a : all.attestations()) {
    const std::string until = a.until() < env.today ? absl::StrCat(a.until(), " (ended)") : a.until();
    table.Row({"-", a.audit(), a.check(), "attested", until, a.by(), a.reason()});
  }
  if (table.empty()) {
    env.err << "nothing is waived or attested on this server\n";
    return;
  }
  table.Print(env.out, env.language);
}

ExitCode List(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string output = "table";
  Arguments arguments(kList, "list waivers and attestations");
  arguments.Text("-o,--output", output, "table or json");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kList, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kList, output)) return *code;
  return WithServer(env, kList, remote, [&](Connection& connection) {
    auto response = connection.server->ListWaivers({});
    if (!response.ok()) return ServerError(env, kList, response.status());
    if (output == "table") {
      PrintTable(env, *response);
      return kExitOk;
    }
    OrderedJson json;
    json["waivers"] = OrderedJson::array();
    for (const v1::StoredWaiver& one : response->waivers()) json["waivers"].push_back(WaiverJson(one));
    json["attestations"] = OrderedJson::array();
    for (const v1::StoredAttestation& one : response->attestations()) {
      json["attestations"].push_back(AttestationJson(one));
    }
    env.out << DumpJson(json) << "\n";
    return kExitOk;
  });
}

// Complaints about one entry; what a waiver hides is none.
class Linter {
 public:
  explicit Linter(CommandEnv& env) : env_(env) {}

  void Entry(const std::string& name, const std::string& check, const std::string& until) {
    if (env_.rules.catalogue.FindCheck(check) == nullptr) {
      Complain(name,
               absl::StrCat("there is no check '", check, "'", DidYouMean(check, CatalogueIds(env_.rules, true))));
    }
    if (!IsDate(until)) {
      Complain(name, absl::StrCat("'", until, "' is no date"));
    } else if (until < env_.today) {
      Complain(name, absl::StrCat("ended on ", until, ": what it covered counts again"));
    }
  }
  void Waiver(const std::string& name, const ProfileWaiver& waiver) {
    Entry(name, waiver.check, waiver.until);
    if (waiver.kind.empty() && waiver.subject.empty())
      Complain(name, "names neither kind nor subject: it waives nothing");
  }
  void Complain(const std::string& name, const std::string& text) {
    env_.out << Localised(env_.language, DisplayBytes(name)) << Colon(env_.language)
             << Localised(env_.language, DisplayBytes(text)) << "\n";
    ++complaints_;
  }
  void Count() { ++entries_; }
  int complaints() const { return complaints_; }
  int entries() const { return entries_; }

 private:
  CommandEnv& env_;
  int complaints_ = 0;
  int entries_ = 0;
};

// A profile or an answers file, told apart by its first key.
absl::Status LintFile(CommandEnv& env, const std::string& file, Linter& linter) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(env.fs, file, kFileBytesMax));
  auto root = ParseDocument(text);
  if (!root.ok()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(file), ":", root.status().message()));
  Profile profile = env.rules.profile;
  absl::Status status;
  if (root->is_map() && root->Find("profile") != nullptr) {
    auto read = ReadProfile(*root, profile);
    status = read.status();
    if (read.ok()) profile = *std::move(read);
  } else {
    status = ReadAnswers(*root, profile);
  }
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(file), ":", status.message()));
  for (const ProfileWaiver& waiver : profile.waivers) {
    linter.Count();
    linter.Waiver(absl::StrCat(file, ": waiver of ", waiver.check), waiver);
  }
  for (const ProfileAttestation& answer : profile.attestations) {
    linter.Count();
    linter.Entry(absl::StrCat(file, ": attestation of ", answer.check), answer.check, answer.until);
  }
  return absl::OkStatus();
}

bool IsUsed(const v1::Report& report, const v1::StoredWaiver& waiver) {
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() != waiver.check()) continue;
      for (const v1::Finding& finding : check.findings()) {
        const v1::Waiver& by = finding.waived();
        if (finding.has_waived() && by.by() == waiver.by() && by.until() == waiver.until() &&
            by.reason() == waiver.reason()) {
          return true;
        }
      }
      if (check.findings_total() > check.findings_size()) return true;  // may stand behind the cap
    }
  }
  return false;
}

// Whether a waiver still hides something in the last report of any audit that it is for. Those that were made after
// the report say nothing yet.
absl::Status LintUse(RemoteServer& server, const v1::ListWaiversResponse& all, Linter& linter) {
  PARITECT_ASSIGN_OR_RETURN(const v1::ListAuditsResponse audits, server.ListAudits({}));
  std::vector<std::pair<std::string, v1::GetReportResponse>> reports;
  for (const v1::AuditRow& row : audits.audits()) {
    v1::GetReportRequest request;
    request.set_name(row.definition().name());
    auto report = server.GetReport(request);
    if (report.ok()) reports.emplace_back(row.definition().name(), *std::move(report));
  }
  for (const v1::StoredWaiver& waiver : all.waivers()) {
    bool judged = false;
    bool used = false;
    for (const auto& [audit, report] : reports) {
      if (!waiver.audit().empty() && waiver.audit() != audit) continue;
      if (report.run().started_unix_ms() / 1000 < waiver.created_unix()) continue;
      judged = true;
      used = used || IsUsed(report.report(), waiver);
    }
    if (judged && !used) {
      linter.Complain(absl::StrCat("waiver ", waiver.number()), "matches no finding of the last reports any more");
    }
  }
  return absl::OkStatus();
}

absl::Status LintServer(RemoteServer& server, Linter& linter) {
  PARITECT_ASSIGN_OR_RETURN(const v1::ListWaiversResponse all, server.ListWaivers({}));
  for (const v1::StoredWaiver& w : all.waivers()) {
    linter.Count();
    linter.Waiver(absl::StrCat("waiver ", w.number(), " of ", w.check()),
                  {.check = w.check(), .kind = w.kind(), .subject = w.subject(), .until = w.until()});
  }
  for (const v1::StoredAttestation& a : all.attestations()) {
    linter.Count();
    linter.Entry(absl::StrCat("attestation of ", a.check(), " in audit ", a.audit()), a.check(), a.until());
  }
  return LintUse(server, all, linter);
}

ExitCode Lint(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::vector<std::string> files;
  Arguments arguments(kLint, "find waivers and attestations that have ended, match nothing or waive nothing");
  arguments.Texts("files", files, "profiles or answers files; none: those on the server");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kLint, arguments, args)) return *code;
  Linter linter(env);
  const auto end = [&] {
    env.err << linter.entries() << " entries, " << linter.complaints() << " complaints\n";
    return linter.complaints() > 0 ? kExitFailed : kExitOk;
  };
  for (const std::string& file : files) {
    if (absl::Status status = LintFile(env, file, linter); !status.ok()) {
      return UsageError(env, kLint, status.message());
    }
  }
  if (!files.empty()) return end();
  return WithServer(env, kLint, remote, [&](Connection& connection) {
    if (absl::Status status = LintServer(*connection.server, linter); !status.ok()) {
      return ServerError(env, kLint, status);
    }
    return end();
  });
}

ExitCode Remove(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::RemoveAnswerRequest request;
  int number = 0;
  Arguments arguments(kRemove, "remove a waiver by its number, or an attestation by --audit and --check");
  arguments.Int("number", number, "the waiver's number (`paritect waive ls`)");
  arguments.Text("--audit", *request.mutable_audit(), "the audit of an attestation");
  arguments.Text("--check", *request.mutable_check(), "the check of an attestation");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kRemove, arguments, args)) return *code;
  const bool attestation = !request.audit().empty() && !request.check().empty();
  if ((number > 0) == attestation) {
    return UsageError(env, kRemove, "give a waiver's number, or --audit and --check of an attestation");
  }
  request.set_waiver(number);
  return WithServer(env, kRemove, remote, [&](Connection& connection) {
    auto response = connection.server->RemoveAnswer(request);
    if (!response.ok()) return ServerError(env, kRemove, response.status());
    const MessageArgs words = {
        {"number", absl::StrCat(number)}, {"check", request.check()}, {"audit", request.audit()}};
    env.out << In(env.language, attestation ? env.rules.messages.Say("removed_attestation", words)
                                            : env.rules.messages.Say("removed_waiver", words))
            << "\n";
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"add", "accept findings of a check until a date", &Add},
                                    {"ls", "list waivers and attestations", &List},
                                    {"rm", "remove a waiver or an attestation", &Remove},
                                    {"lint", "find those that have ended, match nothing or waive nothing", &Lint}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kWaiveCommand;
const Command kWaiveCommand = {"waive", kSummary, &Run};

}  // namespace paritect
