// Records: classes whose fields are declared in their body (dataclasses and their like), which options fill.
#ifndef PARITECT_FORMATS_PYTHON_RECORDS_H_
#define PARITECT_FORMATS_PYTHON_RECORDS_H_

#include <vector>

#include "formats/python/api_call.h"
#include "formats/python/machine.h"

namespace paritect {

// field(default=3), field(default_factory=list): what the field holds where it is not given.
ValueId FieldDefault(ScriptMachine& machine, const ApiCall& call);

// An instance of each class, with what the command line gives its fields.
std::vector<ValueId> RecordsOfOptions(ScriptMachine& machine, const std::vector<ValueId>& classes, NodeId node);

// What a record does when it is made: __post_init__, and, where it derives from a framework's arguments, the fact that
// making those would be.
void FinishRecord(ScriptMachine& machine, ValueId record, const std::vector<CallArgument>& more, NodeId node);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_RECORDS_H_
