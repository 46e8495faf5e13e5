#include "client/fleet/rollout.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/fleet/host_scripts.h"
#include "common/file_system.h"
#include "common/in_order.h"
#include "common/pki/identity.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kNotBegun = "not begun: interrupted";
constexpr std::size_t kValueBytesMax = 255;

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

HostCall Call(std::string script, const FleetPlace& place, std::vector<std::string> more = {}) {
  HostCall call = {.script = std::move(script), .arguments = {OrDash(place.prefix), OrDash(place.state)}};
  for (std::string& argument : more) call.arguments.push_back(std::move(argument));
  return call;
}

// Puts `work` to every host, several at a time.
std::vector<FleetHost> OnEach(std::vector<FleetHost> hosts, const RolloutOptions& options,
                              absl::FunctionRef<void(FleetHost&)> work) {
  std::vector<FleetHost> done;
  MakeInOrder(
      hosts.size(), options.jobs,
      [&](std::size_t i) {
        FleetHost host = hosts[i];
        if (!host.error.empty()) return host;
        if (options.interrupted && options.interrupted()) {
          host.error = std::string(kNotBegun);
        } else {
          work(host);
        }
        return host;
      },
      [&](FleetHost host) {
        if (options.tell) options.tell(host);
        done.push_back(std::move(host));
      });
  return done;
}

// What is to be done on a host that was looked at.
struct Todo {
  bool install = false;
  bool join = false;
  bool start = false;
  bool restart = false;
};

Todo TodoOf(const FleetHost& host, const RolloutOptions& options) {
  Todo todo;
  const auto bundle = options.bundles.find(host.machine);
  todo.install = bundle != options.bundles.end() && bundle->second.version != host.version;
  todo.join = host.joined.empty();
  todo.restart = todo.install && host.running;
  todo.start = todo.install || todo.join || !host.running;
  return todo;
}

// Why nothing can be done there; "" where it can.
std::string Obstacle(const FleetHost& host, const RolloutOptions& options) {
  if (host.packaged) return "a package of the distribution brought its agent: upgrade and start it with the package";
  if (!host.root && options.place.prefix.empty()) {
    return "the user is not root there: --sudo, or --prefix FOLDER of the user's own";
  }
  if (!options.bundles.contains(host.machine)) {
    std::vector<std::string> known;
    for (const auto& [machine, bundle] : options.bundles) known.push_back(machine);
    return absl::StrCat("no bundle for ", host.machine, " (there is one for ", absl::StrJoin(known, ", "), ")");
  }
  if (!host.joined.empty() && host.joined != "yes" && !options.join.server.empty()) {
    const std::vector<absl::string_view> servers = absl::StrSplit(host.joined, ',');
    if (std::find(servers.begin(), servers.end(), options.join.server) == servers.end()) {
      return absl::StrCat("it is a node of ", host.joined, " already: `paritect fleet uninstall --purge` frees it");
    }
  }
  return "";
}

void Install(HostShell& shell, const RolloutOptions& options, const std::string& token, FleetHost& host) {
  const Todo todo = TodoOf(host, options);
  const FleetBundle& bundle = options.bundles.at(host.machine);
  if (todo.install) {
    HostCall call = Call(InstallScript(), options.place);
    call.payload_file = bundle.file;
    if (auto said = shell.Run(host.host, call); !said.ok()) {
      host.error = absl::StrCat("install: ", said.status().message());
      return;
    }
    host.version = bundle.version;
    host.did.emplace_back("install");
  }
  if (!todo.start) return;
  HostCall call = Call(StartScript(), options.place,
                       {todo.join ? options.join.server : "-", todo.join ? options.join.ca_pin : "-", host.node,
                        OrDash(options.join.roots), todo.restart ? "restart" : "-"});
  if (todo.join) call.payload = absl::StrCat(token, "\n");
  if (auto said = shell.Run(host.host, call); !said.ok()) {
    host.error = absl::StrCat(todo.join ? "join: " : "start: ", said.status().message());
    return;
  }
  if (todo.join) {
    host.joined = options.join.server;
    host.did.emplace_back("join");
  }
  host.running = true;
  host.did.emplace_back(todo.restart ? "restart" : "start");
}

// The names under which nodes join; two hosts of one name would be one node.
void NameNodes(const RolloutOptions& options, std::vector<FleetHost>& hosts) {
  std::map<std::string, std::string> taken;
  for (FleetHost& host : hosts) {
    if (!host.error.empty()) continue;
    if (host.joined.empty()) {
      host.node = options.name_as_written ? host.host.substr(host.host.find('@') + 1) : host.name;
    }
    if (absl::Status good = CheckName(host.node); !good.ok()) {
      host.error = std::string(good.message());
      continue;
    }
    const auto [first, is_new] = taken.emplace(host.node, host.host);
    if (!is_new) host.error = absl::StrCat("it is called ", host.node, " as ", first->second, " is: --as-written");
  }
}

void SayWhatWouldBeDone(const RolloutOptions& options, FleetHost& host) {
  const Todo todo = TodoOf(host, options);
  if (todo.install) host.did.emplace_back("install");
  if (todo.join) host.did.emplace_back("join");
  if (todo.start) host.did.emplace_back(todo.restart ? "restart" : "start");
}

absl::Status AddBundle(const std::string& path, std::map<std::string, FleetBundle>& bundles) {
  absl::string_view rest = BaseName(path);
  const bool named = absl::ConsumePrefix(&rest, "paritect-") && absl::ConsumeSuffix(&rest, ".tar.gz");
  const std::vector<std::string> parts = absl::StrSplit(rest, "-linux-");
  if (!named || parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(DisplayBytes(path), ": a bundle is called paritect-VERSION-linux-MACHINE.tar.gz"));
  }
  const auto [other, is_new] = bundles.emplace(parts[1], FleetBundle{parts[0], path});
  if (!is_new && other->second.file != path) {
    return absl::InvalidArgumentError(absl::StrCat("two bundles for ", parts[1], ": ", DisplayBytes(other->second.file),
                                                   " and ", DisplayBytes(path), "; name one with --bundle"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, FleetBundle>> FindBundles(const std::vector<std::string>& places) {
  std::map<std::string, FleetBundle> bundles;
  FileSystem& fs = PosixFileSystem();
  for (const std::string& place : places) {
    PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(place));
    if (info.type != FileInfo::Type::kDirectory) {
      PARITECT_RETURN_IF_ERROR(AddBundle(place, bundles));
      continue;
    }
    std::set<std::string> names;
    PARITECT_RETURN_IF_ERROR(fs.List(place, [&](const DirectoryEntry& entry) {
      if (absl::StartsWith(entry.name, "paritect-") && absl::EndsWith(entry.name, ".tar.gz")) names.insert(entry.name);
    }));
    for (const std::string& name : names) PARITECT_RETURN_IF_ERROR(AddBundle(JoinPath(place, name), bundles));
  }
  return bundles;
}

absl::Status ReadProbe(absl::string_view output, FleetHost& host) {
  // Before it stands what a login prints.
  const std::size_t begin = output.find(kProbeBegin);
  if (begin == absl::string_view::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat("no POSIX shell answered, but: ", DisplayBytes(output.substr(0, kValueBytesMax))));
  }
  for (absl::string_view line : absl::StrSplit(output.substr(begin), '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const std::string value = DisplayBytes(parts.second.substr(0, kValueBytesMax));
    if (parts.first == "machine") host.machine = value == "arm64" ? "aarch64" : value;
    if (parts.first == "name") host.name = value;
    if (parts.first == "uid") host.root = value == "0";
    if (parts.first == "version") host.version = value;
    if (parts.first == "packaged") host.packaged = true;
    if (parts.first == "joined") host.joined = value;
    if (parts.first == "node") host.node = value;
    if (parts.first == "running") host.running = true;
  }
  return absl::OkStatus();
}

std::vector<FleetHost> LookAtHosts(HostShell& shell, const std::vector<std::string>& hosts,
                                   const RolloutOptions& options) {
  std::vector<FleetHost> all(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) all[i].host = hosts[i];
  RolloutOptions quiet = options;
  quiet.tell = nullptr;
  return OnEach(std::move(all), quiet, [&](FleetHost& host) {
    auto said = shell.Run(host.host, Call(ProbeScript(), options.place));
    const absl::Status status = said.ok() ? ReadProbe(*said, host) : said.status();
    if (!status.ok()) host.error = std::string(status.message());
  });
}

absl::StatusOr<std::vector<FleetHost>> InstallOnHosts(HostShell& shell, std::vector<FleetHost> hosts,
                                                      const RolloutOptions& options) {
  for (FleetHost& host : hosts) {
    if (host.error.empty()) host.error = Obstacle(host, options);
  }
  NameNodes(options, hosts);
  std::vector<std::string> joining;
  for (const FleetHost& host : hosts) {
    if (host.error.empty() && TodoOf(host, options).join) joining.push_back(host.node);
  }
  std::string token;
  if (!joining.empty() && !options.dry_run) {
    PARITECT_ASSIGN_OR_RETURN(token, options.join.token(joining));
  }
  return OnEach(std::move(hosts), options, [&](FleetHost& host) {
    if (options.dry_run) return SayWhatWouldBeDone(options, host);
    Install(shell, options, token, host);
  });
}

std::vector<FleetHost> UninstallFromHosts(HostShell& shell, std::vector<FleetHost> hosts, bool purge,
                                          const RolloutOptions& options) {
  for (FleetHost& host : hosts) {
    if (host.error.empty() && host.packaged)
      host.error = "a package of the distribution brought it: remove the package";
  }
  return OnEach(std::move(hosts), options, [&](FleetHost& host) {
    if (host.version.empty() && !(purge && !host.joined.empty())) return;
    const std::string what = purge ? "purge" : "uninstall";
    if (!options.dry_run) {
      auto said = shell.Run(host.host, Call(UninstallScript(), options.place, {purge ? "purge" : "-"}));
      if (!said.ok()) {
        host.error = std::string(said.status().message());
        return;
      }
      host.version.clear();
      host.running = false;
      if (purge) host.joined.clear();
    }
    host.did.push_back(what);
  });
}

}  // namespace paritect
