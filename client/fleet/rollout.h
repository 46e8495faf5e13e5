// Brings an agent to many hosts and takes it away again. Nothing is remembered here: each call looks at the hosts and
// does what is not done yet, so that a call that was broken off, or failed on some, is simply made again.
#ifndef PARITECT_CLIENT_FLEET_ROLLOUT_H_
#define PARITECT_CLIENT_FLEET_ROLLOUT_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/fleet/host_shell.h"

namespace paritect {

// What was found on a host, and what was done there.
struct FleetHost {
  std::string host;       // as the user named it
  std::string name;       // its own
  std::string machine;    // of uname, "aarch64"
  std::string version;    // of the agent; "": none is installed
  std::string joined;     // "HOST:PORT" of its server; "": to none
  std::string node;       // under which name
  bool root = false;      // commands run as root there
  bool packaged = false;  // a package of the distribution brought the agent
  bool running = false;

  std::vector<std::string> did;  // "install", "join", "start", …; of a dry run: what would be done
  std::string error;             // why not more was done; "": all of it was
};

// Where the agent goes on a host; "" for the default.
struct FleetPlace {
  std::string prefix;
  std::string state;
};

struct FleetBundle {
  std::string version;
  std::string file;
};

struct FleetJoin {
  std::string server;
  std::string ca_pin;
  std::string roots;  // "A:B"
  // Makes (or reads) the token, once it is known which nodes will join; called at most once, never when none will.
  std::function<absl::StatusOr<std::string>(const std::vector<std::string>& names)> token;
};

struct RolloutOptions {
  FleetPlace place;
  std::map<std::string, FleetBundle> bundles;  // by machine
  FleetJoin join;
  bool name_as_written = false;  // nodes join as the user named the host, not as it names itself
  bool dry_run = false;
  int jobs = 16;
  std::function<bool()> interrupted;           // no further host is begun
  std::function<void(const FleetHost&)> tell;  // each host as it is done, on the calling thread
};

// "paritect-VERSION-linux-MACHINE.tar.gz" by machine, of files and folders. InvalidArgument, NotFound.
absl::StatusOr<std::map<std::string, FleetBundle>> FindBundles(const std::vector<std::string>& places);

// What the probe's output says, into `host`; FailedPrecondition where it is none.
absl::Status ReadProbe(absl::string_view output, FleetHost& host);

std::vector<FleetHost> LookAtHosts(HostShell& shell, const std::vector<std::string>& hosts,
                                   const RolloutOptions& options);
// Of `hosts`, as LookAtHosts gave them. An error: no token was to be had, nothing was done.
absl::StatusOr<std::vector<FleetHost>> InstallOnHosts(HostShell& shell, std::vector<FleetHost> hosts,
                                                      const RolloutOptions& options);
std::vector<FleetHost> UninstallFromHosts(HostShell& shell, std::vector<FleetHost> hosts, bool purge,
                                          const RolloutOptions& options);

}  // namespace paritect

#endif  // PARITECT_CLIENT_FLEET_ROLLOUT_H_
