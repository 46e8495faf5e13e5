// What `version` prints of a program: version, commit, what it was built for and by, and the libraries it was built
// with.
#ifndef PARITECT_COMMON_BUILD_TEXT_H_
#define PARITECT_COMMON_BUILD_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// Lines, each with its end; the first is "PROGRAM VERSION".
std::string BuildText(absl::string_view program);

}  // namespace paritect

#endif  // PARITECT_COMMON_BUILD_TEXT_H_
