// paritect-server run DIR: the service, in the foreground.
#include "absl/strings/str_cat.h"
#include "common/arguments.h"
#include "common/duration.h"
#include "common/host_port.h"
#include "common/pki/authority.h"
#include "server/server_command.h"
#include "server/transport/serve.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "run";
constexpr absl::string_view kSummary = "serve, until SIGTERM";

// "" keeps `slot`.
absl::Status TakeSeconds(const std::string& text, std::int64_t factor, std::int64_t& slot) {
  if (text.empty()) return absl::OkStatus();
  auto seconds = ParseDuration(text);
  if (seconds.ok()) slot = *seconds * factor;
  return seconds.status();
}

int Run(ServerEnv& env, const std::vector<std::string>& args) {
  ServeOptions options;
  std::string silent_after;
  std::string timeout;
  std::string lifetime;
  std::string retain;
  std::vector<std::string> webhook_allow;
  std::string log_format = "text";
  int connections = 0;
  int per_address = 0;
  Arguments arguments("paritect-server run", kSummary);
  arguments.Text("DIR", options.folder, "the folder that `init` made", true);
  arguments.Text("--listen", options.listen, "HOST:PORT for agents and clients (default: 0.0.0.0:7400; port 0: any)");
  arguments.Text("--web", options.web,
                 "HOST:PORT: the page over TLS; in plain HTTP /metrics and /healthz (default: none)");
  arguments.Text("--store", options.store, "sqlite:FILE or postgresql://USER@HOST/DATABASE (default: DIR/paritect.db)");
  arguments.Text("--silent-after", silent_after, "a node without connection for so long is silent (default: 60s)");
  arguments.Text("--audit-timeout", timeout, "an audit waits no longer for its nodes (default: 6h)");
  arguments.Text("--agent-lifetime", lifetime, "lifetime of agents' certificates (default: 1d)");
  arguments.Text("--retain", retain, "drop runs, bundles and batches that are older, e.g. 90d (default: keep all)");
  arguments.Text("--log-format", log_format, "of the lines on standard error: text (default) or json");
  arguments.Int("--connections", connections, "connections in total (default: 15000)");
  arguments.Int("--connections-per-address", per_address, "connections of one address (default: 4096)");
  arguments.Texts("--webhook-allow", webhook_allow,
                  "ADDRESS[/BITS] that webhooks may have though it is private; may be repeated (default: public ones)");
  arguments.Flag("--insecure-loopback", options.insecure_loopback, "no TLS; for tests on 127.0.0.1 alone");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, kName, parsed.status().message(), kServerUsage);
  if (!*parsed) {
    env.out << arguments.help();
    return kServerOk;
  }
  for (const absl::Status& status :
       {TakeSeconds(silent_after, 1000, options.audits.silent_after_ms),
        TakeSeconds(timeout, 1000, options.audits.timeout_ms), TakeSeconds(lifetime, 1, options.lifetime_s),
        TakeSeconds(retain, 1, options.retain_s)}) {
    if (!status.ok()) return ServerError(env, kName, status.message(), kServerUsage);
  }
  if (log_format != "text" && log_format != "json") {
    return ServerError(env, kName, absl::StrCat("--log-format ", log_format, ": there are text and json"),
                       kServerUsage);
  }
  if (log_format == "json") options.log_form = ServerLog::Form::kJson;
  if (connections < 0 || per_address < 0) {
    return ServerError(env, kName, "a number of connections cannot be negative (0: the default)", kServerUsage);
  }
  if (connections > 0) options.listener.limits.connections_max = connections;
  if (per_address > 0) options.listener.limits.connections_per_address_max = per_address;
  if (!lifetime.empty() &&
      (options.lifetime_s < kLifetimeSecondsMin || options.lifetime_s > kAuthorityLifetimeSeconds)) {
    return ServerError(env, kName,
                       absl::StrCat("--agent-lifetime ", lifetime, ": from ", FormatDuration(kLifetimeSecondsMin),
                                    " to ", FormatDuration(kAuthorityLifetimeSeconds)),
                       kServerUsage);
  }
  auto targets = TargetRules::Parse(webhook_allow);
  if (!targets.ok()) {
    return ServerError(env, kName, absl::StrCat("--webhook-allow: ", targets.status().message()), kServerUsage);
  }
  options.webhook_targets = *std::move(targets);
  const absl::Status status = Serve(env, options);
  return status.ok() ? kServerOk : ServerError(env, kName, status.message(), kServerUsage);
}

}  // namespace

extern const ServerCommand kServerRunCommand;
const ServerCommand kServerRunCommand = {kName, kSummary, &Run};

}  // namespace paritect
