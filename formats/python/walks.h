// os.walk: (folder, folders, files) of each folder, in an order that its sorted folders decide.
#ifndef PARITECT_FORMATS_PYTHON_WALKS_H_
#define PARITECT_FORMATS_PYTHON_WALKS_H_

#include "formats/python/machine.h"

namespace paritect {

bool IsWalk(ScriptMachine& machine, ValueId value);
// Of the three, the folders know the folder (`self`), whose order theirs decides.
ValueId ElementOfWalk(ScriptMachine& machine, ValueId walk);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_WALKS_H_
