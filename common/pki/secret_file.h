// Files that hold keys: made with mode 0600 from the first byte on, in full or not at all, and read with a look at
// who else may read them. Machine's file system only.
#ifndef PARITECT_COMMON_PKI_SECRET_FILE_H_
#define PARITECT_COMMON_PKI_SECRET_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

inline constexpr unsigned kSecretMode = 0600;
inline constexpr unsigned kPublicMode = 0644;

// Writes beside `path` under a fresh name, fsyncs, renames, fsyncs the folder. Replaces what stands there.
absl::Status WriteFileDurably(absl::string_view path, absl::string_view bytes, unsigned mode);

// Makes a rename in `folder` durable, as far as the file system can.
void SyncFolder(absl::string_view folder);

struct SecretFile {
  std::string bytes;
  std::string warning;  // "" or that the group or everybody may read it, with the remedy
};

// A regular file of at most `bytes_max`. NotFound, PermissionDenied, FailedPrecondition (not a regular file),
// ResourceExhausted (too large); messages name the path.
absl::StatusOr<SecretFile> ReadSecretFile(absl::string_view path, std::uint64_t bytes_max = 1 << 20);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_SECRET_FILE_H_
