// Training processes of the observer that state no rank. One alone is the run; of several, in one folder or on several
// nodes, nobody knows which is which of the other side: what is compared process by process (seeds, samples, steps,
// weights, operators) is withheld and told.
#ifndef PARITECT_CHECKS_STRANGERS_H_
#define PARITECT_CHECKS_STRANGERS_H_

#include <vector>

#include "paritect/v1/evidence.pb.h"

namespace paritect {

// Withholds it in the bundles of each run.
void WithholdFromStrangers(std::vector<v1::Bundle>& bundles);

}  // namespace paritect

#endif  // PARITECT_CHECKS_STRANGERS_H_
