// functools.partial: a function with some of its arguments fixed, called with these when it is called.
#ifndef PARITECT_FORMATS_PYTHON_PARTIALS_H_
#define PARITECT_FORMATS_PYTHON_PARTIALS_H_

#include <vector>

#include "formats/python/api_call.h"
#include "formats/python/machine.h"

namespace paritect {

bool IsPartial(const ScriptValue& value);

// Of the call of functools.partial itself, which has the function as its first argument.
ValueId MakePartial(ScriptMachine& machine, const ApiCall& call);

ValueId CallPartial(ScriptMachine& machine, ValueId partial, const std::vector<CallArgument>& arguments, NodeId node);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_PARTIALS_H_
