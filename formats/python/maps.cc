#include "formats/python/maps.h"

#include <string>

namespace paritect {

void SetFieldOf(ScriptValue& map, absl::string_view name, ValueId value) {
  for (auto& [field, place] : map.fields) {
    if (field != name) continue;
    place = value;
    return;
  }
  map.fields.emplace_back(std::string(name), value);
}

void AddAllFields(ScriptMachine& m, ScriptValue& map, ValueId from) {
  if (m.values[from].kind == ValueKind::kMap) {
    for (const auto& [name, value] : m.values[from].fields) SetFieldOf(map, name, value);
  } else {
    SetFieldOf(map, kMore, from);
  }
}

}  // namespace paritect
