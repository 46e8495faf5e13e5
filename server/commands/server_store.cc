#include "server/commands/server_store.h"

#include "absl/strings/str_cat.h"
#include "common/file_system.h"

namespace paritect {

std::string DatabaseOf(const std::string& folder) {
  return JoinPath(folder, "paritect.db");
}

absl::StatusOr<std::unique_ptr<FleetStore>> OpenStoreOf(const std::string& folder, LostCommits lost_commits) {
  // Opening makes what is not there: a typing error must not.
  if (auto there = PosixFileSystem().Stat(DatabaseOf(folder)); absl::IsNotFound(there.status())) {
    if (!PosixFileSystem().Stat(DatabaseOf(folder) + ".lock").ok()) {
      return absl::NotFoundError(absl::StrCat(folder, " holds no Paritect server's database"));
    }
  }
  auto store =
      OpenFleetStore(absl::StrCat("sqlite:", DatabaseOf(folder)), {.marked = true, .lost_commits = lost_commits});
  if (absl::IsUnavailable(store.status())) {
    return absl::UnavailableError(absl::StrCat(store.status().message(), "; stop the server first"));
  }
  return store;
}

}  // namespace paritect
