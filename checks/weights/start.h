// Whether two runs began with the same weights: what a difference of their first steps may be blamed on.
#ifndef PARITECT_CHECKS_WEIGHTS_START_H_
#define PARITECT_CHECKS_WEIGHTS_START_H_

#include <string>

#include "checks/check.h"

namespace paritect {

struct StartRelation {
  enum class Kind { kUnknown, kSame, kDiffers };
  Kind kind = Kind::kUnknown;  // kSame: every tensor has a partner of the same values
  std::string evidence;        // "initial weights (a.safetensors; b.ckpt)"
  std::string tensor;          // the first that differs
};

// By the states before the first update, else by the files that both start from.
StartRelation RelateStarts(const CheckContext& context, const std::string& baseline_run,
                           const std::string& migrated_run);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_START_H_
