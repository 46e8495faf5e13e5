// In which order a list holds its items: by name, by the file system, by the hash seed of a process. What is dealt out
// by rank must have the same order in every process.
#ifndef PARITECT_FORMATS_PYTHON_ORDERS_H_
#define PARITECT_FORMATS_PYTHON_ORDERS_H_

#include <string>

#include "formats/python/machine.h"

namespace paritect {

// sorted(list, key=...): a new list. A key that tells only part of a name (its folder, its length) leaves the rest as
// it was; one that asks for the time of a file gives an order that copies do not keep. `key`: kNoValue for none.
ValueId Sorted(ScriptMachine& machine, ValueId list, ValueId key, NodeId node);
// list.sort(key=...). Sorted folders of os.walk sort the walk.
void SortInPlace(ScriptMachine& machine, ValueId list, ValueId key, NodeId node);

// A set: names in it come in an order that differs from process to process.
ValueId WithoutOrder(ScriptMachine& machine, ValueId set, NodeId node);

// What a random shuffle leaves: an order of each process's own, unless all were given one seed. `fact`: the shuffle;
// `receiver`: the generator, kNoValue for the one of the module that `name` begins with.
bool ShuffleIsFree(ScriptMachine& machine, absl::string_view name, ValueId receiver);

// What one process sent to all others: its order is theirs.
void ShareOrder(ScriptMachine& machine, ValueId value);

// list[:] = value
void ReplaceItems(ScriptMachine& machine, ValueId list, ValueId value);

// dictionary[key] = value. What is looked up by a key that is no place in a list does not depend on the order.
void AddUnderKey(ScriptMachine& machine, ValueId map, ValueId key, ValueId value);
bool IsPosition(const ScriptValue& key);
void SetByPosition(ScriptValue& map, bool by_position);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_ORDERS_H_
