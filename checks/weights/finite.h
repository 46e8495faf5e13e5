// Weights that are no numbers: a fault whichever side has them, and agreement does not excuse it.
#ifndef PARITECT_CHECKS_WEIGHTS_FINITE_H_
#define PARITECT_CHECKS_WEIGHTS_FINITE_H_

#include "checks/check.h"
#include "checks/weights/model_state.h"

namespace paritect {

// An error for each tensor with NaN, and for each parameter with infinities (a buffer may hold them: a mask). Tensors
// whose record states no such counts tell nothing.
void ReportNotFinite(const CheckContext& context, v1::CheckResult& result, const ModelState& state);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_FINITE_H_
