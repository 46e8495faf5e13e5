#include "server/transport/serve.h"

#include <signal.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "server/transport/wiring.h"

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

}  // namespace

absl::Status Serve(ServerEnv& env, const ServeOptions& options, std::function<void(int port, int web_port)> ready) {
  if (options.insecure_loopback && !OnLoopback(options.listen)) {
    return absl::InvalidArgumentError("--insecure-loopback goes with --listen on the loopback alone (127.0.0.1:PORT)");
  }
  const std::int64_t now_s = env.clock() / 1000;
  PARITECT_ASSIGN_OR_RETURN(const bool renewed, RenewServerCertificate(options.folder, now_s));
  if (renewed) env.err << "paritect-server: renewed the server's certificate\n";
  PARITECT_ASSIGN_OR_RETURN(ServerFolder folder, LoadServerFolder(options.folder, now_s));
  for (const std::string& warning : folder.warnings) env.err << "paritect-server: warning: " << warning << "\n";
  if (!folder.enroller) {
    env.err << "paritect-server: warning: no ca.key in " << options.folder
            << ": tokens, joining and renewal are refused; certificates must come from the authority itself\n";
  }
  const std::string uri =
      options.store.empty() ? absl::StrCat("sqlite:", options.folder, "/paritect.db") : options.store;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<FleetStore> store, OpenFleetStore(uri));
  const Signals signals;
  if (const auto stats = store->Stats(); stats.ok() && stats->log_head.number() > 0) {
    // In the journal, outside the database: what was there cannot be cut off unseen.
    env.err << "paritect-server: log of calls: " << stats->log_head.number() << ":" << ToHex(stats->log_head.hash())
            << "\n";
  }
  Server server(env, options, std::move(folder), std::move(store));
  PARITECT_RETURN_IF_ERROR(server.Start());
  ready(server.port(), server.web_port());
  while (!signals.WaitMs(kTickMs)) server.Tick();
  env.err << "paritect-server: stopping\n";
  server.Stop();
  return absl::OkStatus();
}

}  // namespace paritect
