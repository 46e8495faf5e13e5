// paritect node ls | show | revoke: who is enrolled.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/remote/connection.h"
#include "client/remote/node_rows.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect node";
constexpr absl::string_view kList = "paritect node ls";
constexpr absl::string_view kShow = "paritect node show";
constexpr absl::string_view kRevoke = "paritect node revoke";
constexpr absl::string_view kSummary = "list, show and revoke enrolled nodes and persons";

constexpr std::int64_t kWatchEveryMs = 2000;

struct ListOptions {
  RemoteArguments remote;
  std::string output = "table";
  std::string role;
  std::string state;
  bool watch = false;
};

absl::StatusOr<std::vector<v1::NodeRow>> ReadRows(RemoteServer& server, const ListOptions& o) {
  PARITECT_ASSIGN_OR_RETURN(const v1::ListNodesResponse response, server.ListNodes({}));
  std::vector<v1::NodeRow> rows;
  for (const v1::NodeRow& row : response.nodes()) {
    if (!o.role.empty() && AccessRoleWord(row.node().role()) != o.role) continue;
    if (!o.state.empty() && row.state() != o.state) continue;
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const v1::NodeRow& a, const v1::NodeRow& b) {
    return std::make_pair(a.node().role(), a.node().name()) < std::make_pair(b.node().role(), b.node().name());
  });
  return rows;
}

void PrintRows(CommandEnv& env, const std::vector<v1::NodeRow>& rows, const std::string& output) {
  if (output == "json") {
    OrderedJson json = OrderedJson::array();
    for (const v1::NodeRow& row : rows) json.push_back(NodeJson(env.rules.products, row));
    env.out << DumpJson(json) << "\n";
  } else if (rows.empty()) {
    env.err << "no node is enrolled; make a token with `paritect token create --role agent`\n";
  } else {
    PrintNodeTable(env.out, rows, output == "wide" ? NodeColumns::kWide : NodeColumns::kFew, env.now_unix_ms(),
                   env.language);
  }
}

// Until it is interrupted or the server is gone. JSON: one document each time.
ExitCode Watch(CommandEnv& env, RemoteServer& server, const ListOptions& o) {
  for (;;) {
    const auto rows = ReadRows(server, o);
    if (!rows.ok()) return ServerError(env, kList, rows.status());
    if (env.out_is_terminal && o.output != "json") env.out << "\x1b[H\x1b[J";
    PrintRows(env, *rows, o.output);
    env.out.flush();
    env.sleep_ms(kWatchEveryMs);
  }
}

ExitCode List(CommandEnv& env, const std::vector<std::string>& args) {
  ListOptions o;
  Arguments arguments(kList, "list enrolled nodes and persons");
  arguments.Text("-o,--output", o.output, "table, wide or json");
  arguments.Text("--role", o.role, "only this role: agent, viewer, operator, admin");
  arguments.Text("--state", o.state, "only this state: online, silent, active, revoked, expired, never");
  arguments.Flag("--watch", o.watch, "again every two seconds, until interrupted");
  DeclareRemoteArguments(arguments, o.remote);
  if (auto code = ParseOrAnswer(env, kList, arguments, args)) return *code;
  if (o.output != "wide") {
    if (auto code = RefuseListFormat(env, kList, o.output)) return *code;
  }
  if (!o.role.empty() && !ParseRole(o.role)) {
    return UsageError(env, kList, absl::StrCat("--role ", o.role, ": there are agent, viewer, operator, admin"));
  }
  return WithServer(env, kList, o.remote, [&](Connection& connection) {
    if (o.watch) return Watch(env, *connection.server, o);
    const auto rows = ReadRows(*connection.server, o);
    if (!rows.ok()) return ServerError(env, kList, rows.status());
    PrintRows(env, *rows, o.output);
    return kExitOk;
  });
}

ExitCode Show(CommandEnv& env, const std::vector<std::string>& args) {
  ListOptions o;
  std::string name;
  Arguments arguments(kShow, "show all that is known of one node or person");
  arguments.Text("name", name, "the node's or person's name", true);
  arguments.Text("-o,--output", o.output, "table or json");
  DeclareRemoteArguments(arguments, o.remote);
  if (auto code = ParseOrAnswer(env, kShow, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kShow, o.output)) return *code;
  return WithServer(env, kShow, o.remote, [&](Connection& connection) {
    auto rows = ReadRows(*connection.server, o);
    if (!rows.ok()) return ServerError(env, kShow, rows.status());
    std::erase_if(*rows, [&name](const v1::NodeRow& row) { return row.node().name() != name; });
    if (rows->empty()) {
      return ServerError(
          env, kShow,
          absl::NotFoundError(absl::StrCat("nobody is enrolled as '", name, "' (`paritect node ls` lists all)")));
    }
    if (o.output == "json") {
      PrintRows(env, *rows, o.output);
      return kExitOk;
    }
    for (std::size_t i = 0; i < rows->size(); ++i) {
      if (i > 0) env.out << "\n";
      PrintNode(env.out, env.rules.products, (*rows)[i], env.now_unix_ms(), env.language);
    }
    return kExitOk;
  });
}

ExitCode Revoke(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::RevokeNodeRequest request;
  bool forget = false;
  Arguments arguments(kRevoke, "refuse a node or person from now on, for good");
  arguments.Text("name", *request.mutable_name(), "the node's or person's name", true);
  arguments.Flag("--forget", forget, "also leave it out of lists and audits (a node that is gone for good)");
  arguments.Text("--reason", *request.mutable_reason(), "why, for the log");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kRevoke, arguments, args)) return *code;
  request.set_forget(forget);
  return WithServer(env, kRevoke, remote, [&](Connection& connection) {
    auto response = connection.server->RevokeNode(request);
    if (!response.ok()) return ServerError(env, kRevoke, response.status());
    if (response->revoked() == 0) {
      return ServerError(env, kRevoke,
                         absl::NotFoundError(absl::StrCat("nobody is enrolled as '", request.name(),
                                                          "' (`paritect node ls` lists all)")));
    }
    SayLine(env, absl::StrCat(request.name(), " revoked", forget ? " and forgotten" : "",
                              ": its connections end within seconds, and it needs a new token to join again"));
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"ls", "list enrolled nodes and persons", &List},
                                    {"show", "show all that is known of one", &Show},
                                    {"revoke", "refuse a node or person from now on", &Revoke}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kNodeCommand;
const Command kNodeCommand = {"node", kSummary, &Run};

}  // namespace paritect
