// paritect attest CHECK --audit A: a person's answer to a check that no evidence settles.
#include "client/remote/answers.h"
#include "client/remote/connection.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect attest";
constexpr absl::string_view kSummary = "answer a check of an audit by hand, with name, reason and end date";

absl::Status Check(const CommandEnv& env, const v1::StoredAttestation& answer) {
  if (absl::Status status = RequireCheck(env.rules, answer.check()); !status.ok()) return status;
  if (absl::Status status = RequirePerson(answer.by(), answer.reason()); !status.ok()) return status;
  return RequireDate(env.today, answer.until());
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::AttestRequest request;
  v1::StoredAttestation& answer = *request.mutable_attestation();
  Arguments arguments(kName, kSummary);
  arguments.Text("check", *answer.mutable_check(), "the check's id", true);
  arguments.Text("--audit", *answer.mutable_audit(), "the audit's name", true);
  arguments.Text("--by", *answer.mutable_by(), "who answers", true);
  arguments.Text("--reason", *answer.mutable_reason(), "what was looked at, and what was seen", true);
  arguments.Text("--until", *answer.mutable_until(), "last day that the answer counts, YYYY-MM-DD", true);
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (absl::Status status = Check(env, answer); !status.ok()) return UsageError(env, kName, status.message());
  return WithServer(env, kName, remote, [&](Connection& connection) {
    auto response = connection.server->Attest(request);
    if (!response.ok()) return ServerError(env, kName, response.status());
    SayLine(env, absl::StrCat(answer.check(), " of audit ", answer.audit(), " attested by ", answer.by(), " until ",
                              answer.until(), "; it counts from the next run, unless evidence shows a failure"));
    return kExitOk;
  });
}

}  // namespace

extern const Command kAttestCommand;
const Command kAttestCommand = {"attest", kSummary, &Run};

}  // namespace paritect
