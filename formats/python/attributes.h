// What an assignment to an attribute or a key changes: options behind `parse_args`, names of a module, functions of a
// package, and arguments that an object was made with.
#ifndef PARITECT_FORMATS_PYTHON_ATTRIBUTES_H_
#define PARITECT_FORMATS_PYTHON_ATTRIBUTES_H_

#include "formats/python/machine.h"

namespace paritect {

// object.name = value. `node`: its place.
void SetAttribute(ScriptMachine& machine, ValueId object, absl::string_view name, ValueId value, NodeId node);

// Names are set that the source does not tell (`setattr(args, key, value)`, `cfg.merge_from_file(path)`): no constant
// that the object holds is known from here on.
void Stir(ScriptMachine& machine, ValueId object);

// Whether a key of it is an attribute: a configuration, `vars(object)`.
bool HoldsOptions(const ScriptMachine& machine, ValueId object);

// `group["lr"] = value`, of an optimizer's param_groups.
void NoteGroupSet(ScriptMachine& machine, NodeId target, ValueId group, ValueId key, ValueId value);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_ATTRIBUTES_H_
