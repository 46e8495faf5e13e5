// The stores that a server may be given: those of storage/all_fleet_stores.inc, and PostgreSQL where the build has it
// (PARITECT_POSTGRESQL). Apart from OpenFleetStore, so that what only reads files does not load libpq.
#ifndef PARITECT_STORAGE_POSTGRESQL_SERVER_STORES_H_
#define PARITECT_STORAGE_POSTGRESQL_SERVER_STORES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/fleet_copy.h"
#include "storage/fleet_store.h"

namespace paritect {

// "postgresql://…", or as OpenFleetStore has it. Unimplemented: this build has no PostgreSQL.
absl::StatusOr<std::unique_ptr<FleetStore>> OpenServerStore(absl::string_view uri,
                                                            const FleetStoreOptions& options = {});

// FillPostgres (storage/postgresql/fleet_postgres.h), or Unimplemented.
absl::StatusOr<std::vector<TableContents>> FillServerStore(absl::string_view uri, const std::string& path,
                                                           CopyProgress progress);

// A copy of a database that a server may be using, its state at one moment, as a file (as FleetStore::Backup).
absl::Status BackupServerStore(absl::string_view uri, absl::string_view path);

// The URI as it may be shown: without a password.
std::string ShownStore(absl::string_view uri);

}  // namespace paritect

#endif  // PARITECT_STORAGE_POSTGRESQL_SERVER_STORES_H_
