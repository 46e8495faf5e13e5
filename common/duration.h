// Durations and byte rates as people write them: "90s", "30m", "6h", "1d"; a number alone is seconds.
#ifndef PARITECT_COMMON_DURATION_H_
#define PARITECT_COMMON_DURATION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

// Seconds, from 1 to ten years. InvalidArgument says what would be right.
absl::StatusOr<std::int64_t> ParseDuration(absl::string_view text);

// "1h30m", "45s", "2d": at most two units, rounded down.
std::string FormatDuration(std::int64_t seconds);

}  // namespace paritect

#endif  // PARITECT_COMMON_DURATION_H_
