// postgresql://…: the fleet's store in a PostgreSQL database, and how one is filled from another store.
#ifndef PARITECT_STORAGE_POSTGRESQL_FLEET_POSTGRES_H_
#define PARITECT_STORAGE_POSTGRESQL_FLEET_POSTGRES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "storage/fleet_copy.h"
#include "storage/fleet_store.h"

namespace paritect {

struct PostgresPatience {
  // Of a commit whose connection went away: the database is asked for again.
  absl::Duration retry = absl::Seconds(10);
  // The same where COMMIT was sent and not answered: only the database knows whether it was done.
  absl::Duration doubt = absl::Minutes(10);
  // Of an opening, until whoever had it before is gone.
  absl::Duration owner = absl::Seconds(3);
};

// `address`: the whole "postgresql://…". Beside the errors of FleetStore: Unavailable: the database cannot be reached
// now (nothing was changed). FailedPrecondition of a commit, for good: another server took the database over meanwhile,
// or whether a commit was done stayed unknown; DataLoss, for good: the database lacks commits that it had acknowledged
// (a standby that took over without them).
absl::StatusOr<std::unique_ptr<FleetStore>> OpenPostgresStore(const std::string& address,
                                                              const PostgresPatience& patience = {});

// All that is there at one moment as a file, also while a server writes. Errors as of FleetStore::Backup.
absl::Status CopyRunningPostgres(const std::string& address, absl::string_view path);

// Fills an empty database with all of a fleet's file, and reads both again. What was interrupted goes on where it was
// when it is called again with the same file in the same state; until it is done, no server opens the database. Gives
// what is there now. FailedPrecondition: a fleet is there already, or the beginning of another one. DataLoss: what is
// there is not what was in the file. `path` must not be written meanwhile: the caller holds its store open.
absl::StatusOr<std::vector<TableContents>> FillPostgres(const std::string& address, const std::string& path,
                                                        CopyProgress progress);

}  // namespace paritect

#endif  // PARITECT_STORAGE_POSTGRESQL_FLEET_POSTGRES_H_
