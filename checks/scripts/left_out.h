// A script that is another with something left out: what it does not do, nothing of it can do in other words.
#ifndef PARITECT_CHECKS_SCRIPTS_LEFT_OUT_H_
#define PARITECT_CHECKS_SCRIPTS_LEFT_OUT_H_

#include "checks/scripts/flow.h"

namespace paritect {

// Whether all that `less` does to train, `more` does as well, as often: no call of it, and no statement that facts do
// not tell, is missing there. False wherever that is not known: a flow read in part, an engine that is told by files.
bool IsPartOf(const ScriptFlow& less, const ScriptFlow& more);

// Whether both sides make the same calls with the same values, as far as facts tell. A loss over 4 micro batches is
// divided by 4, one over 8 by 8: a constant is wrong only where nothing else is another.
bool CallsAlike(const ScriptFlow& baseline, const ScriptFlow& migrated);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_LEFT_OUT_H_
