// The curves of several ranks made one.
#ifndef PARITECT_CHECKS_SERIES_RANK_MERGE_H_
#define PARITECT_CHECKS_SERIES_RANK_MERGE_H_

#include <cstdint>
#include <vector>

#include "checks/series/curve.h"

namespace paritect {

// The mean over the ranks at the steps at which all of them have a finite value. A rank that has none at all (a stage
// of a pipeline before the last prints no loss, or zeros) does not count.
std::vector<CurvePoint> MeanOverRanks(const std::vector<RankPoints>& ranks);

// Whether these are ranks 0 to n - 1, at least two, and all of `world_size` where that is stated (0: not).
bool AllRanks(const std::vector<RankPoints>& ranks, int world_size);

// Values of the ranks at their common steps.
struct Grid {
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> ranks;
  std::vector<std::vector<const CurvePoint*>> points;  // by rank, then step
};
Grid GridOf(const std::vector<RankPoints>& ranks);

// Whether the rank printed any value that counts: finite and not zero.
bool HasValues(const RankPoints& rank);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_RANK_MERGE_H_
