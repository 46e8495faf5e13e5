// Writing a file in full or not at all, part by part.
#ifndef PARITECT_COMMON_ATOMIC_FILE_H_
#define PARITECT_COMMON_ATOMIC_FILE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paritect {

// Writes what `produce` gives to its argument under a temporary name beside `path`, then fsync and rename. An error of
// writing or of `produce` leaves what stood there before. Where `path` is a link, what it leads to is replaced; a
// device or a pipe is written to as it is.
using WriteBytes = absl::FunctionRef<absl::Status(absl::string_view)>;
absl::Status WriteFileInParts(absl::string_view path, absl::FunctionRef<absl::Status(WriteBytes)> produce);

// The place that a path has, links resolved; the path itself where there is no such place.
std::string RealPath(const std::string& path);

}  // namespace paritect

#endif  // PARITECT_COMMON_ATOMIC_FILE_H_
