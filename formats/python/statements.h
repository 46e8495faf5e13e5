// What Python's statements do: names, branches, loops, definitions.
#ifndef PARITECT_FORMATS_PYTHON_STATEMENTS_H_
#define PARITECT_FORMATS_PYTHON_STATEMENTS_H_

#include "formats/python/machine.h"

namespace paritect {

// Runs the statements of a block (or module) in order.
Flow ExecuteBlock(ScriptMachine& machine, NodeId block);

// Gives a value to a name, an attribute, an item or several of them.
void AssignTo(ScriptMachine& machine, NodeId target, ValueId value);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_STATEMENTS_H_
