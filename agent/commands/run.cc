// paritect-agent run: the per-node daemon, in the foreground; systemd or whoever starts it keeps it running.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "agent/agent_command.h"
#include "agent/daemon/daemon.h"
#include "common/arguments.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace paritect {
namespace {

constexpr absl::string_view kUsage = "[--state DIR] [--config FILE] [--verbose]";

struct RunOptions {
  std::string state;
  std::string config;
  bool verbose = false;
};

AgentLog* verbose_log = nullptr;  // of the one daemon that a process runs; gRPC's log function takes no context

absl::StatusOr<DaemonOptions> Load(AgentEnv& env, const RunOptions& options) {
  DaemonOptions loaded;
  PARITECT_ASSIGN_OR_RETURN(loaded.state, FindAgentState(options.state));
  loaded.config_path = options.config.empty() ? loaded.state.config() : options.config;
  auto config = LoadAgentConfig(loaded.config_path);
  // Without a file that nobody named, the defaults hold.
  if (config.ok()) {
    loaded.config = *std::move(config);
  } else if (!absl::IsNotFound(config.status()) || !options.config.empty()) {
    return absl::InvalidArgumentError(config.status().message());
  }
  auto credential = LoadCredential(loaded.state.credential(), env.now_unix_ms / 1000);
  if (absl::IsNotFound(credential.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat("this machine has not joined a server (no ", loaded.state.credential(), "): paritect-agent join"));
  }
  if (!credential.ok()) return credential.status();
  if (credential->credential.identity.role != Role::kAgent) {
    return absl::InvalidArgumentError(absl::StrCat(loaded.state.credential(), " is that of ",
                                                   DescribeIdentity(credential->credential.identity),
                                                   ", not of an agent: paritect-agent join"));
  }
  loaded.credential = *std::move(credential);
  loaded.live = env.live;
  loaded.program = absl::StrCat("paritect-agent ", kProgramVersion);
  return loaded;
}

// The old one is kept for whoever wants to look.
absl::Status SetSpoolAside(const AgentState& state, AgentLog& log) {
  const std::string aside = absl::StrCat(state.spool(), ".behind-", absl::ToUnixSeconds(absl::Now()));
  if (rename(state.spool().c_str(), aside.c_str()) != 0) {
    return absl::InternalError(absl::StrCat("cannot set the spool aside as ", aside));
  }
  log.Error(absl::StrCat("the spool was put back to an earlier state; it is kept as ", aside, ", a new one begins"));
  return absl::OkStatus();
}

int Fail(AgentLog& log, const absl::Status& status) {
  log.Error(status.message());
  const bool refused = absl::IsFailedPrecondition(status) || absl::IsUnauthenticated(status);
  return absl::IsInvalidArgument(status) ? kAgentUsage : refused ? kAgentUnreachable : kAgentInternal;
}

int RunDaemon(AgentEnv& env, const RunOptions& options, AgentLog& log, WakeLoop& loop) {
  for (;;) {
    auto loaded = Load(env, options);
    if (!loaded.ok()) return Fail(log, loaded.status());
    const AgentState state = loaded->state;
    // Before the first thread: those that it starts inherit the priorities.
    for (const std::string& refused : BecomeHarmless(loaded->config.nice)) log.Warning(refused);
    auto daemon = AgentDaemon::Make(*std::move(loaded), loop, env.rules, log);
    if (!daemon.ok()) {
      log.Error(absl::StrCat("the spool cannot be used: ", daemon.status().message()));
      return kAgentUsage;
    }
    switch ((*daemon)->Run()) {
      case AgentDaemon::End::kStopped: return kAgentOk;
      case AgentDaemon::End::kStuck: _exit(kAgentOk);  // its thread cannot be joined
      case AgentDaemon::End::kNewSpool: break;
    }
    daemon->reset();
    if (auto aside = SetSpoolAside(state, log); !aside.ok()) return Fail(log, aside);
  }
}

int Run(AgentEnv& env, absl::Span<const std::string> args) {
  RunOptions options;
  Arguments arguments("paritect-agent run", "run as this node's daemon, in the foreground");
  arguments.Text("--state", options.state, "folder of credential, configuration and spool");
  arguments.Text("--config", options.config, "another configuration file; default: STATE/agent.yaml");
  arguments.Flag("--verbose", options.verbose, "log the network library's own lines too");
  if (const auto code = ParseOrTell(arguments, "run", args, env)) return *code;
  // Arenas are kept per thread and never given back; two are enough for a program that should be small.
  mallopt(M_ARENA_MAX, 2);
  AgentLog log(env.err, options.verbose);
  signal(SIGPIPE, SIG_IGN);
  const auto loop = WakeLoop::Create({SIGTERM, SIGINT, SIGHUP});
  if (!loop.ok()) return Fail(log, loop.status());
  verbose_log = &log;
  PrepareGrpc(options.verbose ? +[](absl::string_view line) { verbose_log->Detail(line); } : nullptr);
  return RunDaemon(env, options, log, **loop);
}

}  // namespace

extern const AgentCommand kAgentRunCommand;
const AgentCommand kAgentRunCommand = {"run", kUsage, "run as this node's daemon", &Run};

}  // namespace paritect
