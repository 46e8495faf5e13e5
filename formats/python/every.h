// Conditions that hold once in a number of rounds: `(step + 1) % 4 == 0`, by which a script accumulates gradients.
#ifndef PARITECT_FORMATS_PYTHON_EVERY_H_
#define PARITECT_FORMATS_PYTHON_EVERY_H_

#include <optional>

#include "formats/python/machine.h"

namespace paritect {

struct EveryFew {
  ValueId count = kNoValue;
  bool holds = true;  // in one of `count` rounds; false: in all the others
};

// Marks the rest of a division; `rest`: its value.
void MarkRest(ScriptMachine& machine, ValueId rest, ValueId divisor);
// Marks the result of a comparison, of `not`, of `and` and `or` with what its operands tell.
void MarkCompared(ScriptMachine& machine, absl::string_view sign, ValueId a, ValueId b, ValueId result);
void MarkNegated(ScriptMachine& machine, ValueId of, ValueId result);
ValueId MarkEither(ScriptMachine& machine, ValueId a, ValueId b, ValueId result);

// What a condition that is not known says of rounds; nullopt: nothing.
std::optional<EveryFew> EveryOf(const ScriptMachine& machine, ValueId condition);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_EVERY_H_
