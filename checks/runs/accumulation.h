// Whether a loss that is accumulated over micro-batches is divided by their number, as the other side's is.
#ifndef PARITECT_CHECKS_RUNS_ACCUMULATION_H_
#define PARITECT_CHECKS_RUNS_ACCUMULATION_H_

#include "checks/series/run_series.h"

namespace paritect {

// By what was observed of both runs: the sums of the first step's losses differ by the number of micro-batches of the
// larger one.
void JudgeDivision(const CheckContext& context, v1::CheckResult& result, const RunSeries& baseline,
                   const RunSeries& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_RUNS_ACCUMULATION_H_
