// The order in which the steps of a pipeline run, which need not be the one in which they are made.
#ifndef PARITECT_FORMATS_PYTHON_STEPS_H_
#define PARITECT_FORMATS_PYTHON_STEPS_H_

#include "formats/python/machine.h"

namespace paritect {

// Gives a fact that holds steps (a Compose, a map, a data set) the argument "<order>": the numbers of their facts in
// order, -1 for what is no fact; None where a list of steps was put together in a way that is not told.
void NoteSteps(ScriptMachine& machine, MachineFact& fact);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_STEPS_H_
