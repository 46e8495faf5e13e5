// The part of a POSIX/bash script that decides a training command: assignments, arrays, expansions, line
// continuations, conditionals (both branches seen, what differs between them is unresolved). Nothing is executed.
#ifndef PARITECT_FORMATS_SETTINGS_SHELL_H_
#define PARITECT_FORMATS_SETTINGS_SHELL_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

struct ShellWord {
  std::string text;
  std::int64_t line = 0;
  // A variable, command or branch in it is not known from the script: the text keeps it as "$NAME".
  bool unresolved = false;
};

struct ShellCommand {
  std::vector<ShellWord> words;
  std::map<std::string, ShellWord> environment;  // NAME=VALUE before the command
};

struct ShellScript {
  std::vector<ShellCommand> commands;         // in order, assignments left out
  std::map<std::string, ShellWord> exported;  // export NAME=VALUE
};

// Reads a script of at most 4 MiB; expansions are bounded (64 KiB words, 64 levels of variables in variables).
ShellScript ReadShellScript(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_SHELL_H_
