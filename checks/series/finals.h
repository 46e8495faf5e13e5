// Final metrics of two groups of runs: within the margin, or better.
#ifndef PARITECT_CHECKS_SERIES_FINALS_H_
#define PARITECT_CHECKS_SERIES_FINALS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "checks/check.h"
#include "checks/series/repeats.h"

namespace paritect {

// With at least three runs on both sides the means are tested for equivalence within the margin (TOST, 5 %);
// where three runs cannot settle it, the check is not performed and says how many it takes. With fewer, every
// run of b is compared with the first run of a. `kind`: the message of the error. Which metric: CommonMetric of all
// runs; the finding names it, and says where no measure of quality is printed. Runs without it are reported under
// `missing`.
void CompareFinalsOfTwo(const CheckContext& context, v1::CheckResult& result, const std::vector<const RunSeries*>& a,
                        const std::vector<const RunSeries*>& b, absl::string_view kind);

// The same of runs, with the validation metrics that they print under other names (checks/series/validation_metrics.h):
// where neither side prints an accuracy or a validation loss, these alone decide.
void CompareEvaluations(const CheckContext& context, v1::CheckResult& result,
                        const std::vector<const RunSeries*>& baseline, const std::vector<const RunSeries*>& migrated,
                        absl::string_view kind);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_FINALS_H_
