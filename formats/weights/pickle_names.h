// Which names a checkpoint's pickle may use. Nothing is run here; who loads the file with its framework runs what it
// calls.
#ifndef PARITECT_FORMATS_WEIGHTS_PICKLE_NAMES_H_
#define PARITECT_FORMATS_WEIGHTS_PICKLE_NAMES_H_

#include "absl/strings/string_view.h"

namespace paritect {

// Names as PickleView::NameOf gives them: "torch._utils._rebuild_tensor_v2", "builtins.set".

// Acts on the machine or makes code: no checkpoint names it, called or not.
bool IsActingName(absl::string_view name);

// Makes a value and does nothing else. Of Python's own library what is listed; of other code its classes (a file may
// hold anybody's settings) and the functions that checkpoints are known to call.
bool MayBeCalled(absl::string_view name);

// By the custom of Python: CamelCase names are classes.
bool IsClassName(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_PICKLE_NAMES_H_
