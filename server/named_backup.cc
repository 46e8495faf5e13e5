#include "server/named_backup.h"

#include <sys/stat.h>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "formats/audit_file.h"

namespace paritect {

absl::StatusOr<v1::BackupResponse> MakeNamedBackup(FleetStore& store, const std::string& folder,
                                                   const std::string& name) {
  if (!IsAuditName(name)) {
    return absl::InvalidArgumentError(
        "a backup needs a plain name (letters, digits, '.', '_', '-'): it goes into the server's folder of backups");
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "make", folder);
  }
  v1::BackupResponse response;
  response.set_path(JoinPath(folder, name));
  PARITECT_RETURN_IF_ERROR(store.Backup(response.path()));
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, PosixFileSystem().Stat(response.path()));
  response.set_bytes(static_cast<std::int64_t>(info.size_bytes));
  return response;
}

}  // namespace paritect
