// paritect join HOST:PORT: makes a credential file for a person, with a join token. Nodes use `paritect-agent join`.
#include <iostream>

#include "absl/strings/ascii.h"
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/host_port.h"
#include "common/net/ask_door.h"
#include "common/pki/join_token.h"
#include "common/pki/key_pair.h"
#include "common/pki/request.h"
#include "common/status_macros.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect join";
constexpr absl::string_view kSummary = "make a person's credential file with a join token";
constexpr std::uint64_t kTokenFileBytesMax = 4096;

struct JoinArguments {
  std::string server;
  std::string token;
  std::string token_file;
  std::string ca_pin;
  std::string name;
  std::string output;
  bool replace = false;
};

// What can be seen to be wrong without asking anybody.
absl::Status Complete(CommandEnv& env, JoinArguments& o) {
  if (o.token.empty() == o.token_file.empty()) {
    return absl::InvalidArgumentError("--token T or --token-file FILE is needed (`paritect token create` makes one)");
  }
  if (o.token_file == "-") {
    std::getline(std::cin, o.token);
  } else if (!o.token_file.empty()) {
    PARITECT_ASSIGN_OR_RETURN(o.token, ReadWholeFile(env.fs, o.token_file, kTokenFileBytesMax));
  }
  o.token = std::string(absl::StripAsciiWhitespace(o.token));
  if (o.name.empty()) o.name = env.getenv("USER");
  if (o.name.empty()) return absl::InvalidArgumentError("--name: say who joins");
  if (o.output.empty()) o.output = absl::StrCat(o.name, ".credential");
  PARITECT_RETURN_IF_ERROR(ParseHostPort(o.server).status());
  PARITECT_RETURN_IF_ERROR(CaPin::Parse(o.ca_pin).status());
  PARITECT_RETURN_IF_ERROR(TokenDigest(o.token).status());
  PARITECT_RETURN_IF_ERROR(CheckName(o.name));
  // Before the token is spent.
  if (!o.replace && PosixFileSystem().LStat(o.output).ok()) {
    return absl::AlreadyExistsError(absl::StrCat(o.output,
                                                 " is there already; -o names another file, --replace takes its "
                                                 "place"));
  }
  auto folder = PosixFileSystem().Stat(DirName(o.output));
  if (!folder.ok() || folder->type != FileInfo::Type::kDirectory) {
    return absl::InvalidArgumentError(absl::StrCat("-o: there is no folder ", DirName(o.output)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Role> RoleOf(v1::AccessRole role) {
  auto known = ParseRole(AccessRoleWord(role));
  if (!known) return absl::InternalError("the server's answer names no role");
  return *known;
}

absl::StatusOr<Credential> Join(CommandEnv& env, const JoinArguments& o) {
  PARITECT_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(o.server));
  PARITECT_ASSIGN_OR_RETURN(const CaPin pin, CaPin::Parse(o.ca_pin));
  PARITECT_ASSIGN_OR_RETURN(const KeyPair key, KeyPair::Generate());
  v1::JoinRequest request;
  request.set_token(o.token);
  for (const v1::AccessRole role : {v1::ACCESS_ROLE_VIEWER, v1::ACCESS_ROLE_OPERATOR, v1::ACCESS_ROLE_ADMIN}) {
    request.add_accepts(role);
  }
  request.set_name(o.name);
  PARITECT_ASSIGN_OR_RETURN(*request.mutable_signing_request_pem(), CertificateRequest::Make(key, o.name));
  const DoorQuery door = {
      .server = address, .now = env.now_unix_ms() / 1000, .timeout_ms = 15'000, .waiting = WaitingTold(env, kName)};
  PARITECT_ASSIGN_OR_RETURN(const Joined joined, AskToJoin(door, pin, request));
  const v1::JoinResponse& response = joined.response;
  Credential credential;
  PARITECT_ASSIGN_OR_RETURN(credential.identity.role, RoleOf(response.role()));
  credential.identity.name = response.name();
  credential.servers = {o.server};
  // Several where one replaces another; they count only beside the one that the pin vouches for.
  credential.authority_pem = joined.authority.ToPem();
  auto all = Certificate::ListFromPem(response.authority_pem());
  if (all.ok() && std::any_of(all->begin(), all->end(), [&](const Certificate& one) { return pin.Matches(one); })) {
    credential.authority_pem = response.authority_pem();
  }
  credential.certificate_pem = response.certificate_pem();
  PARITECT_ASSIGN_OR_RETURN(credential.key_pem, key.ToPem());
  return credential;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  JoinArguments o;
  Arguments arguments(kName, kSummary);
  arguments.Text("server", o.server, "HOST:PORT", true);
  arguments.Text("--token", o.token, "the token that `paritect token create --role viewer|operator|admin` printed");
  arguments.Text("--token-file", o.token_file, "a file that holds it, - for standard input");
  arguments.Text("--ca-pin", o.ca_pin, "sha256:... as `paritect-server init` printed it", true);
  arguments.Text("--name", o.name, "who joins (default: the user's name)");
  arguments.Text("-o,--output", o.output, "the credential file to write (default: NAME.credential)");
  arguments.Flag("--replace", o.replace, "take the place of a file that is there");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (absl::Status status = Complete(env, o); !status.ok()) return UsageError(env, kName, status.message());
  auto credential = Join(env, o);
  // A pin that does not match is a refusal, whatever its code.
  if (!credential.ok()) {
    ServerError(env, kName, credential.status());
    return absl::IsInternal(credential.status()) ? kExitInternal : kExitServer;
  }
  if (absl::Status status = SaveCredential(o.output, *credential); !status.ok()) {
    UsageError(env, kName, absl::StrCat("the token is spent, but the credential cannot be kept: ", status.message()));
    return kExitInternal;
  }
  SayLine(env, absl::StrCat("joined ", o.server, " as ", DescribeIdentity(credential->identity),
                            "; credential: ", o.output));
  if (env.err_is_terminal) env.err << "try it: paritect doctor --credential " << o.output << "\n";
  return kExitOk;
}

}  // namespace

extern const Command kJoinCommand;
const Command kJoinCommand = {"join", kSummary, &Run};

}  // namespace paritect
