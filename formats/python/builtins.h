// Python's own functions, methods of its texts, lists and dictionaries, and the readers of command lines.
#ifndef PARITECT_FORMATS_PYTHON_BUILTINS_H_
#define PARITECT_FORMATS_PYTHON_BUILTINS_H_

#include <optional>
#include <string>

#include "formats/python/api_call.h"
#include "formats/python/machine.h"

namespace paritect {

// "builtins.sorted" and its like; nullopt where nothing is known of it.
std::optional<ValueId> CallBuiltin(ScriptMachine& machine, absl::string_view name, const ApiCall& call);

// A method of a text, list, tuple, dictionary or unknown value that stands for one.
std::optional<ValueId> CallContainerMethod(ScriptMachine& machine, absl::string_view name, const ApiCall& call);

// add_argument, parse_args, DEFINE_string, os.environ.get, functools.partial, ...
std::optional<ValueId> CallSpecial(ScriptMachine& machine, const ApiCall& call);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_BUILTINS_H_
