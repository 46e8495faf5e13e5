// What checkpoints tell of a resume: counters that begin anew, an optimizer whose state is gone.
#ifndef PARITECT_CHECKS_WEIGHTS_RESTORED_STATE_H_
#define PARITECT_CHECKS_WEIGHTS_RESTORED_STATE_H_

#include "checks/check.h"

namespace paritect {

// Of each run of the side that has checkpoints of two steps. They can show that a state was lost and not that all of it
// was restored: what passes is for others to say.
void CheckRestoredState(const CheckContext& context, v1::CheckResult& result, Side side);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_RESTORED_STATE_H_
