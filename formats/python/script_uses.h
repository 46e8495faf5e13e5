// Which facts of an input pipeline feed the training and which the evaluation: by the loops that consume them.
#ifndef PARITECT_FORMATS_PYTHON_SCRIPT_USES_H_
#define PARITECT_FORMATS_PYTHON_SCRIPT_USES_H_

#include <string>
#include <vector>

#include "formats/python/machine.h"

namespace paritect {

// "training", "evaluation" or "" for each fact of the machine.
std::vector<std::string> UsesOfFacts(ScriptMachine& machine);
// Of the code that facts do not tell, in its order.
std::vector<std::string> UsesOfCodes(ScriptMachine& machine);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_SCRIPT_USES_H_
