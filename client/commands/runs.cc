// paritect runs ls | show | rm NAME: recorded and imported runs.
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "report/language.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect runs";
constexpr absl::string_view kList = "paritect runs ls";
constexpr absl::string_view kShow = "paritect runs show";
constexpr absl::string_view kRemove = "paritect runs rm";
constexpr absl::string_view kSummary = "list the training runs whose evidence the server keeps";

OrderedJson RowJson(const v1::RunRow& row) {
  OrderedJson json;
  json["run"] = row.run();
  json["nodes"] = std::vector<std::string>(row.nodes().begin(), row.nodes().end());
  json["bundles"] = row.bundles();
  json["newest"] = TimeJson(row.newest_unix_ms());
  json["replaced"] = row.replaced();
  json["left_out_nodes"] = std::vector<std::string>(row.strange_nodes().begin(), row.strange_nodes().end());
  json["sources"] = std::vector<std::string>(row.sources().begin(), row.sources().end());
  return json;
}

ExitCode Answer(CommandEnv& env, absl::string_view command, const RemoteArguments& remote, const std::string& run,
                const std::string& output) {
  return WithServer(env, command, remote, [&](Connection& connection) {
    v1::ListRunsRequest request;
    request.set_run(run);
    auto response = connection.server->ListRuns(request);
    if (!response.ok()) return ServerError(env, command, response.status());
    if (!run.empty() && response->runs_size() == 0) {
      return ServerError(
          env, command,
          absl::NotFoundError(absl::StrCat("there is no recorded run '", run, "' (`paritect runs ls` lists all)")));
    }
    if (output == "json") {
      OrderedJson json = OrderedJson::array();
      for (const v1::RunRow& row : response->runs()) json.push_back(RowJson(row));
      env.out << DumpJson(run.empty() ? json : json[0]) << "\n";
      return kExitOk;
    }
    TextTable table;
    table.Row({"RUN", "NODES", "BUNDLES", "NEWEST", "FROM"});
    for (const v1::RunRow& row : response->runs()) {
      const bool many = run.empty() && row.nodes_size() > 3;
      std::string bundles = absl::StrCat(row.bundles());
      if (row.replaced() > 0) absl::StrAppend(&bundles, " (", row.replaced(), " replaced)");
      if (row.strange_nodes_size() > 0) {
        absl::StrAppend(&bundles, " (left out: ", absl::StrJoin(row.strange_nodes(), ", "), ")");
      }
      table.Row({row.run(), many ? absl::StrCat(row.nodes_size(), " nodes") : absl::StrJoin(row.nodes(), ", "), bundles,
                 TimeWord(row.newest_unix_ms()), absl::StrJoin(row.sources(), "; ")});
    }
    if (table.empty()) {
      env.err << "no run is recorded yet: an audit records what it collects, `paritect import` adds bundles\n";
      return kExitOk;
    }
    table.Print(env.out, env.language);
    return kExitOk;
  });
}

ExitCode List(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string output = "table";
  Arguments arguments(kList, "list recorded and imported runs");
  arguments.Text("-o,--output", output, "table or json");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kList, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kList, output)) return *code;
  return Answer(env, kList, remote, "", output);
}

ExitCode Show(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::string output = "table";
  std::string run;
  Arguments arguments(kShow, "show one recorded run: its nodes, and where its evidence came from");
  arguments.Text("name", run, "the run's name", true);
  arguments.Text("-o,--output", output, "table or json");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kShow, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kShow, output)) return *code;
  if (run.empty()) return UsageError(env, kShow, "a run's name is missing");
  return Answer(env, kShow, remote, run, output);
}

ExitCode Remove(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::RemoveRunRequest request;
  Arguments arguments(kRemove, "remove a recorded or imported run that no audit names");
  arguments.Text("name", *request.mutable_run(), "the run's name", true);
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kRemove, arguments, args)) return *code;
  return WithServer(env, kRemove, remote, [&](Connection& connection) {
    auto response = connection.server->RemoveRun(request);
    if (!response.ok()) return ServerError(env, kRemove, response.status());
    const MessageArgs words = {{"run", request.run()}, {"bundles", absl::StrCat(response->bundles())}};
    env.out << In(env.language, env.rules.messages.Say("removed_run", words)) << "\n";
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"ls", "list recorded and imported runs", &List},
                                    {"show", "show one of them", &Show},
                                    {"rm", "remove one of them", &Remove}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kRunsCommand;
const Command kRunsCommand = {"runs", kSummary, &Run};

}  // namespace paritect
