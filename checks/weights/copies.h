// Tensors of one model that hold each other's values where those of the other model do not: layers copied in place of
// drawn, or one weight used twice on one side.
#ifndef PARITECT_CHECKS_WEIGHTS_COPIES_H_
#define PARITECT_CHECKS_WEIGHTS_COPIES_H_

#include <string>
#include <vector>

#include "checks/weights/pair_report.h"

namespace paritect {

struct Copies {
  Side side = Side::kBaseline;
  std::vector<std::string> names;  // on that side, two or more
};

// By side, then in the order of the model. Constants are copies of each other everywhere and do not count.
std::vector<Copies> CopiesOnOneSide(const PairedStates& states);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_COPIES_H_
