// Random generators of two sides as they stood when training began: what chance decided (shuffling, augmentation) is
// another thing on either side where they differ.
#ifndef PARITECT_CHECKS_OBSERVED_GENERATORS_H_
#define PARITECT_CHECKS_OBSERVED_GENERATORS_H_

#include <string>

#include "checks/check.h"
#include "checks/observed/observed_run.h"

namespace paritect {

// Names the generators that may have made what two sides read another thing: one that was drawn from and that a side
// never seeded, or seeded with another value, or drew from in another way before. `severity`: of what they explain.
// False: none can have.
bool NameGenerators(const CheckContext& context, v1::CheckResult& result, v1::Severity severity,
                    const ObservedRank& baseline, const ObservedRank& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_OBSERVED_GENERATORS_H_
