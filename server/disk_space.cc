#include "server/disk_space.h"

#include <sys/statvfs.h>

#include <cerrno>

#include "common/errno_status.h"

namespace paritect {

absl::StatusOr<std::int64_t> FreeBytes(const std::string& folder) {
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0) return ErrnoStatus(errno, "statvfs", folder);
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

}  // namespace paritect
