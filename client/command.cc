#include "client/command.h"

#include <algorithm>

namespace paritect {

#define PARITECT_COMMAND(name) extern const Command k##name##Command;
#include "client/all_commands.inc"
#undef PARITECT_COMMAND

absl::Span<const Command* const> AllCommands() {
  static constexpr const Command* kAll[] = {
#define PARITECT_COMMAND(name) &k##name##Command,
#include "client/all_commands.inc"
#undef PARITECT_COMMAND
  };
  return kAll;
}

namespace {

void PrintCommands(std::ostream& out) {
  out << "usage: paritect COMMAND [options]\n\ncommands:\n";
  for (const Command* command : AllCommands()) {
    out << "  " << command->name << std::string(12 - std::min<std::size_t>(11, command->name.size()), ' ')
        << command->summary << "\n";
  }
  out << "\n`paritect COMMAND --help` tells a command's options.\n";
}

// Levenshtein distance of two short words.
std::size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

const Command* Nearest(absl::string_view name) {
  const Command* best = nullptr;
  std::size_t best_distance = 3;
  for (const Command* command : AllCommands()) {
    const std::size_t distance = EditDistance(name.substr(0, 40), command->name);
    if (distance < best_distance) {
      best = command;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

ExitCode RunCommandLine(CommandEnv& env, const std::vector<std::string>& args) {
  if (args.empty()) {
    PrintCommands(env.err);
    return kExitUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintCommands(env.out);
    return kExitOk;
  }
  const std::string name = args[0] == "--version" ? "version" : args[0];
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  for (const Command* command : AllCommands()) {
    if (command->name == name) return command->run(env, rest);
  }
  env.err << "paritect: no command '" << name << "'";
  if (const Command* nearest = Nearest(name)) env.err << "; did you mean '" << nearest->name << "'?";
  env.err << "\n`paritect help` lists the commands\n";
  return kExitUsage;
}

}  // namespace paritect
