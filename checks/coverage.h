// Which ranks of a run reported anything, and how many there should be.
#ifndef PARITECT_CHECKS_COVERAGE_H_
#define PARITECT_CHECKS_COVERAGE_H_

#include <set>
#include <string>
#include <vector>

#include "checks/evidence_set.h"

namespace paritect {

struct RankCoverage {
  // From the plans' world_size, else from the shard lists, else as stated elsewhere; 0: not known.
  int world_size = 0;
  std::set<int> reported;

  // Ranks below world_size that did not report.
  std::vector<int> Silent() const;
  bool complete() const { return world_size > 0 && Silent().empty(); }
};

// A run of world size 1 that gave any evidence is complete: its only rank is the run itself.
// `stated_elsewhere`: by settings and logs (checks/settings/world_size.h), where the plans and lists do not tell.
RankCoverage CoverRanks(const RunView& run, int stated_elsewhere = 0);

// "0-3,7": for texts. At most `ranges_max` ranges, then "...".
std::string FormatRanks(const std::vector<int>& ranks, std::size_t ranges_max = 20);

}  // namespace paritect

#endif  // PARITECT_CHECKS_COVERAGE_H_
