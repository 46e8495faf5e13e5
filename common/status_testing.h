// For tests: the code of a status or of a StatusOr, so that an assertion on an error names which.
#ifndef PARITECT_COMMON_STATUS_TESTING_H_
#define PARITECT_COMMON_STATUS_TESTING_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace paritect {

inline absl::StatusCode CodeOf(const absl::Status& status) {
  return status.code();
}

template <typename T>
absl::StatusCode CodeOf(const absl::StatusOr<T>& result) {
  return result.status().code();
}

}  // namespace paritect

#endif  // PARITECT_COMMON_STATUS_TESTING_H_
