// Whether the update of a step whose gradients are no number was left out, as the records around it tell: the run's own
// counter or flag, its scaler that backed off, a schedule that counts updates and stood still.
#ifndef PARITECT_CHECKS_SERIES_LEFT_OUT_H_
#define PARITECT_CHECKS_SERIES_LEFT_OUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "paritect/v1/run_stats.pb.h"

namespace paritect {

enum class Update { kUnknown, kLeftOut, kMade };

// `records`: one rank's, in file order; `format`: of their log. Messages of overflows beside the record are not looked
// at: those of several records are told apart by who counts them.
Update UpdateAt(const std::string& format, const std::vector<const v1::StepRecord*>& records, std::size_t at);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_LEFT_OUT_H_
