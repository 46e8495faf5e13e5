// paritect completion bash|zsh|fish: completion scripts, made from the commands' own declarations: every command tells
// its options when it is called with kListOptions (client/arguments.h), so a new command completes by itself.
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/audit_options.h"
#include "common/nearest.h"
#include "client/renderer.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect completion";
constexpr absl::string_view kSummary = "print a completion script for bash, zsh or fish";

struct OptionWords {
  std::string name;  // "--baseline"
  std::string help;
};

// What the command declares: lines "--name\thelp".
std::vector<OptionWords> OptionsOf(const Command& command, const CommandEnv& env) {
  std::ostringstream out;
  std::ostringstream err;
  CommandEnv quiet = {.fs = env.fs, .out = out, .err = err, .rules = env.rules, .getenv = env.getenv};
  command.run(quiet, {std::string(kListOptions)});
  std::vector<OptionWords> options;
  for (absl::string_view line : absl::StrSplit(out.str(), '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits('\t', 1));
    if (absl::StartsWith(parts.first, "-")) options.push_back({parts.first, parts.second});
  }
  return options;
}

std::string Names(const std::vector<OptionWords>& options) {
  return absl::StrJoin(options, " ", [](std::string* out, const OptionWords& one) { out->append(one.name); });
}

std::string Formats() {
  return absl::StrJoin(AllRenderers(), " ",
                       [](std::string* out, const Renderer* one) { out->append(one->name.data(), one->name.size()); });
}

std::string CommandNames() {
  return absl::StrJoin(AllCommands(), " ",
                       [](std::string* out, const Command* one) { out->append(one->name.data(), one->name.size()); });
}

// The cases of one `case "$1" in` that give a command's options; bash and zsh share the syntax.
std::string OptionCases(const CommandEnv& env) {
  std::string cases;
  for (const Command* command : AllCommands()) {
    if (command->name == "completion") {
      absl::StrAppend(&cases, "    completion) choices=\"bash zsh fish\" ;;\n");
      continue;
    }
    absl::StrAppend(&cases, "    ", command->name, ") choices=\"", Names(OptionsOf(*command, env)), "\" ;;\n");
  }
  return cases;
}

// Words after an option, shared by bash and zsh.
std::string ValueCases(const CommandEnv& env) {
  return absl::StrCat("    --item) choices=\"", absl::StrJoin(CatalogueIds(env.rules, false), " "), "\" ;;\n",
                      "    --lang) choices=\"en zh en,zh\" ;;\n    --color) choices=\"auto always never\" ;;\n",
                      "    -o|--output) choices=\"", Formats(), "\" ;;\n");
}

void Bash(const CommandEnv& env) {
  env.out << "# bash completion of paritect: source this file, or put it into /etc/bash_completion.d\n"
             "_paritect() {\n"
             "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" choices=\"\"\n"
             "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "    COMPREPLY=($(compgen -W \""
          << CommandNames()
          << " help\" -- \"$current\"))\n    return\n  fi\n"
             "  case \"$previous\" in\n"
          << ValueCases(env)
          << "  esac\n"
             "  if [ -z \"$choices\" ]; then\n    case \"${COMP_WORDS[1]}:$current\" in\n"
             "    explain:[!-]*|why:[!-]*|explain:|why:) choices=\""
          << absl::StrJoin(CatalogueIds(env.rules, true), " ")
          << "\" ;;\n    esac\n  fi\n"
             "  case \"$current\" in\n  -*) case \"${COMP_WORDS[1]}\" in\n"
          << OptionCases(env)
          << "  esac ;;\n  *) [ \"${COMP_WORDS[1]}\" = completion ] && choices=\"bash zsh fish\" ;;\n  esac\n"
             "  if [ -n \"$choices\" ]; then COMPREPLY=($(compgen -W \"$choices\" -- \"$current\"))\n"
             "  else COMPREPLY=($(compgen -f -- \"$current\")); fi\n"
             "}\n"
             "complete -o filenames -F _paritect paritect\n";
}

void Zsh(const CommandEnv& env) {
  env.out << "#compdef paritect\n"
             "# zsh completion of paritect: put this into a folder of $fpath as _paritect\n"
             "_paritect() {\n"
             "  local before=(${words}) choices=\"\" current=\"${words[CURRENT]}\" previous=\"${words[CURRENT-1]}\"\n"
             "  if (( CURRENT == 2 )); then\n    compadd -- "
          << CommandNames()
          << " help\n    return\n  fi\n"
             "  case \"$previous\" in\n"
          << ValueCases(env)
          << "  esac\n"
             "  if [[ -z \"$choices\" && \"$current\" != -* ]]; then\n    case \"${before[2]}\" in\n"
             "    explain|why) choices=\""
          << absl::StrJoin(CatalogueIds(env.rules, true), " ")
          << "\" ;;\n    completion) choices=\"bash zsh fish\" ;;\n    esac\n  fi\n"
             "  if [[ \"$current\" == -* ]]; then case \"${before[2]}\" in\n"
          << OptionCases(env)
          << "  esac; fi\n"
             "  if [[ -n \"$choices\" ]]; then compadd -- ${=choices}; else _files; fi\n"
             "}\n"
             "compdef _paritect paritect\n";
}

std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

void Fish(const CommandEnv& env) {
  env.out << "# fish completion of paritect: put this into ~/.config/fish/completions/paritect.fish\n";
  for (const Command* command : AllCommands()) {
    env.out << "complete -c paritect -n __fish_use_subcommand -f -a " << command->name << " -d "
            << FishQuoted(command->summary) << "\n";
    for (const OptionWords& option : OptionsOf(*command, env)) {
      const bool is_long = absl::StartsWith(option.name, "--");
      env.out << "complete -c paritect -n '__fish_seen_subcommand_from " << command->name << "' "
              << (is_long ? "-l " : "-s ") << option.name.substr(is_long ? 2 : 1) << " -d " << FishQuoted(option.help)
              << "\n";
    }
  }
  env.out << "complete -c paritect -n '__fish_seen_subcommand_from explain why' -f -a "
          << FishQuoted(absl::StrJoin(CatalogueIds(env.rules, true), " ")) << "\n"
          << "complete -c paritect -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  std::string shell;
  Arguments arguments(kName, kSummary);
  arguments.Text("shell", shell, "bash, zsh or fish", true);
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return UsageError(env, kName, parsed.status().message());
  if (!*parsed) {
    env.out << arguments.help();
    return kExitOk;
  }
  if (shell == "bash") {
    Bash(env);
  } else if (shell == "zsh") {
    Zsh(env);
  } else if (shell == "fish") {
    Fish(env);
  } else {
    return UsageError(env, kName,
                      absl::StrCat("there is no script for '", shell, "'; there are bash, zsh, fish",
                                   DidYouMean(shell, {"bash", "zsh", "fish"})));
  }
  return kExitOk;
}

}  // namespace

extern const Command kCompletionCommand;
const Command kCompletionCommand = {"completion", kSummary, &Run};

}  // namespace paritect
