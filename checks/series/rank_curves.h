// The ranks of one run that print values of their own.
//
// Data-parallel ranks train on other samples, so their losses differ at every step and mean the same: what the run's
// loss is, is their mean. A rank that leaves the others is no such scatter: one node computes, or reads, something
// else.
#ifndef PARITECT_CHECKS_SERIES_RANK_CURVES_H_
#define PARITECT_CHECKS_SERIES_RANK_CURVES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/series/rank_merge.h"
#include "checks/series/run_series.h"

namespace paritect {

// The two curves brought to the ranks that both sides print: where both have ranks, the mean over those that both have;
// where one side prints one curve, that of the other's mean or ranks that follows it (the first differences tell).
void PairRanks(const Profile& profile, Curve& a, Curve& b);

struct RankParting {
  std::int64_t rank = 0;
  std::int64_t since = 0;       // step
  bool from_the_start = false;  // stands apart from the first step on
  double apart = 0;             // relative, over the last tenth (from the start: over all steps), signed
  CurvePoint at;                // the rank's own value at `since`
  double others = 0;            // the median of the ranks there
};

// The profile's thresholds.
struct RankLimits {
  double tail = 0;       // relative difference of the last tenth
  double errors = 0;     // standard errors
  double spreads = 0;    // of the other ranks
  double dead_zone = 0;  // smoothed deviations within it do not count as having left
};
RankLimits RankLimitsOf(const Profile& profile);

// Ranks of `curve` that leave the others: over the last tenth by more than the limit and its standard errors, against
// their own beginning, or against the same rank of `other` where that has as many ranks. From four ranks on also one
// that stands outside the scatter of the others from the start.
// `other_is_reference`: its ranks are how they should be (a baseline's); else they only tell that a rank stands apart
// on both sides, which is its data.
std::vector<RankParting> FindPartingRanks(const Curve& curve, const Curve* other, bool other_is_reference,
                                          const RankLimits& limits);

// The error that names the rank.
v1::Finding& ReportRank(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Curve& curve,
                        const RankParting& parting);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_RANK_CURVES_H_
