// paritect-agent join: makes this machine a node of a server.
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/agent_command.h"
#include "agent/daemon/agent_config.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/enrol.h"
#include "agent/uplink/grpc_transport.h"
#include "common/arguments.h"
#include "common/credential.h"
#include "common/kept_owner.h"
#include "common/pki/secret_file.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr absl::string_view kUsage =
    "HOST:PORT (--token T | --token-file FILE|-) --ca-pin sha256:... [--node NAME] [--state DIR]";
constexpr std::uint64_t kTokenFileBytesMax = 4096;

struct JoinOptions {
  JoinQuery query;
  std::string token_file;
  std::string state;
};

absl::StatusOr<std::string> ReadToken(AgentEnv& env, const std::string& file) {
  std::string token;
  if (file == "-") {
    std::getline(std::cin, token);
  } else {
    PARITECT_ASSIGN_OR_RETURN(token, ReadWholeFile(env.fs, file, kTokenFileBytesMax));
  }
  return std::string(absl::StripAsciiWhitespace(token));
}

absl::Status Complete(AgentEnv& env, JoinOptions& options) {
  if (options.query.token.empty() == options.token_file.empty()) {
    return absl::InvalidArgumentError("--token T or --token-file FILE is needed (`paritect token create` makes one)");
  }
  if (options.query.ca_pin.empty()) {
    return absl::InvalidArgumentError("--ca-pin sha256:... is needed (`paritect-server init` printed it)");
  }
  if (!options.token_file.empty()) {
    PARITECT_ASSIGN_OR_RETURN(options.query.token, ReadToken(env, options.token_file));
  }
  return CheckJoinQuery(options.query);
}

absl::Status Keep(const AgentState& state, const Credential& credential) {
  PARITECT_RETURN_IF_ERROR(SaveCredential(state.credential(), credential));
  if (PosixFileSystem().LStat(state.config()).ok()) return absl::OkStatus();  // a node that joins again keeps its own
  return WriteFileDurably(state.config(), AgentConfigTemplate(), kPublicMode);
}

int Fail(AgentEnv& env, const absl::Status& status, int code) {
  env.err << "paritect-agent join: " << status.message() << "\n";
  return code;
}

int Run(AgentEnv& env, absl::Span<const std::string> args) {
  JoinOptions options;
  options.query.node = env.host_name;
  options.query.now = env.now_unix_ms / 1000;
  options.query.waiting = [&env](const std::string& text) { env.err << "paritect-agent join: " << text << std::endl; };
  Arguments arguments("paritect-agent join", "make this machine a node of a server");
  arguments.Text("server", options.query.server, "HOST:PORT", true);
  arguments.Text("--token", options.query.token, "join token");
  arguments.Text("--token-file", options.token_file,
                 "file that holds it, so that no list of processes shows it; -: stdin");
  arguments.Text("--ca-pin", options.query.ca_pin, "sha256:..., of the server's authority");
  arguments.Text("--node", options.query.node, "this node's name; default: the host's");
  arguments.Text("--state", options.state, "folder for credential, configuration and spool");
  if (const auto code = ParseOrTell(arguments, "join", args, env)) return *code;
  if (auto complete = Complete(env, options); !complete.ok()) return Fail(env, complete, kAgentUsage);
  const auto state = FindAgentState(options.state);
  if (!state.ok()) return Fail(env, state.status(), kAgentUsage);
  // Before the token is spent.
  if (auto made = MakeStateFolder(*state); !made.ok()) return Fail(env, made, kAgentUsage);
  PrepareGrpc(nullptr);
  const auto credential = JoinServer(options.query);
  if (!credential.ok()) return Fail(env, credential.status(), kAgentUnreachable);
  if (credential->identity.role != Role::kAgent) {
    return Fail(
        env,
        absl::InvalidArgumentError(absl::StrCat("this token is for a ", RoleName(credential->identity.role),
                                                ", not for a node; it is spent now: make one with --role agent")),
        kAgentUsage);
  }
  const bool again = PosixFileSystem().LStat(state->credential()).ok();
  const auto before = LoadCredential(state->credential(), options.query.now);
  const bool renamed = before.ok() && !(before->credential.identity == credential->identity);
  const KeptOwner owner(state->folder);
  if (auto kept = Keep(*state, *credential); !kept.ok()) return Fail(env, kept, kAgentInternal);
  env.out << "joined " << options.query.server << " as node " << credential->identity.name << "\n";
  if (again) {
    env.out << (renamed ? absl::StrCat("this machine was node ", before->credential.identity.name,
                                       ": start an agent that runs anew, and `paritect node revoke ",
                                       before->credential.identity.name, " --forget` there\n")
                        : "an agent that runs already takes the new credential within a minute, at SIGHUP at once\n");
    return kAgentOk;
  }
  env.out << "next: name the folders that may be read in " << state->config() << ", then start paritect-agent run"
          << (options.state.empty() ? "" : absl::StrCat(" --state ", options.state)) << "\n";
  return kAgentOk;
}

}  // namespace

extern const AgentCommand kAgentJoinCommand;
const AgentCommand kAgentJoinCommand = {"join", kUsage, "make this machine a node of a server", &Run};

}  // namespace paritect
