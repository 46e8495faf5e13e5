#include "storage/postgresql/server_stores.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#if PARITECT_POSTGRESQL
#include "storage/postgresql/fleet_postgres.h"
#endif

namespace paritect {
namespace {

constexpr absl::string_view kPostgresScheme = "postgresql:";

#if !PARITECT_POSTGRESQL
absl::Status NotBuilt() {
  return absl::UnimplementedError(
      "this build has no PostgreSQL; build from source with libpq-dev (docs/scaling.md), or keep the store in a file");
}
#endif

}  // namespace

absl::StatusOr<std::unique_ptr<FleetStore>> OpenServerStore(absl::string_view uri, const FleetStoreOptions& options) {
  if (!absl::StartsWith(uri, kPostgresScheme)) return OpenFleetStore(uri, options);
#if PARITECT_POSTGRESQL
  return OpenPostgresStore(std::string(uri));
#else
  return NotBuilt();
#endif
}

absl::StatusOr<std::vector<TableContents>> FillServerStore(absl::string_view uri, const std::string& path,
                                                           CopyProgress progress) {
  if (!absl::StartsWith(uri, kPostgresScheme)) {
    return absl::InvalidArgumentError("what is filled is a PostgreSQL database: postgresql://USER@HOST/DATABASE");
  }
#if PARITECT_POSTGRESQL
  return FillPostgres(std::string(uri), path, progress);
#else
  (void)path;
  (void)progress;
  return NotBuilt();
#endif
}

absl::Status BackupServerStore(absl::string_view uri, absl::string_view path) {
  if (!absl::StartsWith(uri, kPostgresScheme)) {
    auto store = OpenFleetStore(uri);
    return store.ok() ? (*store)->Backup(path) : store.status();
  }
#if PARITECT_POSTGRESQL
  return CopyRunningPostgres(std::string(uri), path);
#else
  (void)path;
  return NotBuilt();
#endif
}

std::string ShownStore(absl::string_view uri) {
  if (!absl::StartsWith(uri, kPostgresScheme)) return std::string(uri);
  // A password stands between the user's name and the '@', or among the parameters.
  const std::size_t parameters = uri.find('?');
  absl::string_view place = uri.substr(0, parameters);
  const std::size_t at = place.rfind('@');
  const std::size_t begin = place.find("//");
  if (at == absl::string_view::npos || begin == absl::string_view::npos) return std::string(place);
  const absl::string_view user = place.substr(begin + 2, at - begin - 2);
  return absl::StrCat(kPostgresScheme, "//", user.substr(0, user.find(':')), place.substr(at));
}

}  // namespace paritect
