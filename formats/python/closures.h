// What a function is beside its text: the constants, functions and objects around it that it uses. Two functions of one
// text are the same only where these are.
#ifndef PARITECT_FORMATS_PYTHON_CLOSURES_H_
#define PARITECT_FORMATS_PYTHON_CLOSURES_H_

#include "formats/python/machine.h"

namespace paritect {

// Adds to the symbol of a function or class of the project (or of those in a list) what it uses, as it is now. Once a
// value.
void MarkClosures(ScriptMachine& machine, ValueId value);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_CLOSURES_H_
