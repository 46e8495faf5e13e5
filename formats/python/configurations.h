// Objects that hold a run's options by name: what argparse, yacs, OmegaConf and mmengine give.
#ifndef PARITECT_FORMATS_PYTHON_CONFIGURATIONS_H_
#define PARITECT_FORMATS_PYTHON_CONFIGURATIONS_H_

#include "formats/python/machine.h"

namespace paritect {

// args, cfg, cfg.train.
bool IsConfiguration(const ScriptValue& value);
// cfg.get, cfg.update, cfg.merge_from_file: what such objects do.
bool IsOptionsMethod(absl::string_view name);
bool IsOptionsMerge(absl::string_view name);  // keys and values come from elsewhere

// Whether keys were set that the source does not tell: no constant that it holds is known from there on.
bool IsStirred(const ScriptMachine& machine, ValueId object);
void MarkStirred(ScriptMachine& machine, ValueId object);

// Takes down the file that options are read from: a name within `value` (`open("train.yaml")`), or that it is not told.
void NoteSettingsFile(ScriptMachine& machine, ValueId value);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_CONFIGURATIONS_H_
