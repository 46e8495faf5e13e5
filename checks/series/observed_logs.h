// Steps that the observer recorded beside what a run printed: exact, with every step that was skipped, and after the
// first ones a sample. Where nothing was printed they are the run's logs.
#ifndef PARITECT_CHECKS_SERIES_OBSERVED_LOGS_H_
#define PARITECT_CHECKS_SERIES_OBSERVED_LOGS_H_

#include <vector>

#include "checks/evidence_set.h"
#include "checks/series/log_source.h"

namespace paritect {

bool IsObserved(const LogSource& source);

// Those of the run's nodes, in the order given.
std::vector<LogSource> ObservedLogs(const RunView& view);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_OBSERVED_LOGS_H_
