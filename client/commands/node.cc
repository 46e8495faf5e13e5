// paritect node ls | revoke: who is enrolled.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect node";
constexpr absl::string_view kList = "paritect node ls";
constexpr absl::string_view kRevoke = "paritect node revoke";
constexpr absl::string_view kSummary = "list and revoke enrolled nodes and persons";

// Records that lay in the node's spool when it last connected.
std::int64_t Spooled(const v1::NodeRecord& node) {
  const v1::Hello& hello = node.hello();
  return hello.next_sequence() > hello.first_available()
             ? static_cast<std::int64_t>(hello.next_sequence() - hello.first_available())
             : 0;
}

OrderedJson RowJson(const v1::NodeRow& row) {
  const v1::NodeRecord& node = row.node();
  OrderedJson json;
  json["node"] = node.name();
  json["role"] = AccessRoleWord(node.role());
  json["state"] = row.state();
  json["last_seen"] = TimeJson(node.last_seen_unix_ms());
  json["clock_offset_ms"] = node.clock_offset_known() ? OrderedJson(node.clock_offset_ms()) : OrderedJson(nullptr);
  json["spooled_records"] = node.has_hello() ? OrderedJson(Spooled(node)) : OrderedJson(nullptr);
  json["program"] = node.has_hello() ? OrderedJson(node.hello().program()) : OrderedJson(nullptr);
  json["joined"] = TimeJson(node.joined_unix() * 1000);
  json["certificate_expires"] = TimeJson(node.certificate_expires_unix() * 1000);
  if (node.hello().labels_size() > 0) {
    const std::map<std::string, std::string> labels(node.hello().labels().begin(), node.hello().labels().end());
    json["labels"] = labels;
  }
  return json;
}

void PrintTable(CommandEnv& env, const std::vector<v1::NodeRow>& rows) {
  TextTable table;
  table.Row({"NODE", "ROLE", "STATE", "LAST SEEN", "CLOCK", "SPOOL", "CERTIFICATE UNTIL", "PROGRAM"});
  for (const v1::NodeRow& row : rows) {
    const v1::NodeRecord& node = row.node();
    table.Row({node.name(), std::string(AccessRoleWord(node.role())), row.state(), TimeWord(node.last_seen_unix_ms()),
               node.clock_offset_known() ? absl::StrFormat("%+d ms", node.clock_offset_ms()) : "-",
               node.has_hello() ? absl::StrCat(Spooled(node), " records") : "-",
               TimeWord(node.certificate_expires_unix() * 1000, "-"), node.has_hello() ? node.hello().program() : "-"});
  }
  if (table.empty()) {
    env.err << "no node is enrolled; make a token with `paritect token create --role agent`\n";
    return;
  }
  table.Print(env.out);
}

ExitCode List(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string output = "table";
  std::string role;
  std::string state;
  Arguments arguments(kList, "list enrolled nodes and persons");
  arguments.Text("-o,--output", output, "table or json");
  arguments.Text("--role", role, "only this role: agent, viewer, operator, admin");
  arguments.Text("--state", state, "only this state: online, silent, active, revoked, expired, never");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kList, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kList, output)) return *code;
  if (!role.empty() && !ParseRole(role)) {
    return UsageError(env, kList, absl::StrCat("--role ", role, ": there are agent, viewer, operator, admin"));
  }
  return WithServer(env, kList, remote, [&](Connection& connection) {
    auto response = connection.server->ListNodes({});
    if (!response.ok()) return ServerError(env, kList, response.status());
    std::vector<v1::NodeRow> rows;
    for (const v1::NodeRow& row : response->nodes()) {
      if (!role.empty() && AccessRoleWord(row.node().role()) != role) continue;
      if (!state.empty() && row.state() != state) continue;
      rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [](const v1::NodeRow& a, const v1::NodeRow& b) {
      return std::make_pair(a.node().role(), a.node().name()) < std::make_pair(b.node().role(), b.node().name());
    });
    if (output == "table") {
      PrintTable(env, rows);
      return kExitOk;
    }
    OrderedJson json = OrderedJson::array();
    for (const v1::NodeRow& row : rows) json.push_back(RowJson(row));
    env.out << DumpJson(json) << "\n";
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
    env.out << request.name() << " revoked" << (forget ? " and forgotten" : "")
            << ": its connections end within seconds, and it needs a new token to join again\n";
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"ls", "list enrolled nodes and persons", &List},
                                    {"revoke", "refuse a node or person from now on", &Revoke}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kNodeCommand;
const Command kNodeCommand = {"node", kSummary, &Run};

}  // namespace paritect
