// The verbs of paritect-server, one file each in commands/, one line each in all_server_commands.inc.
#ifndef PARITECT_SERVER_SERVER_COMMAND_H_
#define PARITECT_SERVER_SERVER_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rules/rules.h"
#include "server/wall_clock.h"

namespace paritect {

// Exit codes as the client has them (docs: exit codes).
inline constexpr int kServerOk = 0;
inline constexpr int kServerFailed = 1;
inline constexpr int kServerUsage = 2;
inline constexpr int kServerInternal = 7;

// The world a command runs in; tests give their own.
struct ServerEnv {
  std::ostream& out;
  std::ostream& err;
  const Rules& rules;
  std::string host_name;
  WallClock clock;
};

struct ServerCommand {
  absl::string_view name;
  absl::string_view summary;
  int (*run)(ServerEnv& env, const std::vector<std::string>& args);
};

absl::Span<const ServerCommand* const> AllServerCommands();

// "paritect-server NAME args".
int RunServerCommandLine(ServerEnv& env, const std::vector<std::string>& args);

// "paritect-server NAME: message" on standard error; gives `code`.
int ServerError(ServerEnv& env, absl::string_view name, absl::string_view message, int code);

}  // namespace paritect

#endif  // PARITECT_SERVER_SERVER_COMMAND_H_
