// Backups that admins ask for over the network: a plain name in one folder of the server's machine, so that no call
// writes, or writes over, anything else there.
#ifndef PARITECT_SERVER_NAMED_BACKUP_H_
#define PARITECT_SERVER_NAMED_BACKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "paritect/v1/operators.pb.h"
#include "storage/fleet_store.h"

namespace paritect {

// `folder` is made where it is not there. InvalidArgument: no plain name. AlreadyExists: there is one of that name.
absl::StatusOr<v1::BackupResponse> MakeNamedBackup(FleetStore& store, const std::string& folder,
                                                   const std::string& name);

}  // namespace paritect

#endif  // PARITECT_SERVER_NAMED_BACKUP_H_
