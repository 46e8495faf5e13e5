// `with`: what context managers do before and behind the block.
#ifndef PARITECT_FORMATS_PYTHON_CONTEXTS_H_
#define PARITECT_FORMATS_PYTHON_CONTEXTS_H_

#include "absl/functional/function_ref.h"
#include "formats/python/machine.h"

namespace paritect {

// Runs the body within a manager: a known function's object (autocast), an instance of a project's class with __enter__
// and __exit__, or what a function under @contextmanager gave. `alias`: the target of `as`; kNoNode.
Flow RunWithin(ScriptMachine& machine, ValueId manager, NodeId alias, absl::FunctionRef<Flow()> body);

// A call of a function under @contextmanager: it runs when its value is entered.
ValueId DeferContext(ScriptMachine& machine, ValueId function, const std::vector<CallArgument>& arguments);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_CONTEXTS_H_
