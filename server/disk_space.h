#ifndef PARITECT_SERVER_DISK_SPACE_H_
#define PARITECT_SERVER_DISK_SPACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace paritect {

// What this process may still write to the disk that holds the folder.
absl::StatusOr<std::int64_t> FreeBytes(const std::string& folder);

}  // namespace paritect

#endif  // PARITECT_SERVER_DISK_SPACE_H_
