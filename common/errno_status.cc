#include "common/errno_status.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paritect {

std::string ErrnoText(int error) {
  char text[128];
  return strerror_r(error, text, sizeof(text));
}

absl::Status ErrnoStatus(int error, absl::string_view what, absl::string_view path) {
  const std::string full = absl::StrCat(what, " ", DisplayBytes(path), ": ", ErrnoText(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return absl::NotFoundError(full);
    case EEXIST: return absl::AlreadyExistsError(full);
    case EACCES:
    case EPERM:
    case EROFS: return absl::PermissionDeniedError(full);
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return absl::ResourceExhaustedError(full);
    case ELOOP:
    case EISDIR:
    case ENXIO: return absl::FailedPreconditionError(full);
    default: return absl::InternalError(full);
  }
}

}  // namespace paritect
