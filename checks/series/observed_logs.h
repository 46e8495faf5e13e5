// Steps that the observer recorded beside what a run printed: exact, with every step that was skipped, and after the
// first ones a sample. Where nothing was printed they are the run's logs.
#ifndef PARITECT_CHECKS_SERIES_OBSERVED_LOGS_H_
#define PARITECT_CHECKS_SERIES_OBSERVED_LOGS_H_

#include <vector>

#include "checks/series/run_series.h"

namespace paritect {

bool IsObserved(const LogSource& source);

// Those of the run's nodes, in the order given.
std::vector<LogSource> ObservedLogs(const RunView& view);

// Logs that tell of the loss scale: what was observed, where that is there, else what was printed.
std::vector<LogSource> ScaleLogs(const RunSeries& run);

// The run as the observer saw it, where it did: for its first steps, which logs need not print.
RunSeries AsObserved(const RunSeries& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_OBSERVED_LOGS_H_
