#include "server/server_command.h"

#include <sstream>

#include "common/arguments.h"
#include "common/man_page.h"
#include "common/nearest.h"
#include "common/version.h"
#include "rules/rules_folder.h"

namespace paritect {

#define PARITECT_SERVER_COMMAND(name) extern const ServerCommand kServer##name##Command;
#include "server/all_server_commands.inc"
#undef PARITECT_SERVER_COMMAND

absl::Span<const ServerCommand* const> AllServerCommands() {
  static constexpr const ServerCommand* kAll[] = {
#define PARITECT_SERVER_COMMAND(name) &kServer##name##Command,
#include "server/all_server_commands.inc"
#undef PARITECT_SERVER_COMMAND
  };
  return kAll;
}

namespace {

void PrintUsage(std::ostream& out) {
  out << "paritect-server: keeps the evidence of a cluster and audits it\n\nusage: paritect-server COMMAND ...\n";
  for (const ServerCommand* command : AllServerCommands()) {
    out << "  " << command->name << std::string(12 - command->name.size(), ' ') << command->summary << "\n";
  }
  out << "`paritect-server COMMAND --help` tells its options.\n" << kRulesOptionHelp << "\n";
}

std::string ManPage(const ServerEnv& env) {
  ManProgram program = {.name = "paritect-server",
                        .section = 8,
                        .summary = "keep the evidence of a cluster and audit it",
                        .synopsis = {"[--rules DIR] COMMAND [options]"},
                        .commands = {},
                        .exit_status = "0 done; 1 failed; 2 usage or configuration error; 7 internal error."};
  for (const ServerCommand* command : AllServerCommands()) {
    std::ostringstream lines;
    std::ostringstream err;
    ServerEnv quiet = {lines, err, env.rules, env.host_name, env.clock};
    const bool declares = command->run(quiet, {std::string(kListOptions)}) == kServerOk;
    program.commands.push_back(
        {std::string(command->name), "", std::string(command->summary), declares ? lines.str() : ""});
  }
  return ManPageOf(program, kProgramVersion);
}

}  // namespace

int RunServerCommandLine(ServerEnv& env, const std::vector<std::string>& args) {
  if (args.empty()) {
    PrintUsage(env.err);
    return kServerUsage;
  }
  if (args.size() > 1 && args[0] == "help" && args[1] == "man") {
    env.out << ManPage(env);
    return kServerOk;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintUsage(env.out);
    return kServerOk;
  }
  const std::string name = args[0] == "--version" ? "version" : args[0];
  std::vector<std::string> names;
  for (const ServerCommand* command : AllServerCommands()) {
    if (command->name == name) return command->run(env, {args.begin() + 1, args.end()});
    names.emplace_back(command->name);
  }
  env.err << "paritect-server: no command '" << name << "'" << DidYouMean(name, names)
          << "; `paritect-server help` lists them\n";
  return kServerUsage;
}

int ServerError(ServerEnv& env, absl::string_view name, absl::string_view message, int code) {
  env.err << "paritect-server " << name << ": " << message << "\n";
  return code;
}

}  // namespace paritect
