// What Python's expressions come to.
#ifndef PARITECT_FORMATS_PYTHON_EXPRESSIONS_H_
#define PARITECT_FORMATS_PYTHON_EXPRESSIONS_H_

#include <optional>
#include <string>

#include "formats/python/machine.h"

namespace paritect {

ValueId EvaluateExpression(ScriptMachine& machine, NodeId node);

// Whether the value holds as a condition; nullopt where that is not known.
std::optional<bool> TruthOf(const ScriptMachine& machine, ValueId value);

// What a loop over the value gives each time.
ValueId ElementOf(ScriptMachine& machine, ValueId over);
// The items of a short list of constants or objects, which a loop takes one by one; empty: one unknown element.
std::vector<ValueId> UnrolledItems(const ScriptMachine& machine, ValueId over);

ValueId AttributeOf(ScriptMachine& machine, ValueId object, absl::string_view name);
// An attribute that the project's class or its bases in the project define; kNoValue.
ValueId ClassAttribute(const ScriptMachine& machine, ValueId of_class, absl::string_view name);
// The names of the frameworks' classes that it derives from, nearest first.
std::vector<std::string> FrameworkBases(const ScriptMachine& machine, ValueId of_class);

// The text of a string literal without quotes and escapes that matter little; nullopt for a formatted one.
std::optional<std::string> LiteralText(absl::string_view literal);

// An unknown value of that name; names of ranks and world sizes tell what they are.
ValueId UnknownOfName(ScriptMachine& machine, absl::string_view name);

// A value of which only what it was derived from is known.
ValueId Derived(ScriptMachine& machine, std::string symbol, std::initializer_list<ValueId> from);

// What stands under a path of a configuration: "model.hidden_size".
ValueId ConfigurationValue(ScriptMachine& machine, ValueId configuration, absl::string_view name);

// The value of an environment variable.
ValueId EnvironmentValue(ScriptMachine& machine, absl::string_view name, ValueId fallback);

// Whether the value is a module, cell or model that is trained: an instance of a project's class that derives from one,
// an object of a framework, or what wraps it. Gives the innermost; kNoValue.
ValueId ModuleOf(const ScriptMachine& machine, ValueId value);
bool IsModuleType(absl::string_view type);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_EXPRESSIONS_H_
