// The value of an option of the run's command line.
#ifndef PARITECT_FORMATS_PYTHON_OPTIONS_H_
#define PARITECT_FORMATS_PYTHON_OPTIONS_H_

#include <string>

#include "formats/python/machine.h"

namespace paritect {

// What the command line gives the option; else the fallback, which is no more than a default.
ValueId OptionValue(ScriptMachine& machine, const std::string& name, ValueId fallback);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_OPTIONS_H_
