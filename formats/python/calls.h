// Calls: of the project's functions, which are entered; of its classes; of what packages give.
#ifndef PARITECT_FORMATS_PYTHON_CALLS_H_
#define PARITECT_FORMATS_PYTHON_CALLS_H_

#include "formats/python/machine.h"

namespace paritect {

ValueId CallValue(ScriptMachine& machine, ValueId callee, const std::vector<CallArgument>& arguments, NodeId node);

// Walks the body of a project's function.
ValueId EnterFunction(ScriptMachine& machine, ValueId function, const std::vector<CallArgument>& arguments);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_CALLS_H_
