// The verbs of paritect-agent, one file each in commands/, one line each in all_agent_commands.inc.
#ifndef PARITECT_AGENT_AGENT_COMMAND_H_
#define PARITECT_AGENT_AGENT_COMMAND_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/live/live_node.h"
#include "common/arguments.h"
#include "common/atomic_file.h"
#include "common/file_system.h"
#include "rules/rules.h"

namespace paritect {

// Exit codes as the client has them (docs: exit codes).
inline constexpr int kAgentOk = 0;
inline constexpr int kAgentFailed = 1;
inline constexpr int kAgentUsage = 2;
inline constexpr int kAgentUnreachable = 4;  // server not reachable, or it refused
inline constexpr int kAgentInternal = 7;

// The world a command runs in; tests give their own.
struct AgentEnv {
  FileSystem& fs;
  std::ostream& out;
  std::ostream& err;
  const Rules& rules;
  std::string host_name;
  std::int64_t now_unix_ms = 0;
  // The node that `live: true` reads; nullptr: none.
  const LiveNode* live = nullptr;
  // Folder of the user's digest cache; empty: nothing is kept and every file is read.
  std::string digest_cache = {};
  // Writes a file in full or not at all.
  absl::Status (*write)(absl::string_view path,
                        absl::FunctionRef<absl::Status(WriteBytes)> produce) = &WriteFileInParts;
};

struct AgentCommand {
  absl::string_view name;
  absl::string_view usage;  // what follows the name
  absl::string_view summary;
  int (*run)(AgentEnv& env, absl::Span<const std::string> args);
};

absl::Span<const AgentCommand* const> AllAgentCommands();

// The options of a verb. nullopt: go on. Else the verb is over with this exit code, and the user has been told why.
std::optional<int> ParseOrTell(Arguments& arguments, absl::string_view verb, absl::Span<const std::string> args,
                               AgentEnv& env);

// "paritect-agent NAME args".
int RunAgentCommandLine(AgentEnv& env, absl::Span<const std::string> args);

}  // namespace paritect

#endif  // PARITECT_AGENT_AGENT_COMMAND_H_
