// Prefixes by which launchers, shells over many nodes and engines of containers mark each line.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_RANK_PREFIX_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_RANK_PREFIX_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace paritect {

// Takes "[rank0]:", "[default0]:", "[1,0]<stdout>:" (job, rank), "0: " (srun --label) and "(main_task pid=1)"
// (Ray: no rank) off the front, in any number; the last rank found. Without a rank: the time of a container's engine
// ("2026-01-01T00:00:00.123456789Z "), "[pod/train-0/main] ", a host ("worker-0: ", "trainer-1  | ").
std::optional<std::int32_t> StripRankPrefix(absl::string_view& text);

// Where a second prefix of the unmistakable kinds begins behind the front, or npos.
std::size_t FindRankPrefixInside(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_RANK_PREFIX_H_
