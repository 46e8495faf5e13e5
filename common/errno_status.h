// errno as a status and as a text: the one table of what a failed system call means here.
#ifndef PARITECT_COMMON_ERRNO_STATUS_H_
#define PARITECT_COMMON_ERRNO_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paritect {

// "No such file or directory"; thread-safe, in English whatever the locale of messages.
std::string ErrnoText(int error);

// "WHAT PATH: text of the error". NotFound: no such path; AlreadyExists; PermissionDenied: also a read-only disk;
// ResourceExhausted: the disk, the quota or the file's size is full; FailedPrecondition: another type of file than
// expected; Internal: any other.
absl::Status ErrnoStatus(int error, absl::string_view what, absl::string_view path);

}  // namespace paritect

#endif  // PARITECT_COMMON_ERRNO_STATUS_H_
