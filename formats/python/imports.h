// Imports: of the project's own modules, which are run where they are first imported, and of packages.
#ifndef PARITECT_FORMATS_PYTHON_IMPORTS_H_
#define PARITECT_FORMATS_PYTHON_IMPORTS_H_

#include "formats/python/machine.h"

namespace paritect {

void ExecuteImport(ScriptMachine& machine, NodeId statement);

// The project's module of that dotted name as the importing module sees it; -1. `level`: leading dots.
int FindModule(const std::vector<std::string>& paths, absl::string_view from, absl::string_view dotted, int level);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_IMPORTS_H_
