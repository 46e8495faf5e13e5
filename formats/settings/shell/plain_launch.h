// Whether a launch script starts one program once: a list of plain commands, of which one is `python FILE`, and no
// launcher, loop, branch, function, substitution, sourced file or job array around it.
#ifndef PARITECT_FORMATS_SETTINGS_SHELL_PLAIN_LAUNCH_H_
#define PARITECT_FORMATS_SETTINGS_SHELL_PLAIN_LAUNCH_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

struct PlainLaunch {
  std::string command;  // "python train.py", without the script's arguments
  std::int64_t line = 0;
};

// Whatever is not understood makes it no plain launch. The script is named relatively: another folder may hold another
// file of that name.
std::optional<PlainLaunch> FindPlainLaunch(absl::string_view script);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_SHELL_PLAIN_LAUNCH_H_
