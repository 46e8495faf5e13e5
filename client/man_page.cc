#include "client/man_page.h"

#include <sstream>

#include "common/arguments.h"
#include "common/man_page.h"
#include "common/version.h"

namespace paritect {

std::string ManPage(const CommandEnv& env) {
  ManProgram program = {
      .name = "paritect",
      .section = 1,
      .summary = "audit a migrated training run against its baseline",
      .synopsis = {"[--lang LANG] [--color WHEN] [--rules DIR] COMMAND [options]", "check BASELINE MIGRATED"},
      .commands = {},
      .exit_status =
          "0 nothing failed; 1 something failed; 2 usage, plan or configuration error; 3 a required "
          "check was not performed (with --complete); 4 server not reachable or refused; 5 timed "
          "out; 6 some nodes silent; 7 internal error."};
  for (const Command* command : AllCommands()) {
    std::ostringstream lines;
    std::ostringstream err;
    CommandEnv quiet = {.fs = env.fs, .out = lines, .err = err, .rules = env.rules, .getenv = env.getenv};
    command->run(quiet, {std::string(kListOptions)});
    program.commands.push_back({std::string(command->name), "", std::string(command->summary), lines.str()});
  }
  return ManPageOf(program, kProgramVersion);
}

}  // namespace paritect
