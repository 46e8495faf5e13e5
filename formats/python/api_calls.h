// Calls of functions that the project did not write: what they are (rules/data/scripts), which fact they make, and what
// they give.
#ifndef PARITECT_FORMATS_PYTHON_API_CALLS_H_
#define PARITECT_FORMATS_PYTHON_API_CALLS_H_

#include <string>

#include "formats/python/api_call.h"
#include "formats/python/machine.h"

namespace paritect {

ValueId CallApi(ScriptMachine& machine, const ApiCall& call);

// A method of an object that is not the project's: of a framework's object, of an instance of a project's class that
// has it from a framework's, or of something unknown.
ValueId CallMethod(ScriptMachine& machine, const std::string& name, const ApiCall& call);

// Runs what a framework would call by itself: functions that were given to it, __getitem__ of a data set, ...
void RunCallbacks(ScriptMachine& machine, const std::vector<CallArgument>& arguments);

// "train", "eval" or "unknown": the mode of a network.
std::string ModeOf(const ScriptMachine& machine, ValueId module);

// A network is called: a fact, and its own code is walked, once for each mode.
ValueId CallNetwork(ScriptMachine& machine, ValueId network, const std::vector<CallArgument>& arguments, NodeId node);

// Reads the code of the networks that the script makes and that nothing in it was seen to call: a framework runs them,
// or another network that holds them in a way that is not followed. Makes no facts.
void ReadNetworks(ScriptMachine& machine);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_API_CALLS_H_
