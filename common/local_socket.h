// A stream socket in the file system: two programs of one machine, one question and one answer.
#ifndef PARITECT_COMMON_LOCAL_SOCKET_H_
#define PARITECT_COMMON_LOCAL_SOCKET_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paritect {

// Listens at `path` (mode `mode`; what stood there of an earlier program is replaced). The result is a descriptor.
// InvalidArgument: the path is too long for a socket (107 bytes); FailedPrecondition: another program listens there.
absl::StatusOr<int> ListenLocal(const std::string& path, mode_t mode);

// Sends all of `question`, says that it ended, and reads the answer to its end. NotFound: nobody listens there;
// PermissionDenied; DeadlineExceeded.
absl::StatusOr<std::string> AskLocal(const std::string& path, absl::string_view question, absl::Duration time_max);

// What the other side sends, to its end. ResourceExhausted above `bytes_max`; DeadlineExceeded.
absl::StatusOr<std::string> ReadToEnd(int fd, std::size_t bytes_max, absl::Time deadline);
absl::Status SendAll(int fd, absl::string_view bytes, absl::Time deadline);

}  // namespace paritect

#endif  // PARITECT_COMMON_LOCAL_SOCKET_H_
