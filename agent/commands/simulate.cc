// paritect-agent simulate: a fleet on one machine, through the real uplink, to measure a server and to prove that
// nothing is lost on the way to it.
#include <stdlib.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/agent_command.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/simulator.h"
#include "agent/uplink/grpc_transport.h"
#include "common/arguments.h"
#include "common/duration.h"
#include "common/host_port.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kUsage =
    "--agents N [--rate R] [--for 60s] [--patience 60s] [--nodes-file FILE] [--state DIR] [--name NAME] "
    "[--record FILE] [--sync] [-o text|json] HOST:PORT --credential FILE";
constexpr int kAgentsMax = 20'000;
constexpr std::uint64_t kNodesFileBytesMax = 16 << 20;

struct SimulateOptions {
  std::string agents = "10", rate = "1", duration = "60s", patience = "60s";
  std::string nodes_file, state, name, output = "text", credential, server;
  int agent_count = 0;
  SimulationOptions simulation;
};

absl::Status ReadNumbers(SimulateOptions& options) {
  if (!absl::SimpleAtoi(options.agents, &options.agent_count) || options.agent_count < 1 ||
      options.agent_count > kAgentsMax) {
    return absl::InvalidArgumentError(absl::StrCat("--agents must be 1 to ", kAgentsMax));
  }
  double& rate = options.simulation.records_per_second;
  if (!absl::SimpleAtod(options.rate, &rate) || !(rate >= 0 && rate <= 1e6)) {
    return absl::InvalidArgumentError("--rate must be records a second of each agent, 0 to 1000000");
  }
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t seconds, ParseDuration(options.duration));
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t patience, ParseDuration(options.patience));
  options.simulation.duration_ms = seconds * 1000;
  options.simulation.patience_ms = patience * 1000;
  return absl::OkStatus();
}

absl::Status Complete(SimulateOptions& options) {
  PARITECT_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options.server));
  options.server = FormatHostPort(address);
  if (options.output != "text" && options.output != "json")
    return absl::InvalidArgumentError("-o must be text or json");
  if (!options.name.empty()) PARITECT_RETURN_IF_ERROR(CheckName(options.name));
  return ReadNumbers(options);
}

void Declare(Arguments& arguments, SimulateOptions& options) {
  arguments.Text("server", options.server, "HOST:PORT", true);
  arguments.Text("--agents", options.agents, "how many");
  arguments.Text("--rate", options.rate, "records a second of each");
  arguments.Text("--for", options.duration, "how long they send: 60s, 10m");
  arguments.Text("--patience", options.patience, "how long the rest is waited for");
  arguments.Text("--nodes-file", options.nodes_file, "nodes of an earlier call; written where it is not there");
  arguments.Text("--state", options.state, "folder to keep the nodes in; default: a temporary one");
  arguments.Text("--name", options.name,
                 "the nodes are called NAME-0001 ...; default: sim, in a temporary folder sim and six letters");
  arguments.Text("--record", options.simulation.record_path, "file for what was acknowledged, as JSON lines");
  arguments.Flag("--sync", options.simulation.sync, "flush the spools as real agents do");
  arguments.Text("-o,--output", options.output, "text or json");
  arguments.Text("--credential", options.credential, "an admin's, to make the nodes' join token");
}

// The folders of nodes that joined earlier, one a line.
absl::StatusOr<std::vector<SimulatedNode>> ReadNodes(AgentEnv& env, const SimulateOptions& options) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(env.fs, options.nodes_file, kNodesFileBytesMax));
  std::vector<SimulatedNode> nodes;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (nodes.size() == static_cast<std::size_t>(options.agent_count)) break;
    SimulatedNode& node = nodes.emplace_back();
    node.folder = std::string(line);
    PARITECT_ASSIGN_OR_RETURN(LoadedCredential loaded,
                              LoadCredential(AgentState{node.folder}.credential(), env.now_unix_ms / 1000));
    node.credential = std::move(loaded.credential);
    node.credential.servers = {options.server};
  }
  if (nodes.size() == static_cast<std::size_t>(options.agent_count)) return nodes;
  return absl::InvalidArgumentError(
      absl::StrCat(options.nodes_file, " names ", nodes.size(), " nodes; --agents asks for ", options.agent_count));
}

absl::StatusOr<std::vector<SimulatedNode>> FindNodes(AgentEnv& env, const SimulateOptions& options,
                                                     const std::string& folder) {
  if (!options.nodes_file.empty() && env.fs.Stat(options.nodes_file).ok()) return ReadNodes(env, options);
  if (options.credential.empty()) {
    return absl::InvalidArgumentError("--credential FILE of an admin is needed: it makes the nodes' join token");
  }
  const std::int64_t now = env.now_unix_ms / 1000;
  auto admin = LoadCredential(options.credential, now);
  if (!admin.ok()) return absl::InvalidArgumentError(admin.status().message());
  PARITECT_ASSIGN_OR_RETURN(std::vector<SimulatedNode> nodes, JoinFleet(admin->credential, options.server, folder,
                                                                        options.name, options.agent_count, now));
  std::string lines;
  for (SimulatedNode& node : nodes) {
    node.credential.servers = {options.server};
    absl::StrAppend(&lines, node.folder, "\n");
  }
  if (!options.nodes_file.empty()) {
    PARITECT_RETURN_IF_ERROR(env.write(options.nodes_file, [&](WriteBytes write) { return write(lines); }));
  }
  return nodes;
}

double PerSecond(const SimulationResult& result) {
  return result.send_ms > 0 ? static_cast<double>(result.acknowledged) * 1000 / static_cast<double>(result.send_ms) : 0;
}

double Ms(const SimulationResult& result, double quantile) {
  return static_cast<double>(result.latency.Quantile(quantile)) / 1000;
}

std::string Text(const SimulationResult& result) {
  return absl::StrFormat(
      "agents          %d, %d connected within %.1f s, %d sessions\n"
      "records         %d appended, %d acknowledged; %d agents have some left\n"
      "rate            %.0f records/s\n"
      "acknowledgement p50 %.1f ms, p99 %.1f ms, max %.1f ms\n"
      "resends         %d\nthrottled       %d\nspool full      %d\n",
      result.agents, result.connected, static_cast<double>(result.connect_ms) / 1000, result.sessions, result.appended,
      result.acknowledged, result.undelivered, PerSecond(result), Ms(result, 0.5), Ms(result, 0.99), Ms(result, 1),
      result.resends, result.throttles, result.refused);
}

std::string Json(const SimulationResult& result) {
  return absl::StrFormat(
      R"({"agents":%d,"connected":%d,"connect_ms":%d,"sessions":%d,"appended":%d,"acknowledged":%d,"undelivered":%d,)"
      R"("records_per_second":%.1f,"ack_p50_ms":%.2f,"ack_p99_ms":%.2f,"ack_max_ms":%.2f,)"
      R"("resends":%d,"throttles":%d,"spool_full":%d})"
      "\n",
      result.agents, result.connected, result.connect_ms, result.sessions, result.appended, result.acknowledged,
      result.undelivered, PerSecond(result), Ms(result, 0.5), Ms(result, 0.99), Ms(result, 1), result.resends,
      result.throttles, result.refused);
}

int Fail(AgentEnv& env, const absl::Status& status) {
  env.err << "paritect-agent simulate: " << status.message() << "\n";
  const bool usage = absl::IsInvalidArgument(status) || absl::IsNotFound(status) || absl::IsResourceExhausted(status);
  return usage ? kAgentUsage : kAgentUnreachable;
}

int RunFleet(AgentEnv& env, const SimulateOptions& options, const std::string& folder) {
  PrepareGrpc(nullptr);
  const auto nodes = FindNodes(env, options, folder);
  if (!nodes.ok()) return Fail(env, nodes.status());
  if (options.output == "text") env.err << nodes->size() << " nodes have joined\n";
  const auto result = Simulate(*nodes, options.simulation, [&](const SimulationResult& now) {
    if (options.output != "text") return;
    env.err << now.acknowledged << " of " << now.appended << " records acknowledged, " << now.connected << " agents\n";
  });
  if (!result.ok()) return Fail(env, result.status());
  env.out << (options.output == "json" ? Json(*result) : Text(*result));
  if (result->undelivered == 0 && result->connected == result->agents) return kAgentOk;
  env.err << "paritect-agent simulate: not everything was acknowledged"
          << (result->trouble.empty() ? "" : absl::StrCat("; the last trouble: ", DisplayBytes(result->trouble)))
          << "\n";
  return kAgentFailed;
}

int Run(AgentEnv& env, absl::Span<const std::string> args) {
  SimulateOptions options;
  Arguments arguments("paritect-agent simulate", "a fleet of agents on one machine, to test a server");
  Declare(arguments, options);
  if (const auto code = ParseOrTell(arguments, "simulate", args, env)) return *code;
  if (auto complete = Complete(options); !complete.ok()) return Fail(env, complete);
  // What is named is kept: the nodes can be used again.
  const bool temporary = options.state.empty() && options.nodes_file.empty();
  if (!temporary) {
    if (options.name.empty()) options.name = "sim";
    return RunFleet(env, options, options.state.empty() ? options.nodes_file + ".d" : options.state);
  }
  std::string folder =
      absl::StrCat(getenv("TMPDIR") != nullptr ? getenv("TMPDIR") : "/tmp", "/paritect-simulate-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return Fail(env, absl::InvalidArgumentError("cannot make a temporary folder"));
  // A server knows the names of earlier calls, whose keys are gone.
  if (options.name.empty()) options.name = absl::StrCat("sim-", folder.substr(folder.size() - 6));
  const int code = RunFleet(env, options, folder);
  if (const absl::Status removed = RemoveFolder(folder); !removed.ok()) env.err << removed.message() << "\n";
  return code;
}

}  // namespace

extern const AgentCommand kAgentSimulateCommand;
const AgentCommand kAgentSimulateCommand = {"simulate", kUsage, "a fleet of agents on one machine, to test a server",
                                            &Run};

}  // namespace paritect
