#include "server/page_api.h"

#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/pictures_json.h"
#include "server/access.h"

namespace paritect {
namespace {

constexpr std::int64_t kLogEntriesShown = 200;
constexpr std::size_t kEventsShown = 200;

// protobuf 3.21 has a status of its own.
template <typename Status>
absl::Status FromProtobuf(const Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the request: ", std::string(status.message())));
}

// Names as in the .proto files; numbers of 64 bits are texts in it.
absl::StatusOr<std::string> ToJsonText(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  PARITECT_RETURN_IF_ERROR(FromProtobuf(google::protobuf::util::MessageToJsonString(message, &text, options)));
  return text;
}

absl::Status FromJsonText(const std::string& text, google::protobuf::Message& message) {
  return FromProtobuf(google::protobuf::util::JsonStringToMessage(text.empty() ? "{}" : text, &message));
}

absl::StatusOr<Role> RoleOf(absl::string_view actor) {
  const auto role = ParseRole(actor.substr(0, actor.find('/')));
  if (!role) return absl::UnauthenticatedError("who are you?");
  return *role;
}

// Asked every second by an open page: admitted, not logged.
bool IsPolled(absl::string_view name) {
  return name == "ListAudits" || name == "ListNodes" || name == "ListAuditRuns" || name == "WatchAudit" ||
         name == "WatchEvents" || name == "ListWaivers";
}

absl::Status NoSuchCall(const PageCall& call) {
  return absl::NotFoundError(absl::StrCat(call.method, " ", call.path, ": there is no such thing"));
}

absl::StatusOr<std::int64_t> NumberOf(const std::string& text) {
  std::int64_t number = 0;
  if (text == "last") return number;
  if (!absl::SimpleAtoi(text, &number) || number < 0) return absl::InvalidArgumentError("a number is wanted");
  return number;
}

}  // namespace

absl::Status PageApi::Admit(const PageCall& call, absl::string_view name, absl::string_view subject) {
  PARITECT_ASSIGN_OR_RETURN(const Role role, RoleOf(call.actor));
  const absl::Status allowed = CheckAccess(absl::StrCat("/paritect.v1.Operators/", name), role);
  if (!allowed.ok()) {
    log_.Write({.actor = call.actor,
                .address = call.address,
                .action = std::string(name),
                .subject = std::string(subject),
                .detail = "page"},
               allowed);
  }
  return allowed;
}

template <typename Request, typename Response>
absl::StatusOr<std::string> PageApi::Serve(const PageCall& call, absl::string_view name, absl::string_view subject,
                                           const Request& request,
                                           absl::StatusOr<Response> (OperatorCalls::*method)(const Request&,
                                                                                             const std::string&)) {
  PARITECT_RETURN_IF_ERROR(Admit(call, name, subject));
  const absl::StatusOr<Response> response = (calls_.*method)(request, call.actor);
  if (!IsPolled(name)) {
    log_.Write({.actor = call.actor,
                .address = call.address,
                .action = std::string(name),
                .subject = std::string(subject),
                .detail = "page"},
               response.status());
  }
  if (!response.ok()) return response.status();
  return ToJsonText(*response);
}

absl::StatusOr<std::string> PageApi::Report(const PageCall& call, const std::string& audit, std::int64_t number) {
  PARITECT_RETURN_IF_ERROR(Admit(call, "GetReport", audit));
  v1::GetReportRequest request;
  request.set_name(audit);
  request.set_number(number);
  const auto answer = calls_.GetReport(request, call.actor);
  log_.Write({.actor = call.actor, .address = call.address, .action = "GetReport", .subject = audit, .detail = "page"},
             answer.status());
  if (!answer.ok()) return answer.status();
  const ReportCompanion companion = {&answer->pictures(), &answer->meta(),
                                     answer->has_signature() ? &answer->signature() : nullptr};
  return DumpJson({{"report", ReportToJson(answer->report(), companion, ListForm::kColumns)},
                   {"pictures", PicturesToJson(answer->pictures())}},
                  -1);
}

// What a followed run told so far, and its curves.
absl::StatusOr<std::string> PageApi::Live(const PageCall& call, const std::string& audit) {
  PARITECT_RETURN_IF_ERROR(Admit(call, "WatchEvents", audit));
  PARITECT_RETURN_IF_ERROR(calls_.RequireAudit(audit));
  bool followed = false;
  PARITECT_ASSIGN_OR_RETURN(const std::vector<v1::LiveEvent> events, calls_.live().Events(audit, 0, 0, followed));
  OrderedJson json = {{"followed", followed}, {"events", OrderedJson::array()}, {"curves", OrderedJson::array()}};
  for (std::size_t i = events.size() > kEventsShown ? events.size() - kEventsShown : 0; i < events.size(); ++i) {
    const v1::LiveEvent& event = events[i];
    OrderedJson row = {{"event", event.event()},
                       {"at", TimeText(event.at_unix_ms())},
                       {"node", JsonText(event.node())},
                       {"run", JsonText(event.training_run())},
                       {"detail", JsonText(event.detail())}};
    if (event.has_step()) row["step"] = event.step();
    if (event.has_finding()) row["finding"] = FindingToJson(event.finding());
    json["events"].push_back(std::move(row));
  }
  const auto pictures = calls_.live().Curves(audit);
  if (pictures.ok()) json["curves"] = PicturesToJson(*pictures)["curves"];
  return DumpJson(json, -1);
}

// /api/audits/NAME/(runs[/NUMBER/(report|progress)]|live)
absl::StatusOr<std::string> PageApi::ReadAudit(const PageCall& call, const std::vector<std::string>& parts) {
  const std::string& audit = parts[1];
  if (parts.size() == 3 && parts[2] == "runs") {
    v1::ListAuditRunsRequest request;
    request.set_name(audit);
    return Serve(call, "ListAuditRuns", audit, request, &OperatorCalls::ListAuditRuns);
  }
  if (parts.size() == 3 && parts[2] == "live") return Live(call, audit);
  if (parts.size() != 5 || parts[2] != "runs") return NoSuchCall(call);
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t number, NumberOf(parts[3]));
  if (parts[4] == "report") return Report(call, audit, number);
  if (parts[4] != "progress") return NoSuchCall(call);
  PARITECT_RETURN_IF_ERROR(Admit(call, "WatchAudit", audit));
  PARITECT_ASSIGN_OR_RETURN(const v1::AuditRun run, calls_.audits().FindRun(audit, number));
  return ToJsonText(ForWatcher(run));
}

absl::StatusOr<std::string> PageApi::Read(const PageCall& call, const std::vector<std::string>& parts) {
  if (parts[0] == "audits" && parts.size() == 1) {
    return Serve(call, "ListAudits", "", v1::ListAuditsRequest(), &OperatorCalls::ListAudits);
  }
  if (parts[0] == "audits") return ReadAudit(call, parts);
  if (parts.size() != 1) return NoSuchCall(call);
  if (parts[0] == "nodes") {
    return Serve(call, "ListNodes", "", v1::ListNodesRequest(), &OperatorCalls::ListNodes);
  }
  if (parts[0] == "answers") {
    return Serve(call, "ListWaivers", "", v1::ListWaiversRequest(), &OperatorCalls::ListWaivers);
  }
  if (parts[0] != "log") return NoSuchCall(call);
  v1::ReadLogRequest request;
  request.set_limit(1);
  PARITECT_RETURN_IF_ERROR(Admit(call, "ReadLog", ""));
  PARITECT_ASSIGN_OR_RETURN(const v1::ReadLogResponse newest, calls_.ReadLog(request, call.actor));
  request.set_from(std::max<std::int64_t>(1, newest.last_number() - kLogEntriesShown + 1));
  request.set_limit(static_cast<std::int32_t>(kLogEntriesShown));
  return Serve(call, "ReadLog", "", request, &OperatorCalls::ReadLog);
}

absl::StatusOr<std::string> PageApi::Write(const PageCall& call, const std::vector<std::string>& parts) {
  const bool post = call.method == "POST";
  if (post && parts.size() == 3 && parts[0] == "audits" && parts[2] == "run") {
    v1::RunAuditRequest request;
    request.set_name(parts[1]);
    return Serve(call, "RunAudit", parts[1], request, &OperatorCalls::RunAudit);
  }
  if (post && parts.size() == 1 && parts[0] == "waivers") {
    v1::AddWaiverRequest request;
    PARITECT_RETURN_IF_ERROR(FromJsonText(call.body, *request.mutable_waiver()));
    return Serve(call, "AddWaiver", absl::StrCat(request.waiver().check(), " ", request.waiver().kind()), request,
                 &OperatorCalls::AddWaiver);
  }
  if (post && parts.size() == 1 && parts[0] == "attestations") {
    v1::AttestRequest request;
    PARITECT_RETURN_IF_ERROR(FromJsonText(call.body, *request.mutable_attestation()));
    return Serve(call, "Attest", absl::StrCat(request.attestation().audit(), " ", request.attestation().check()),
                 request, &OperatorCalls::Attest);
  }
  v1::RemoveAnswerRequest request;
  if (call.method == "DELETE" && parts.size() == 2 && parts[0] == "waivers") {
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t number, NumberOf(parts[1]));
    request.set_waiver(number);
    return Serve(call, "RemoveAnswer", absl::StrCat("waiver ", number), request, &OperatorCalls::RemoveAnswer);
  }
  if (call.method == "DELETE" && parts.size() == 3 && parts[0] == "attestations") {
    request.set_audit(parts[1]);
    request.set_check(parts[2]);
    return Serve(call, "RemoveAnswer", absl::StrCat(parts[1], " ", parts[2]), request, &OperatorCalls::RemoveAnswer);
  }
  return NoSuchCall(call);
}

absl::StatusOr<std::string> PageApi::Answer(const PageCall& call) {
  absl::string_view path = call.path;
  if (!absl::ConsumePrefix(&path, "/api/")) return NoSuchCall(call);
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  if (call.method != "GET") return Write(call, parts);
  if (parts.size() == 1 && parts[0] == "me") {
    PARITECT_ASSIGN_OR_RETURN(const Role role, RoleOf(call.actor));
    return DumpJson({{"actor", call.actor}, {"acts", role == Role::kOperator || role == Role::kAdmin}}, -1);
  }
  return Read(call, parts);
}

}  // namespace paritect
