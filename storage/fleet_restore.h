// A backup put in the place of a server's database, which is kept beside it.
#ifndef PARITECT_STORAGE_FLEET_RESTORE_H_
#define PARITECT_STORAGE_FLEET_RESTORE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/store_mark.h"

namespace paritect {

struct RestoreResult {
  std::string kept_as;              // where the database lies that stood there; empty: none did
  std::optional<MarkedState> mark;  // how far that had come, where a mark told
  MarkedState restored;             // how far the backup had
};

// `backup`: a file that Backup or CopyRunningDatabase made; it is left as it is. `now` goes into the name of what is
// kept ("20261201T120000Z"). Unavailable: a server runs. FailedPrecondition: no fleet store, or one of a later version.
// DataLoss: the backup itself is damaged. What stood there stays in its place after any error.
absl::StatusOr<RestoreResult> RestoreDatabase(const std::string& path, const std::string& backup,
                                              absl::string_view now);

// The mark beside the database, begun anew from what the database holds: its loss is accepted.
absl::StatusOr<RestoreResult> AcceptDatabase(const std::string& path);

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_RESTORE_H_
