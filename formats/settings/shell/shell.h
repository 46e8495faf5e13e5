// The part of a POSIX/bash script that decides a training command: assignments, arrays, expansions, line
// continuations, here documents, redirections, conditionals (both branches seen, what differs between them is
// unresolved), commands inside `bash -c "..."`. Nothing is executed.
#ifndef PARITECT_FORMATS_SETTINGS_SHELL_SHELL_H_
#define PARITECT_FORMATS_SETTINGS_SHELL_SHELL_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

struct ShellWord {
  std::string text;
  std::int64_t line = 0;  // where the word itself stands, also one that came in by a variable
  // A variable, command or branch in it is not known from the script: the text keeps it as "$NAME".
  bool unresolved = false;
  // It holds a default that the environment may replace (${NAME:-VALUE}), or a value of one branch only.
  bool fallback = false;
};

struct ShellCommand {
  std::vector<ShellWord> words;
  std::map<std::string, ShellWord> environment;  // NAME=VALUE before the command
};

struct ShellScript {
  std::vector<ShellCommand> commands;         // in order, assignments left out
  std::map<std::string, ShellWord> exported;  // export NAME=VALUE
  std::vector<ShellWord> sourced;             // files that `source` or `.` names; what they set is not known
};

// Reads a script of at most 4 MiB; expansions are bounded (64 KiB words, eight levels of defaults in defaults).
ShellScript ReadShellScript(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_SHELL_SHELL_H_
