// paritect fleet install | status | uninstall: the agent on many hosts, through the user's own ssh.
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/fleet/fleet_view.h"
#include "client/fleet/host_list.h"
#include "client/fleet/host_shell.h"
#include "client/fleet/printed_commands.h"
#include "client/fleet/rollout.h"
#include "client/localise.h"
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/duration.h"
#include "common/host_port.h"
#include "common/pki/join_token.h"
#include "common/pki/pin.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect fleet";
constexpr absl::string_view kInstall = "paritect fleet install";
constexpr absl::string_view kStatus = "paritect fleet status";
constexpr absl::string_view kUninstall = "paritect fleet uninstall";
constexpr absl::string_view kSummary = "bring the agent to many hosts by ssh, look after it, take it away";
constexpr std::uint64_t kHostFileBytesMax = 16 << 20;
constexpr std::uint64_t kTokenFileBytesMax = 4096;
constexpr int kJobsMax = 256;
constexpr std::int64_t kTokenLifetime_s = 3600;

// A token that this call made; what is left of it ends with the call.
struct MadeToken {
  std::string id;
  std::size_t uses = 0;
};

struct FleetOptions {
  RemoteArguments remote;
  std::vector<std::string> words;
  std::string host_file;
  std::string output = "table";
  std::string host_timeout = "10m";
  SshOptions ssh;
  RolloutOptions rollout;
  std::vector<std::string> bundles;
  std::string token_file;
  std::string print;
  bool purge = false;
  bool revoke = false;

  std::vector<std::string> hosts;
};

volatile std::sig_atomic_t interrupted = 0;
void Interrupt(int) {
  interrupted = 1;
}

void DeclareHosts(Arguments& arguments, FleetOptions& o) {
  arguments.Texts("host", o.words, "hosts as ssh knows them: npu-[001-064] root@gpu-1");
  arguments.Text("--hosts", o.host_file, "a file of them, - for standard input");
  arguments.Text(
      "--prefix", o.rollout.place.prefix,
      "folder for the agent there, without root; relative: in the user's home (default: /usr/local, as root)");
  arguments.Text("--state", o.rollout.place.state, "folder for credential, configuration and spool there");
  arguments.Flag("--sudo", o.ssh.sudo, "become root there with sudo, which must ask for no password");
  arguments.Texts("--ssh-option", o.ssh.options, "handed to ssh as -o OPTION");
  arguments.Int("--jobs", o.rollout.jobs, "hosts at the same time (default: 16)");
  arguments.Text("--host-timeout", o.host_timeout, "how long a step on a host may take (default: 10m)");
  arguments.Text("-o,--output", o.output, "table or json");
  DeclareRemoteArguments(arguments, o.remote);
}

absl::StatusOr<std::string> FindSsh(CommandEnv& env) {
  for (absl::string_view folder : absl::StrSplit(env.getenv("PATH"), ':', absl::SkipEmpty())) {
    const std::string path = JoinPath(folder, "ssh");
    if (absl::StartsWith(path, "/") && access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::NotFoundError("no ssh on this machine; --print gives commands for other tools");
}

// What can be seen to be wrong without asking any host.
absl::Status Complete(CommandEnv& env, FleetOptions& o) {
  if (!o.host_file.empty()) {
    std::string text;
    if (o.host_file == "-") {
      text.assign(std::istreambuf_iterator<char>(std::cin), {});
    } else {
      PARITECT_ASSIGN_OR_RETURN(text, ReadWholeFile(env.fs, o.host_file, kHostFileBytesMax));
    }
    for (std::string& word : WordsOfHostFile(text)) o.words.push_back(std::move(word));
  }
  PARITECT_ASSIGN_OR_RETURN(o.hosts, ExpandHosts(o.words));
  if (o.rollout.jobs < 1 || o.rollout.jobs > kJobsMax) {
    return absl::InvalidArgumentError(absl::StrCat("--jobs must be 1 to ", kJobsMax));
  }
  auto seconds = ParseDuration(o.host_timeout);
  if (!seconds.ok()) return absl::InvalidArgumentError(absl::StrCat("--host-timeout: ", seconds.status().message()));
  o.ssh.time_max = absl::Seconds(*seconds);
  for (const std::string& word : {o.rollout.place.prefix, o.rollout.place.state, o.rollout.join.roots}) {
    PARITECT_RETURN_IF_ERROR(CheckShellWord(word));
  }
  for (absl::string_view root : absl::StrSplit(o.rollout.join.roots, ':', absl::SkipEmpty())) {
    if (!absl::StartsWith(root, "/")) return absl::InvalidArgumentError("--roots: absolute folders, A:B");
  }
  if (o.ssh.sudo && !o.rollout.place.prefix.empty() && !absl::StartsWith(o.rollout.place.prefix, "/")) {
    return absl::InvalidArgumentError("--sudo and a --prefix in the user's home exclude each other");
  }
  o.rollout.interrupted = [] { return interrupted != 0; };
  return absl::OkStatus();
}

absl::Status TakeBundles(CommandEnv& env, FleetOptions& o) {
  std::vector<std::string> places;
  for (const std::string& place : o.bundles) places.push_back(JoinPath(env.working_directory, place));
  if (places.empty()) {
    for (const std::string& place : {env.working_directory, JoinPath(env.working_directory, "build/packages")}) {
      if (PosixFileSystem().Stat(place).ok()) places.push_back(place);
    }
  }
  PARITECT_ASSIGN_OR_RETURN(o.rollout.bundles, FindBundles(places));
  if (!o.rollout.bundles.empty()) return absl::OkStatus();
  return absl::NotFoundError(
      "no bundle here: --bundle names paritect-VERSION-linux-MACHINE.tar.gz (deploy/package makes it)");
}

// Server and pin of the credential, where they are not given.
absl::Status TakeServer(const Connection* connection, FleetJoin& join) {
  if (connection != nullptr) {
    if (join.server.empty()) join.server = connection->credential.credential.servers[0];
    if (join.ca_pin.empty()) {
      PARITECT_ASSIGN_OR_RETURN(const Certificate authority,
                                Certificate::FromPem(connection->credential.credential.authority_pem));
      join.ca_pin = CaPin::Of(authority).ToString();
    }
  }
  if (join.server.empty() || join.ca_pin.empty()) {
    return absl::InvalidArgumentError("which server? --credential FILE, or --server, --ca-pin and --token-file");
  }
  PARITECT_RETURN_IF_ERROR(ParseHostPort(join.server).status());
  PARITECT_RETURN_IF_ERROR(CheckShellWord(join.server));
  return CaPin::Parse(join.ca_pin).status();
}

absl::StatusOr<std::string> ReadToken(CommandEnv& env, const std::string& file) {
  std::string token;
  if (file == "-") {
    std::getline(std::cin, token);
  } else {
    PARITECT_ASSIGN_OR_RETURN(token, ReadWholeFile(env.fs, file, kTokenFileBytesMax));
  }
  token = std::string(absl::StripAsciiWhitespace(token));
  PARITECT_RETURN_IF_ERROR(TokenDigest(token).status());
  return token;
}

// One token for all that will join, bound to their names.
absl::StatusOr<std::string> MakeToken(RemoteServer& server, const std::vector<std::string>& names, MadeToken& made) {
  v1::CreateTokenRequest request;
  request.set_role(v1::ACCESS_ROLE_AGENT);
  request.set_ttl_seconds(kTokenLifetime_s);
  request.set_uses(static_cast<int>(names.size()));
  request.set_node(PatternOfNames(names));
  PARITECT_ASSIGN_OR_RETURN(const v1::CreateTokenResponse response, server.CreateToken(request));
  made = {response.id(), names.size()};
  return response.token();
}

ExitCode CodeOf(const std::vector<FleetHost>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [](const FleetHost& host) { return host.error.empty(); })
             ? kExitOk
             : kExitFailed;
}

void PrintResult(CommandEnv& env, const FleetOptions& o, const std::vector<FleetHost>& hosts) {
  if (o.output == "json") {
    env.out << DumpJson(FleetJson(hosts, {})) << "\n";
    return;
  }
  PrintFates(env, hosts, o.rollout.dry_run);
  if (CodeOf(hosts) != kExitOk && !o.rollout.dry_run) {
    env.err << Localised(env.language, "the same command again does what is left: what is done stays done") << "\n";
  }
}

// Progress on standard error: with many hosts nobody should wonder.
void TellEach(CommandEnv& env, FleetOptions& o) {
  if (o.rollout.dry_run) return;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, &Interrupt);
  o.rollout.tell = [&env, done = std::size_t{0}, count = o.hosts.size()](const FleetHost& host) mutable {
    TellProgress(env, host, ++done, count);
  };
}

ExitCode InstallOn(CommandEnv& env, FleetOptions& o, Connection* connection) {
  if (absl::Status status = TakeServer(connection, o.rollout.join); !status.ok()) {
    return UsageError(env, kInstall, status.message());
  }
  if (!o.print.empty()) {
    const auto text = PrintedCommands(o.print, o.hosts, o.rollout, o.rollout.place.prefix.empty());
    if (!text.ok()) return UsageError(env, kInstall, text.status().message());
    env.out << *text;
    return kExitOk;
  }
  auto ssh = FindSsh(env);
  if (!ssh.ok()) return UsageError(env, kInstall, ssh.status().message());
  o.ssh.program = *ssh;
  SshShell shell(o.ssh);
  MadeToken made;
  o.rollout.join.token = [&](const std::vector<std::string>& names) -> absl::StatusOr<std::string> {
    if (!o.token_file.empty()) return ReadToken(env, o.token_file);
    return MakeToken(*connection->server, names, made);
  };
  TellEach(env, o);
  auto hosts = InstallOnHosts(shell, LookAtHosts(shell, o.hosts, o.rollout), o.rollout);
  if (!hosts.ok()) return ServerError(env, kInstall, hosts.status());
  const auto joined = std::count_if(hosts->begin(), hosts->end(), [](const FleetHost& host) {
    return std::find(host.did.begin(), host.did.end(), "join") != host.did.end();
  });
  if (!made.id.empty() && static_cast<std::size_t>(joined) < made.uses) {
    v1::RevokeTokenRequest request;
    request.set_id(made.id);
    (void)connection->server->RevokeToken(request);  // it ends within the hour anyway
  }
  PrintResult(env, o, *hosts);
  return CodeOf(*hosts);
}

ExitCode Install(CommandEnv& env, const std::vector<std::string>& args) {
  FleetOptions o;
  Arguments arguments(kInstall, "install the agent on hosts, make them nodes of the server and start it");
  DeclareHosts(arguments, o);
  arguments.Texts("--bundle", o.bundles,
                  "portable tar file, or a folder of them (default: here and in build/packages)");
  arguments.Text("--server", o.rollout.join.server, "HOST:PORT that the nodes join (default: the credential's)");
  arguments.Text("--ca-pin", o.rollout.join.ca_pin, "sha256:... of its authority (default: the credential's)");
  arguments.Text("--token-file", o.token_file,
                 "a file with a join token, - for standard input (default: one is made for the hosts' names)");
  arguments.Text("--roots", o.rollout.join.roots, "folders that the agents may read: /data:/var/log/training");
  arguments.Flag("--as-written", o.rollout.name_as_written,
                 "nodes are called as written here, not as hosts call themselves");
  arguments.Flag("--dry-run", o.rollout.dry_run, "look at the hosts and say what would be done");
  arguments.Text("--print", o.print, "ask no host; print the same for ansible or pdsh");
  if (auto code = ParseOrAnswer(env, kInstall, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kInstall, o.output)) return *code;
  absl::Status status = Complete(env, o);
  if (status.ok()) status = TakeBundles(env, o);
  if (!status.ok()) return UsageError(env, kInstall, status.message());
  const FleetJoin& join = o.rollout.join;
  const bool without_server =
      !join.server.empty() && !join.ca_pin.empty() && (!o.token_file.empty() || !o.print.empty());
  if (without_server) return InstallOn(env, o, nullptr);
  return WithServer(env, kInstall, o.remote, [&](Connection& connection) { return InstallOn(env, o, &connection); });
}

// States of the nodes at the server; empty where no credential says which.
absl::StatusOr<std::map<std::string, std::string>> StatesAtServer(CommandEnv& env, const FleetOptions& o) {
  std::map<std::string, std::string> states;
  const bool asked = !o.remote.credential.empty() || !o.remote.context.empty();
  auto connection = OpenConnection(env, o.remote);
  if (!connection.ok() && !asked) return states;
  PARITECT_RETURN_IF_ERROR(connection.status());
  PARITECT_ASSIGN_OR_RETURN(const v1::ListNodesResponse response, connection->server->ListNodes({}));
  for (const v1::NodeRow& row : response.nodes()) {
    if (row.node().role() == v1::ACCESS_ROLE_AGENT) states[row.node().name()] = row.state();
  }
  return states;
}

ExitCode Status(CommandEnv& env, const std::vector<std::string>& args) {
  FleetOptions o;
  Arguments arguments(kStatus, "what runs on the hosts, and whether the server hears of it");
  DeclareHosts(arguments, o);
  if (auto code = ParseOrAnswer(env, kStatus, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kStatus, o.output)) return *code;
  if (absl::Status status = Complete(env, o); !status.ok()) return UsageError(env, kStatus, status.message());
  auto ssh = FindSsh(env);
  if (!ssh.ok()) return UsageError(env, kStatus, ssh.status().message());
  o.ssh.program = *ssh;
  SshShell shell(o.ssh);
  const std::vector<FleetHost> hosts = LookAtHosts(shell, o.hosts, o.rollout);
  const auto states = StatesAtServer(env, o);
  if (!states.ok()) ServerError(env, kStatus, states.status());
  const std::map<std::string, std::string> known = states.value_or(std::map<std::string, std::string>());
  if (o.output == "json") {
    env.out << DumpJson(FleetJson(hosts, known)) << "\n";
  } else {
    PrintStatus(env, hosts, known);
  }
  if (!states.ok()) return kExitServer;
  const bool all = std::all_of(hosts.begin(), hosts.end(), [](const FleetHost& host) { return host.running; });
  return all ? kExitOk : kExitFailed;
}

// The certificates of what was purged serve nobody any more.
ExitCode RevokeNodes(CommandEnv& env, Connection& connection, const std::vector<FleetHost>& before,
                     const std::vector<FleetHost>& after) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!after[i].error.empty() || before[i].node.empty()) continue;
    v1::RevokeNodeRequest request;
    request.set_name(before[i].node);
    request.set_reason("paritect fleet uninstall");
    request.set_forget(true);
    if (auto response = connection.server->RevokeNode(request); !response.ok()) {
      return ServerError(env, kUninstall, response.status());
    }
  }
  return kExitOk;
}

ExitCode UninstallFrom(CommandEnv& env, FleetOptions& o, Connection* connection) {
  auto ssh = FindSsh(env);
  if (!ssh.ok()) return UsageError(env, kUninstall, ssh.status().message());
  o.ssh.program = *ssh;
  SshShell shell(o.ssh);
  TellEach(env, o);
  const std::vector<FleetHost> before = LookAtHosts(shell, o.hosts, o.rollout);
  const std::vector<FleetHost> after = UninstallFromHosts(shell, before, o.purge, o.rollout);
  PrintResult(env, o, after);
  if (connection != nullptr && !o.rollout.dry_run) {
    if (const ExitCode code = RevokeNodes(env, *connection, before, after); code != kExitOk) return code;
  }
  return CodeOf(after);
}

ExitCode Uninstall(CommandEnv& env, const std::vector<std::string>& args) {
  FleetOptions o;
  Arguments arguments(kUninstall, "take the agent away from hosts");
  DeclareHosts(arguments, o);
  arguments.Flag("--purge", o.purge, "also its credential, configuration, spool and user");
  arguments.Flag("--revoke", o.revoke, "with --purge: the server refuses and forgets the nodes");
  arguments.Flag("--dry-run", o.rollout.dry_run, "look at the hosts and say what would be done");
  if (auto code = ParseOrAnswer(env, kUninstall, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kUninstall, o.output)) return *code;
  absl::Status status = Complete(env, o);
  if (status.ok() && o.revoke && !o.purge) status = absl::InvalidArgumentError("--revoke goes with --purge");
  if (!status.ok()) return UsageError(env, kUninstall, status.message());
  if (!o.revoke) return UninstallFrom(env, o, nullptr);
  return WithServer(env, kUninstall, o.remote,
                    [&](Connection& connection) { return UninstallFrom(env, o, &connection); });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  static constexpr Verb kVerbs[] = {{"install", "install, join and start the agent on hosts", &Install},
                                    {"status", "what runs on the hosts, and whether the server hears of it", &Status},
                                    {"uninstall", "take the agent away from hosts", &Uninstall}};
  return RunVerb(env, kName, kSummary, kVerbs, args);
}

}  // namespace

extern const Command kFleetCommand;
const Command kFleetCommand = {"fleet", kSummary, &Run};

}  // namespace paritect
