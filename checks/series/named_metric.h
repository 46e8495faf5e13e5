// Curves of a metric by its name, those of the log's own included: what `paritect diff curve --metric` asks.
#ifndef PARITECT_CHECKS_SERIES_NAMED_METRIC_H_
#define PARITECT_CHECKS_SERIES_NAMED_METRIC_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/series/run_series.h"

namespace paritect {

// The metric that has this name in `paritect inspect`; nullopt: another name.
std::optional<Metric> FindMetric(absl::string_view name);

// One of the names above, else one of the records' `metrics`.
CurveSet CurvesOfMetric(const RunSeries& run, absl::string_view name);

// Names of the metrics that the run's logs print, in byte order.
std::vector<std::string> PrintedMetrics(const RunSeries& run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_NAMED_METRIC_H_
