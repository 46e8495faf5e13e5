// The manual page of a program, made from what its commands declare of themselves (kListOptions in common/arguments.h).
// The build writes them (paritect_man_page in cmake/paritect_library.cmake).
#ifndef PARITECT_COMMON_MAN_PAGE_H_
#define PARITECT_COMMON_MAN_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

struct ManCommand {
  std::string name;
  std::string usage;  // what follows the name; "": its options tell
  std::string summary;
  std::string declared;  // lines "--option<tab>help", "verb<tab>help", "verb --option<tab>help"
};

struct ManProgram {
  std::string name;  // "paritect-agent"
  int section = 1;   // 8 for what an administrator runs
  std::string summary;
  std::vector<std::string> synopsis;  // what follows the program's name, a line each
  std::vector<ManCommand> commands;
  std::string exit_status;
};

// In man(7) macros.
std::string ManPageOf(const ManProgram& program, absl::string_view version);

}  // namespace paritect

#endif  // PARITECT_COMMON_MAN_PAGE_H_
