// Whether the observer's records hold a training's first step already: what an audit may be interested in while the
// training runs.
#ifndef PARITECT_CLIENT_RUN_FIRST_STEP_H_
#define PARITECT_CLIENT_RUN_FIRST_STEP_H_

#include <string>

#include "common/file_system.h"

namespace paritect {

// `folder`: of the records (docs/observer.md). What cannot be read holds none.
bool HoldsFirstStep(FileSystem& fs, const std::string& folder);

}  // namespace paritect

#endif  // PARITECT_CLIENT_RUN_FIRST_STEP_H_
