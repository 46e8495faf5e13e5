// A migrated run that still trains against the baseline: what is worth telling at once. Built from what the checks use
// (curves.h, nonfinite.h, overflow.h), so that an event and the report that follows agree.
//
// A running training has a beginning and no end: what only the whole tells (the end of the curve, an overflow rate over
// few steps) is not judged here. Calibration and reasons: docs/thresholds.md, "Live comparison".
#ifndef PARITECT_CHECKS_RUNS_LIVE_COMPARISON_H_
#define PARITECT_CHECKS_RUNS_LIVE_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"

namespace paritect {

struct LiveFinding {
  std::string event;         // divergence, non_finite, overflow_rate
  std::string training_run;  // as its plan names it
  std::optional<std::int64_t> step;
  v1::Finding finding;
};

// All that is to be told of the migrated runs in `context`, in the order of the runs. The same evidence gives the same
// findings; who calls it tells each (event, kind, subject) once.
std::vector<LiveFinding> CompareLive(const CheckContext& context);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_LIVE_COMPARISON_H_
