// PARITECT_RETURN_IF_ERROR, PARITECT_ASSIGN_OR_RETURN: for .cc files. Debian 12's Abseil has no
// absl/status/status_macros.h; the names follow it so that a later swap is mechanical.
#ifndef PARITECT_COMMON_STATUS_MACROS_H_
#define PARITECT_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

// Returns from the enclosing function when `expr` (an absl::Status) is not OK.
#define PARITECT_RETURN_IF_ERROR(expr)               \
  do {                                               \
    if (absl::Status paritect_status_ = (expr); !paritect_status_.ok()) return paritect_status_; \
  } while (false)

#define PARITECT_CONCAT_INNER_(a, b) a##b
#define PARITECT_CONCAT_(a, b) PARITECT_CONCAT_INNER_(a, b)

// Expands to several statements: always inside braces.
#define PARITECT_ASSIGN_OR_RETURN(lhs, expr) \
  PARITECT_ASSIGN_OR_RETURN_IMPL_(PARITECT_CONCAT_(paritect_or_, __LINE__), lhs, expr)
#define PARITECT_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr) \
  auto statusor = (expr);                                    \
  if (!statusor.ok()) return std::move(statusor).status();   \
  lhs = *std::move(statusor)

namespace paritect {

// "CONTEXT: message" with the same code. Add context once a layer.
inline absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace paritect

#endif  // PARITECT_COMMON_STATUS_MACROS_H_
