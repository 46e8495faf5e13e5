// The command line as a whole: options before the command, help, the command itself.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/command.h"
#include "client/global_options.h"
#include "client/localise.h"
#include "client/localised_lines.h"
#include "client/man_page.h"
#include "common/nearest.h"
#include "common/utf8.h"
#include "rules/rules_folder.h"

namespace paritect {
namespace {

// What somebody who has two folders and nothing else wants to know.
constexpr std::pair<absl::string_view, absl::string_view> kFirstSteps[] = {
    {"check GPU NPU", "two folders that runs left behind, the baseline (GPU) first: what differs, why, what to do"},
    {"diagnose GPU NPU", "the same as a walk: from the symptom to its cause, step by step"},
    {"explain", "the checklist: what is asked, and what each check needs"}};

void PrintCommands(Language language, std::ostream& out) {
  const auto say = [language](absl::string_view text) { return Localised(language, text); };
  out << say("usage: paritect COMMAND [options]") << "\n\n" << say("to begin with:") << "\n";
  for (const auto& [line, summary] : kFirstSteps) {
    out << "  paritect " << line << std::string(20 - line.size(), ' ') << say(summary) << "\n";
  }
  out << "\n" << say("commands:") << "\n";
  for (const Command* command : AllCommands()) {
    out << "  " << command->name << std::string(12 - std::min<std::size_t>(11, command->name.size()), ' ')
        << say(command->summary) << "\n";
  }
  out << "\n" << say("`paritect help COMMAND` tells a command's options.") << "\n" << say(kRulesOptionHelp) << "\n";
}

}  // namespace

ExitCode RunCommandLine(CommandEnv& env, const std::vector<std::string>& all_args) {
  env.language = LanguageOfCommandLine(all_args, env.getenv);
  const LocalisedLines lines(env.language, env.err);
  auto placed = PlaceGlobalOptions(env, all_args);
  if (!placed.ok()) {
    env.err << "paritect: " << placed.status().message() << "\n";
    return kExitUsage;
  }
  std::vector<std::string> args = *std::move(placed);
  if (args.size() > 1 && args[0] == "help") {
    if (args[1] == "man") {
      env.out << ManPage(env);
      return kExitOk;
    }
    // `help audit run` is `audit run --help`.
    args.erase(args.begin());
    args.emplace_back("--help");
  }
  if (args.empty()) {
    PrintCommands(env.language, env.err);
    return kExitUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintCommands(env.language, env.out);
    return kExitOk;
  }
  const std::string name = args[0] == "--version" ? "version" : args[0];
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  for (const Command* command : AllCommands()) {
    if (command->name == name) return command->run(env, rest);
  }
  std::vector<std::string> names;
  for (const Command* command : AllCommands()) names.emplace_back(command->name);
  const std::string mistake = absl::StrCat("no command '", DisplayBytes(name), "'", DidYouMean(name, names));
  env.err << "paritect: " << Localised(env.language, mistake) << "\n"
          << Localised(env.language, "`paritect help` lists the commands") << "\n";
  return kExitUsage;
}

}  // namespace paritect
