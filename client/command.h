// The contract of a command: one verb of `paritect`, one file in commands/.
#ifndef PARITECT_CLIENT_COMMAND_H_
#define PARITECT_CLIENT_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/live/live_node.h"
#include "client/exit_code.h"
#include "common/file_system.h"
#include "report/language.h"
#include "rules/rules.h"

namespace paritect {

class RemoteConnector;  // client/remote/remote_server.h

struct TerminalSize {
  int rows = 24;
  int columns = 80;
};

std::int64_t SystemUnixMs();
void SystemSleepMs(std::int64_t ms);

// The world a command runs in; tests give their own.
struct CommandEnv {
  FileSystem& fs;
  std::ostream& out;
  std::ostream& err;
  const Rules& rules;
  bool out_is_terminal = false;
  bool err_is_terminal = false;  // progress is shown there
  int terminal_columns = 100;
  std::string host_name;
  std::string today;                              // YYYY-MM-DD, UTC
  std::string (*getenv)(absl::string_view name);  // "" where unset
  const LiveNode* live = nullptr;                 // the node that `live: true` reads; nullptr: none
  std::string working_directory;                  // absolute: where a project file is looked for, upwards
  std::int64_t (*now_unix_ms)() = &SystemUnixMs;
  void (*sleep_ms)(std::int64_t ms) = &SystemSleepMs;
  TerminalSize (*progress_size)() = nullptr;  // of the terminal behind `err`, now; nullptr: 24 x 80
  RemoteConnector* connector = nullptr;       // nullptr: servers are out of reach
  // Of help, mistakes and listings: what `--lang` names first, else the environment's. Set by RunCommandLine.
  Language language = Language::kEnglish;
};

struct Command {
  absl::string_view name;
  absl::string_view summary;
  ExitCode (*run)(CommandEnv& env, const std::vector<std::string>& args);
};

absl::Span<const Command* const> AllCommands();

// "paritect NAME args": finds the command (or names the nearest) and runs it.
ExitCode RunCommandLine(CommandEnv& env, const std::vector<std::string>& args);

}  // namespace paritect

#endif  // PARITECT_CLIENT_COMMAND_H_
