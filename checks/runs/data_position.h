// Does a resumed run go on where it stopped: consumed samples in the log, sample numbers of each rank.
#ifndef PARITECT_CHECKS_RUNS_DATA_POSITION_H_
#define PARITECT_CHECKS_RUNS_DATA_POSITION_H_

#include "checks/check.h"
#include "checks/series/run_series.h"

namespace paritect {

// Adds data_position_lost where consumed samples jump at a resume.
void CheckConsumedSamples(const CheckContext& context, v1::CheckResult& result, const RunSeries& run);
// The same from recorded sample numbers, where samples are read in order.
void CheckSampleNumbers(const CheckContext& context, v1::CheckResult& result, Side side);
// Whether the run was resumed, as its logs say.
bool WasResumed(const RunSeries& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_DATA_POSITION_H_
