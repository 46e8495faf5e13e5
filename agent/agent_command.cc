#include "agent/agent_command.h"

#include <sstream>

#include "common/man_page.h"
#include "common/version.h"
#include "rules/rules_folder.h"

namespace paritect {

#define PARITECT_AGENT_COMMAND(name) extern const AgentCommand kAgent##name##Command;
#include "agent/all_agent_commands.inc"
#undef PARITECT_AGENT_COMMAND

absl::Span<const AgentCommand* const> AllAgentCommands() {
  static constexpr const AgentCommand* kAll[] = {
#define PARITECT_AGENT_COMMAND(name) &kAgent##name##Command,
#include "agent/all_agent_commands.inc"
#undef PARITECT_AGENT_COMMAND
  };
  return kAll;
}

namespace {

void PrintUsage(std::ostream& out) {
  out << "usage:\n";
  for (const AgentCommand* command : AllAgentCommands()) {
    out << "  paritect-agent " << command->name << (command->usage.empty() ? "" : " ") << command->usage << "\n      "
        << command->summary << "\n";
  }
  out << kRulesOptionHelp << "\n";
}

std::string ManPage(const AgentEnv& env) {
  ManProgram program = {.name = "paritect-agent",
                        .section = 8,
                        .summary = "collect the evidence of training runs on a node",
                        .synopsis = {"[--rules DIR] COMMAND [options]"},
                        .commands = {},
                        .exit_status =
                            "0 done; 1 failed; 2 usage, plan or configuration error; 4 server not "
                            "reachable or refused; 7 internal error."};
  for (const AgentCommand* command : AllAgentCommands()) {
    std::ostringstream lines;
    std::ostringstream err;
    AgentEnv quiet = {.fs = env.fs, .out = lines, .err = err, .rules = env.rules, .host_name = env.host_name};
    const bool declares = command->run(quiet, std::vector<std::string>{std::string(kListOptions)}) == kAgentOk;
    program.commands.push_back({std::string(command->name), std::string(command->usage), std::string(command->summary),
                                declares ? lines.str() : ""});
  }
  return ManPageOf(program, kProgramVersion);
}

}  // namespace

std::optional<int> ParseOrTell(Arguments& arguments, absl::string_view verb, absl::Span<const std::string> args,
                               AgentEnv& env) {
  const auto parsed = arguments.Parse({args.begin(), args.end()});
  if (!parsed.ok()) {
    env.err << "paritect-agent " << verb << ": " << parsed.status().message() << "; see `paritect-agent " << verb
            << " --help`\n";
    return kAgentUsage;
  }
  if (*parsed) return std::nullopt;
  env.out << arguments.help();
  return kAgentOk;
}

int RunAgentCommandLine(AgentEnv& env, absl::Span<const std::string> args) {
  if (args.empty()) {
    PrintUsage(env.err);
    return kAgentUsage;
  }
  if (args.size() > 1 && args[0] == "help" && args[1] == "man") {
    env.out << ManPage(env);
    return kAgentOk;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintUsage(env.out);
    return kAgentOk;
  }
  const std::string name = args[0] == "--version" ? "version" : args[0];
  for (const AgentCommand* command : AllAgentCommands()) {
    if (command->name == name) return command->run(env, args.subspan(1));
  }
  env.err << "paritect-agent: no command '" << name << "'; `paritect-agent help` lists them\n";
  return kAgentUsage;
}

}  // namespace paritect
