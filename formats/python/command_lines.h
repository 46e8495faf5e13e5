// Options: what a script's parsers, decorators and records ask of the command line, and what it gives them.
#ifndef PARITECT_FORMATS_PYTHON_COMMAND_LINES_H_
#define PARITECT_FORMATS_PYTHON_COMMAND_LINES_H_

#include <optional>

#include "formats/python/api_call.h"
#include "formats/python/machine.h"

namespace paritect {

// `text` of a function whose parameters are options (click, fire), and of what a decorator makes one of.
inline constexpr char kOfOptions[] = "of options";
inline constexpr char kOptionDecorator[] = "option decorator";

// add_argument, parse_args, DEFINE_string, ...; nullopt for other calls.
std::optional<ValueId> CallCommandLine(ScriptMachine& machine, const ApiCall& call);

// Calls that the rules give a kind of options ("record_parser", "option_decorator", ...).
std::optional<ValueId> CallOptions(ScriptMachine& machine, const ApiCall& call, const ApiRule& rule);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_COMMAND_LINES_H_
