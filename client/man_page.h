// The manual page paritect(1), made from what the commands declare of themselves. The build writes it
// (client/CMakeLists).
#ifndef PARITECT_CLIENT_MAN_PAGE_H_
#define PARITECT_CLIENT_MAN_PAGE_H_

#include <string>

#include "client/command.h"

namespace paritect {

// In man(7) macros.
std::string ManPage(const CommandEnv& env);

}  // namespace paritect

#endif  // PARITECT_CLIENT_MAN_PAGE_H_
