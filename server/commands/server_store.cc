#include "server/commands/server_store.h"

#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "storage/postgresql/server_stores.h"

namespace paritect {

std::string DatabaseOf(const std::string& folder) {
  return JoinPath(folder, "paritect.db");
}

namespace {

absl::Status StopFirst(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(absl::StrCat(status.message(), "; stop the server first"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FleetStore>> OpenStoreOf(const std::string& folder, const std::string& store,
                                                        LostCommits lost_commits) {
  const FleetStoreOptions options = {.marked = true, .lost_commits = lost_commits};
  if (!store.empty()) {
    auto opened = OpenServerStore(store, options);
    if (!opened.ok()) return StopFirst(opened.status());
    return opened;
  }
  // Opening makes what is not there: a typing error must not.
  if (auto there = PosixFileSystem().Stat(DatabaseOf(folder)); absl::IsNotFound(there.status())) {
    if (!PosixFileSystem().Stat(DatabaseOf(folder) + ".lock").ok()) {
      return absl::NotFoundError(absl::StrCat(folder, " holds no Paritect server's database"));
    }
  }
  auto opened = OpenFleetStore(absl::StrCat("sqlite:", DatabaseOf(folder)), options);
  if (!opened.ok()) return StopFirst(opened.status());
  return opened;
}

}  // namespace paritect
