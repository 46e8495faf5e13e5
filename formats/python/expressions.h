// What Python's expressions come to.
#ifndef PARITECT_FORMATS_PYTHON_EXPRESSIONS_H_
#define PARITECT_FORMATS_PYTHON_EXPRESSIONS_H_

#include "formats/python/machine.h"

namespace paritect {

ValueId EvaluateExpression(ScriptMachine& machine, NodeId node);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_EXPRESSIONS_H_
