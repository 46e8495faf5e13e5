// The first bytes of a file, for telling what it is.
#ifndef PARITECT_COMMON_READ_HEAD_H_
#define PARITECT_COMMON_READ_HEAD_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "common/file_system.h"

namespace paritect {

// At most `bytes_max` bytes; fewer where the file ends before. The errors are the file system's.
absl::StatusOr<std::string> ReadHead(FileSystem& fs, const std::string& path, std::size_t bytes_max);

}  // namespace paritect

#endif  // PARITECT_COMMON_READ_HEAD_H_
