// Dictionaries as they are put together, also of what is not told whole: `{**options, "lr": 0.1}`.
#ifndef PARITECT_FORMATS_PYTHON_MAPS_H_
#define PARITECT_FORMATS_PYTHON_MAPS_H_

#include "absl/strings/string_view.h"
#include "formats/python/machine.h"

namespace paritect {

// Field of a dictionary, and argument of a call, that stands for more than is known.
inline constexpr char kMore[] = "*";

// The later one counts.
void SetFieldOf(ScriptValue& map, absl::string_view name, ValueId value);

// What another dictionary holds; of anything else it is not known what.
void AddAllFields(ScriptMachine& machine, ScriptValue& map, ValueId from);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_MAPS_H_
