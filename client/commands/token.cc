// paritect token create | ls | revoke: join tokens for nodes and persons.
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/nearest.h"
#include "common/pki/join_token.h"
#include "common/pki/pin.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect token";
constexpr absl::string_view kCreate = "paritect token create";
constexpr absl::string_view kList = "paritect token ls";
constexpr absl::string_view kRevoke = "paritect token revoke";
constexpr absl::string_view kSummary = "make, list and revoke join tokens for nodes and persons";

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
  if (!request.node().empty() && !IsNamePattern(request.node())) {
    env.err << (node ? " --node " : " --name ") << request.node();
  }
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
    if (absl::Status status = CheckTokenNode(node); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--node: ", status.message()));
    }
    if (uses > 1 && !IsNamePattern(node)) {
      return absl::InvalidArgumentError(
          "--node NAME and --uses exclude each other: a name is one node's (a pattern such as 'npu-*' is many's)");
    }
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
  arguments.Text("--node", node, "the only name that may join with it, or a pattern of names: 'npu-*' (default: any)");
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

OrderedJson TokenJson(const v1::TokenRow& row) {
  const v1::JoinToken& token = row.token();
  OrderedJson json;
  json["id"] = row.id();
  json["role"] = AccessRoleWord(token.role());
  json["node"] = token.node().empty() ? OrderedJson(nullptr) : OrderedJson(token.node());
  json["uses_left"] = token.uses_left();
  json["expires"] = TimeJson(token.expires_unix() * 1000);
  json["created_by"] = token.created_by();
  json["created"] = TimeJson(token.created_unix() * 1000);
  return json;
}

void PrintTokens(CommandEnv& env, const v1::ListTokensResponse& response) {
  TextTable table;
  table.Row({"ID", "ROLE", "FOR", "USES LEFT", "ENDS", "MADE BY", "MADE"});
  const std::int64_t now = env.now_unix_ms();
  for (const v1::TokenRow& row : response.tokens()) {
    const v1::JoinToken& token = row.token();
    table.Row({row.id(), std::string(AccessRoleWord(token.role())), token.node().empty() ? "anybody" : token.node(),
               absl::StrCat(token.uses_left()), AgoWord(token.expires_unix() * 1000, now), token.created_by(),
               AgoWord(token.created_unix() * 1000, now)});
  }
  if (table.empty()) {
    env.err << "no token is open: each was used up, has expired, or was revoked\n";
    return;
  }
  table.Print(env.out, env.language);
}

ExitCode List(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string output = "table";
  Arguments arguments(kList, "list the tokens that can still be used; never the secrets");
  arguments.Text("-o,--output", output, "table or json");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kList, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kList, output)) return *code;
  return WithServer(env, kList, remote, [&](Connection& connection) {
    auto response = connection.server->ListTokens({});
    if (!response.ok()) return ServerError(env, kList, response.status());
    if (output == "table") {
      PrintTokens(env, *response);
      return kExitOk;
    }
    OrderedJson json = OrderedJson::array();
    for (const v1::TokenRow& row : response->tokens()) json.push_back(TokenJson(row));
    env.out << DumpJson(json) << "\n";
    return kExitOk;
  });
}

ExitCode Revoke(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string which;
  Arguments arguments(kRevoke, "make a token useless before its end");
  arguments.Text("id", which, "the id that `token ls` shows, or the token itself", true);
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kRevoke, arguments, args)) return *code;
  v1::RevokeTokenRequest request;
  // The secret itself is not sent once more.
  const auto digest = TokenDigest(which);
  request.set_id(digest.ok() ? *digest : absl::AsciiStrToLower(which));
  return WithServer(env, kRevoke, remote, [&](Connection& connection) {
    auto response = connection.server->RevokeToken(request);
    if (!response.ok()) return ServerError(env, kRevoke, response.status());
    SayLine(env, absl::StrCat("token ", response->token().id(), " revoked: nobody can join with it"));
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"create", "make a join token; prints the token alone", &Create},
                                    {"ls", "list the tokens that can still be used", &List},
                                    {"revoke", "make a token useless before its end", &Revoke}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kTokenCommand;
const Command kTokenCommand = {"token", kSummary, &Run};

}  // namespace paritect
