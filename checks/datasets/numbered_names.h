// Names that count themselves ("train-00007-of-00010.tar"): which numbers a data set lacks.
#ifndef PARITECT_CHECKS_DATASETS_NUMBERED_NAMES_H_
#define PARITECT_CHECKS_DATASETS_NUMBERED_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checks/datasets/pairs.h"

namespace paritect {

struct ShardSeries {
  std::int64_t count = 0;             // as the names say
  std::vector<std::int64_t> missing;  // at most kShardNumbersMax of them
  std::int64_t missing_total = 0;
};
inline constexpr std::size_t kShardNumbersMax = 100;

// Series with a gap, by their name with '#' for the number. Counted from 0 or from 1, as the names show.
std::map<std::string, ShardSeries> ShardGaps(const DatasetView& view);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_NUMBERED_NAMES_H_
