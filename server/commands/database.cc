// paritect-server backup | verify | compact: the database of a server that does not run. (Of one that runs:
// `paritect doctor --deep`, and a backup through the Backup call.)
#include "absl/strings/str_cat.h"
#include "common/arguments.h"
#include "server/server_command.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

absl::StatusOr<std::unique_ptr<FleetStore>> OpenStoreOf(const std::string& folder) {
  auto store = OpenFleetStore(absl::StrCat("sqlite:", folder, "/paritect.db"));
  if (absl::IsUnavailable(store.status())) {
    return absl::UnavailableError(absl::StrCat(store.status().message(), "; stop the server first"));
  }
  return store;
}

int Backup(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  std::string file;
  Arguments arguments("paritect-server backup", "copy the database of a stopped server, whole and consistent");
  arguments.Text("DIR", folder, "the server's folder", true);
  arguments.Text("FILE", file, "the copy", true);
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, "backup", parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  auto store = OpenStoreOf(folder);
  if (!store.ok()) return ServerError(env, "backup", store.status().message(), kServerUsage);
  const absl::Status status = (*store)->Backup(file);
  if (!status.ok()) return ServerError(env, "backup", status.message(), kServerFailed);
  env.out << file << "\n";
  return kServerOk;
}

int Verify(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  Arguments arguments("paritect-server verify", "check pages, digests and the log's chain of a stopped server");
  arguments.Text("DIR", folder, "the server's folder", true);
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, "verify", parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  auto store = OpenStoreOf(folder);
  if (!store.ok()) return ServerError(env, "verify", store.status().message(), kServerUsage);
  const auto faults = (*store)->Verify();
  if (!faults.ok()) return ServerError(env, "verify", faults.status().message(), kServerFailed);
  for (const std::string& fault : *faults) env.out << fault << "\n";
  if (faults->empty()) env.out << "whole: every page, digest and link of the log\n";
  return faults->empty() ? kServerOk : kServerFailed;
}

int Compact(ServerEnv& env, const std::vector<std::string>& args) {
  std::string folder;
  Arguments arguments("paritect-server compact", "drop what nothing refers to and give space back");
  arguments.Text("DIR", folder, "the server's folder", true);
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return ServerError(env, "compact", parsed.status().message(), kServerUsage);
  if (!*parsed) return env.out << arguments.help(), kServerOk;
  auto store = OpenStoreOf(folder);
  if (!store.ok()) return ServerError(env, "compact", store.status().message(), kServerUsage);
  const absl::Status status = (*store)->Compact();
  if (!status.ok()) return ServerError(env, "compact", status.message(), kServerFailed);
  return kServerOk;
}

}  // namespace

extern const ServerCommand kServerBackupCommand;
const ServerCommand kServerBackupCommand = {"backup", "copy the database of a stopped server", &Backup};
extern const ServerCommand kServerVerifyCommand;
const ServerCommand kServerVerifyCommand = {"verify", "check the database of a stopped server", &Verify};
extern const ServerCommand kServerCompactCommand;
const ServerCommand kServerCompactCommand = {"compact", "give space of a stopped server's database back", &Compact};

}  // namespace paritect
