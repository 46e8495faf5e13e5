// Runs a command as if it had been started directly, and copies what it prints to a file.
//
// Standard input is the caller's. Standard output and error go through a pipe, or through a pseudo-terminal of their
// own where the caller's is a terminal, so that programs go on to draw progress bars; one copying process writes them
// to both places and lives until the last writer has closed: a background job that the command leaves behind goes on
// printing. The command stays in the caller's process group: what a terminal sends (Ctrl-C) reaches it directly; a
// signal sent to this process alone is passed on.
#ifndef PARITECT_CLIENT_RUN_WRAPPED_COMMAND_H_
#define PARITECT_CLIENT_RUN_WRAPPED_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paritect {

struct WrappedCommand {
  std::vector<std::string> words;        // words[0]: looked for in PATH
  std::vector<std::string> environment;  // "NAME=VALUE", all of it
  std::string output_path;               // made, must not be there
};

struct WrappedEnd {
  int code = 0;              // as a shell tells it: exit code, or 128 + signal; 127 not found, 126 may not be run
  std::string failure;       // why it could not be started; empty: it was
  bool output_whole = true;  // false: something is still printing
};

// Call it from the only thread. Internal: no pipe, no process, no output file; nothing was started then.
absl::StatusOr<WrappedEnd> RunWrapped(const WrappedCommand& command);

}  // namespace paritect

#endif  // PARITECT_CLIENT_RUN_WRAPPED_COMMAND_H_
