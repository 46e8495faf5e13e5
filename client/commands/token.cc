// paritect token create: a join token for a node or a person.
#include "absl/strings/match.h"
#include "client/remote/connection.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/nearest.h"
#include "common/pki/pin.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect token";
constexpr absl::string_view kCreate = "paritect token create";
constexpr absl::string_view kSummary = "make join tokens for nodes and persons";

// The command that uses the token, in full. Nothing where the authority cannot be read.
void PrintHint(CommandEnv& env, const Connection& connection, const v1::CreateTokenRequest& request,
               const std::string& token) {
  auto authority = Certificate::FromPem(connection.credential.credential.authority_pem);
  if (!authority.ok()) return;
  const std::string server = connection.server->address();
  const bool node = request.role() == v1::ACCESS_ROLE_AGENT;
  env.err << "use it within " << FormatDuration(request.ttl_seconds()) << ":\n  "
          << (node ? "paritect-agent join " : "paritect join ") << server << " --token " << token << " --ca-pin "
          << CaPin::Of(*authority).ToString();
  if (!request.node().empty()) env.err << (node ? " --node " : " --name ") << request.node();
  env.err << "\n";
  if (absl::StartsWith(server, "127.") || absl::StartsWith(server, "localhost:") || absl::StartsWith(server, "[::1]")) {
    env.err << "(on another machine, with this server's address there in place of " << server << ")\n";
  }
}

absl::StatusOr<v1::CreateTokenRequest> MakeRequest(const std::string& role, const std::string& ttl, int uses,
                                                   const std::string& node) {
  v1::CreateTokenRequest request;
  const auto known = ParseRole(role);
  if (!known) {
    return absl::InvalidArgumentError(absl::StrCat("--role ", role, ": there are agent, viewer, operator, admin",
                                                   DidYouMean(role, {"agent", "viewer", "operator", "admin"})));
  }
  switch (*known) {
    case Role::kAgent: request.set_role(v1::ACCESS_ROLE_AGENT); break;
    case Role::kViewer: request.set_role(v1::ACCESS_ROLE_VIEWER); break;
    case Role::kOperator: request.set_role(v1::ACCESS_ROLE_OPERATOR); break;
    case Role::kAdmin: request.set_role(v1::ACCESS_ROLE_ADMIN); break;
  }
  auto seconds = ParseDuration(ttl);
  if (!seconds.ok()) return absl::InvalidArgumentError(absl::StrCat("--ttl: ", seconds.status().message()));
  request.set_ttl_seconds(*seconds);
  if (uses < 1 || uses > 100'000) return absl::InvalidArgumentError("--uses must be 1 to 100000");
  request.set_uses(uses);
  if (!node.empty()) {
    if (absl::Status status = CheckName(node); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--node: ", status.message()));
    }
    if (uses > 1) return absl::InvalidArgumentError("--node and --uses exclude each other: a name is one node's");
    request.set_node(node);
  }
  return request;
}

ExitCode Create(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string role;
  std::string ttl = "1h";
  std::string node;
  int uses = 1;
  Arguments arguments(kCreate, "make a join token; prints the token alone");
  arguments.Text("--role", role, "agent (a node), viewer, operator or admin", true);
  arguments.Text("--ttl", ttl, "how long it may be used: 90s, 30m, 6h, 1d (default: 1h)");
  arguments.Int("--uses", uses, "how many may join with it (default: 1)");
  arguments.Text("--node", node, "the only name that may join with it (default: any)");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kCreate, arguments, args)) return *code;
  auto request = MakeRequest(role, ttl, uses, node);
  if (!request.ok()) return UsageError(env, kCreate, request.status().message());
  return WithServer(env, kCreate, remote, [&](Connection& connection) {
    auto response = connection.server->CreateToken(*request);
    if (!response.ok()) return ServerError(env, kCreate, response.status());
    env.out << response->token() << "\n";
    env.out.flush();
    if (env.err_is_terminal) PrintHint(env, connection, *request, response->token());
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"create", "make a join token; prints the token alone", &Create}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kTokenCommand;
const Command kTokenCommand = {"token", kSummary, &Run};

}  // namespace paritect
