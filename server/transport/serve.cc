#include "server/transport/serve.h"

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "server/transport/service_manager.h"
#include "server/transport/wiring.h"
#include "storage/postgresql/server_stores.h"

namespace paritect {
namespace {

constexpr std::int64_t kTickMs = 500;

// Waits for the signal that ends the server; all threads have it blocked.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    signal(SIGPIPE, SIG_IGN);
    // A file that grows beyond a limit shall be an error of the write, not the end of the process.
    signal(SIGXFSZ, SIG_IGN);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // True: the end was asked for.
  bool WaitMs(std::int64_t ms) const {
    const timespec wait = {static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000 * 1'000'000)};
    return sigtimedwait(&set_, nullptr, &wait) > 0;
  }

 private:
  sigset_t set_;
  sigset_t before_;
};

// The port is looked at where it is listened on.
bool OnLoopback(const std::string& listen) {
  const auto address = ParseHostPort(listen);
  return address.ok() && IsLoopback(address->host);
}

// In the journal, outside the database: what was there cannot be cut off unseen.
void TellStore(FleetStore& store, ServerLog& log) {
  const auto stats = store.Stats();
  if (!stats.ok()) return log.Write(LogLevel::kError, stats.status().message());
  for (const std::string& problem : stats->problems) log.Write(LogLevel::kError, "data lost", {{"why", problem}});
  if (stats->log_head.number() == 0) return;
  log.Write(LogLevel::kInfo,
            absl::StrCat("log of calls: ", stats->log_head.number(), ":", ToHex(stats->log_head.hash())));
}

void TellPorts(const Server& server, const ServeOptions& options, ServerLog& log) {
  const auto listen = ParseHostPort(options.listen);
  log.Write(LogLevel::kInfo, absl::StrCat("listening on ", FormatHostPort({listen->host, server.port()})));
  if (server.web_port() != 0) log.Write(LogLevel::kInfo, absl::StrCat("page and metrics on port ", server.web_port()));
}

}  // namespace

absl::Status Serve(ServerEnv& env, const ServeOptions& options) {
  if (options.insecure_loopback && !OnLoopback(options.listen)) {
    return absl::InvalidArgumentError("--insecure-loopback goes with --listen on the loopback alone (127.0.0.1:PORT)");
  }
  ServerLog log(env.err, options.log_form, env.clock);
  const std::int64_t now_s = env.clock() / 1000;
  PARITECT_ASSIGN_OR_RETURN(const bool renewed, RenewServerCertificate(options.folder, now_s));
  if (renewed) log.Write(LogLevel::kInfo, "renewed the server's certificate");
  PARITECT_ASSIGN_OR_RETURN(ServerFolder folder, LoadServerFolder(options.folder, now_s));
  for (const std::string& warning : folder.warnings) log.Write(LogLevel::kWarning, warning);
  if (!folder.enroller) {
    log.Write(LogLevel::kWarning, absl::StrCat("no ca.key in ", options.folder,
                                               ": tokens, joining and renewal are refused; certificates must "
                                               "come from the authority itself"));
  }
  const std::string uri =
      options.store.empty() ? absl::StrCat("sqlite:", options.folder, "/paritect.db") : options.store;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<FleetStore> store, OpenServerStore(uri, {.marked = true}));
  const Signals signals;
  TellStore(*store, log);
  const ServiceManager manager = ServiceManager::FromEnvironment();
  Server server(env, options, std::move(folder), std::move(store), log);
  PARITECT_RETURN_IF_ERROR(server.Start());
  TellPorts(server, options, log);
  manager.Ready();
  while (!signals.WaitMs(kTickMs)) {
    server.Tick();
    manager.Alive();
  }
  log.Write(LogLevel::kInfo, "stopping");
  manager.Stopping();
  server.Stop();
  return absl::OkStatus();
}

}  // namespace paritect
