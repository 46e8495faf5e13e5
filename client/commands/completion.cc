// paritect completion bash|zsh|fish: completion scripts, made from the commands' own declarations: every command tells
// its options when it is called with kListOptions (common/arguments.h), so a new command completes by itself.
#include <algorithm>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/remote/connection.h"
#include "client/report/audit_options.h"
#include "client/report/renderer.h"
#include "client/verbs.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect completion";
constexpr absl::string_view kSummary = "print a completion script for bash, zsh or fish";

struct OptionWords {
  std::string name;  // "--baseline"
  std::string help;
};

struct VerbWords {
  std::string name;
  std::string help;
  std::vector<OptionWords> options;
};

// What a command declares: options, and verbs with options of their own.
struct CommandWords {
  std::vector<OptionWords> options;
  std::vector<VerbWords> verbs;
};

// Lines "--name\thelp", "verb\thelp", "verb --name\thelp".
CommandWords WordsOf(const Command& command, const CommandEnv& env) {
  std::ostringstream out;
  std::ostringstream err;
  CommandEnv quiet = {.fs = env.fs, .out = out, .err = err, .rules = env.rules, .getenv = env.getenv};
  command.run(quiet, {std::string(kListOptions)});
  CommandWords words;
  for (absl::string_view line : absl::StrSplit(out.str(), '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits('\t', 1));
    const std::pair<std::string, std::string> name = absl::StrSplit(parts.first, absl::MaxSplits(' ', 1));
    if (absl::StartsWith(parts.first, "-")) {
      words.options.push_back({parts.first, parts.second});
    } else if (name.second.empty()) {
      words.verbs.push_back({name.first, parts.second, {}});
    } else if (!words.verbs.empty() && words.verbs.back().name == name.first) {
      words.verbs.back().options.push_back({name.second, parts.second});
    }
  }
  return words;
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

std::string VerbNames(const CommandWords& words) {
  return absl::StrJoin(words.verbs, " ", [](std::string* out, const VerbWords& one) { out->append(one.name); });
}

// The cases of one `case "COMMAND VERB " in` that give options; bash and zsh share the syntax.
std::string OptionCases(const CommandEnv& env) {
  std::string cases;
  for (const Command* command : AllCommands()) {
    if (command->name == "completion") {
      absl::StrAppend(&cases, "    \"completion \"*) choices=\"bash zsh fish\" ;;\n");
      continue;
    }
    const CommandWords words = WordsOf(*command, env);
    for (const VerbWords& verb : words.verbs) {
      absl::StrAppend(&cases, "    \"", command->name, " ", verb.name, " \"*) choices=\"", Names(verb.options),
                      "\" ;;\n");
    }
    absl::StrAppend(&cases, "    \"", command->name, " \"*) choices=\"", Names(words.options), "\" ;;\n");
  }
  return cases;
}

// The cases of one `case COMMAND in` that give the words in the place of a verb.
std::string VerbCases(const CommandEnv& env) {
  std::string cases = absl::StrCat("      completion) choices=\"bash zsh fish\" ;;\n      help) choices=\"",
                                   CommandNames(), "\" ;;\n");
  for (const Command* command : AllCommands()) {
    const std::string verbs = VerbNames(WordsOf(*command, env));
    if (!verbs.empty()) absl::StrAppend(&cases, "      ", command->name, ") choices=\"", verbs, "\" ;;\n");
  }
  return cases;
}

// What only the server knows: asked when the user completes, silently and in vain where none is reachable.
constexpr absl::string_view kAskAudits = "$(paritect completion names audits 2>/dev/null)";
constexpr absl::string_view kAskNodes = "$(paritect completion names nodes 2>/dev/null)";
constexpr absl::string_view kAskRuns = "$(paritect completion names runs 2>/dev/null)";

// The cases of one `case "COMMAND VERB" in` that give the word behind a verb; bash and zsh share the syntax.
std::string NameCases() {
  return absl::StrCat("      \"audit create\"|\"audit ls\") ;;\n      \"audit \"*) choices=\"", kAskAudits, "\" ;;\n",
                      "      \"node show\"|\"node revoke\") choices=\"", kAskNodes, "\" ;;\n",
                      "      \"runs show\") choices=\"", kAskRuns, "\" ;;\n");
}

// Words after an option, shared by bash and zsh.
std::string ValueCases(const CommandEnv& env) {
  return absl::StrCat("    --item) choices=\"", absl::StrJoin(CatalogueIds(env.rules, false), " "), "\" ;;\n",
                      "    --lang) choices=\"en zh en,zh\" ;;\n    --color) choices=\"auto always never\" ;;\n",
                      "    -o|--output) choices=\"", Formats(), "\" ;;\n", "    --audit) choices=\"", kAskAudits,
                      "\" ;;\n    --node) choices=\"", kAskNodes, "\" ;;\n",
                      "    --role) choices=\"agent viewer operator admin\" ;;\n",
                      "    --for) choices=\"done pass fail\" ;;\n");
}

void Bash(const CommandEnv& env) {
  env.out
      << "# bash completion of paritect: source this file, or put it into /etc/bash_completion.d\n"
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
         "    explain:[!-]*|why:[!-]*|attest:[!-]*|explain:|why:|attest:) choices=\""
      << absl::StrJoin(CatalogueIds(env.rules, true), " ")
      << "\" ;;\n    esac\n  fi\n"
         "  if [ -z \"$choices\" ]; then\n    case \"$current\" in\n"
         "    -*) case \"${COMP_WORDS[1]} ${COMP_WORDS[2]} \" in\n"
      << OptionCases(env)
      << "    esac ;;\n    *) if [ \"$COMP_CWORD\" -eq 2 ]; then\n      case \"${COMP_WORDS[1]}\" in\n"
      << VerbCases(env)
      << "      esac\n    elif [ \"$COMP_CWORD\" -eq 3 ]; then\n      case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n"
      << NameCases()
      << "      esac\n    fi ;;\n    esac\n  fi\n"
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
             "    explain|why|attest) choices=\""
          << absl::StrJoin(CatalogueIds(env.rules, true), " ")
          << "\" ;;\n    esac\n    if (( CURRENT == 3 )); then\n      case \"${before[2]}\" in\n"
          << VerbCases(env)
          << "      esac\n    elif (( CURRENT == 4 )); then\n      case \"${before[2]} ${before[3]}\" in\n"
          << NameCases()
          << "      esac\n    fi\n  fi\n"
             "  if [[ -z \"$choices\" && \"$current\" == -* ]]; then case \"${before[2]} ${before[3]} \" in\n"
          << OptionCases(env)
          << "  esac; fi\n"
             "  if [[ -n \"$choices\" ]]; then compadd -- ${=choices}; else _files; fi\n"
             "}\n"
             "compdef _paritect paritect\n";
}

std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

void FishOption(const CommandEnv& env, absl::string_view condition, const OptionWords& option) {
  const bool is_long = absl::StartsWith(option.name, "--");
  env.out << "complete -c paritect -n '" << condition << "' " << (is_long ? "-l " : "-s ")
          << option.name.substr(is_long ? 2 : 1) << " -d " << FishQuoted(option.help) << "\n";
}

void Fish(const CommandEnv& env) {
  env.out << "# fish completion of paritect: put this into ~/.config/fish/completions/paritect.fish\n";
  for (const Command* command : AllCommands()) {
    env.out << "complete -c paritect -n __fish_use_subcommand -f -a " << command->name << " -d "
            << FishQuoted(command->summary) << "\n";
    const CommandWords words = WordsOf(*command, env);
    const std::string seen = absl::StrCat("__fish_seen_subcommand_from ", command->name);
    for (const OptionWords& option : words.options) FishOption(env, seen, option);
    for (const VerbWords& verb : words.verbs) {
      env.out << "complete -c paritect -n '" << seen << "; and not __fish_seen_subcommand_from " << VerbNames(words)
              << "' -f -a " << verb.name << " -d " << FishQuoted(verb.help) << "\n";
      for (const OptionWords& option : verb.options) {
        FishOption(env, absl::StrCat(seen, "; and __fish_seen_subcommand_from ", verb.name), option);
      }
    }
  }
  env.out
      << "complete -c paritect -n '__fish_seen_subcommand_from help' -f -a " << FishQuoted(CommandNames()) << "\n"
      << "complete -c paritect -n '__fish_seen_subcommand_from explain why attest' -f -a "
      << FishQuoted(absl::StrJoin(CatalogueIds(env.rules, true), " ")) << "\n"
      << "complete -c paritect -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
      << "complete -c paritect -n '__fish_seen_subcommand_from audit; and __fish_seen_subcommand_from run show wait' "
         "-f -a '(paritect completion names audits 2>/dev/null)'\n"
      << "complete -c paritect -n '__fish_seen_subcommand_from node; and __fish_seen_subcommand_from show revoke' "
         "-f -a '(paritect completion names nodes 2>/dev/null)'\n"
      << "complete -c paritect -n '__fish_seen_subcommand_from runs; and __fish_seen_subcommand_from show' "
         "-f -a '(paritect completion names runs 2>/dev/null)'\n";
}

// One name a line.
absl::StatusOr<std::set<std::string>> NamesOnServer(RemoteServer& server, const std::string& what) {
  std::set<std::string> names;
  if (what == "audits") {
    PARITECT_ASSIGN_OR_RETURN(const v1::ListAuditsResponse audits, server.ListAudits({}));
    for (const v1::AuditRow& row : audits.audits()) names.insert(row.definition().name());
  } else if (what == "nodes") {
    PARITECT_ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes, server.ListNodes({}));
    for (const auto& row : nodes.nodes()) names.insert(row.node().name());
  } else {
    PARITECT_ASSIGN_OR_RETURN(const v1::ListRunsResponse runs, server.ListRuns({}));
    for (const auto& row : runs.runs()) names.insert(row.run());
  }
  return names;
}

ExitCode TellNames(CommandEnv& env, const std::string& what) {
  const std::vector<std::string> known = {"audits", "nodes", "runs"};
  if (std::find(known.begin(), known.end(), what) == known.end()) {
    return UsageError(env, kName, absl::StrCat("names of what? audits, nodes or runs", DidYouMean(what, known)));
  }
  RemoteArguments remote;
  remote.timeout = "2s";  // somebody waits for the words
  return WithServer(env, kName, remote, [&](Connection& connection) {
    const auto names = NamesOnServer(*connection.server, what);
    if (!names.ok()) return ServerError(env, kName, names.status());
    for (const std::string& name : *names) env.out << TerminalSafe(name) << "\n";
    return kExitOk;
  });
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  std::string shell;
  std::string names_of;
  Arguments arguments(kName, kSummary);
  arguments.Text("shell", shell, "bash, zsh or fish; `names` prints what the server knows, for these scripts", true);
  arguments.Text("what", names_of, "of `names`: audits, nodes or runs");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (shell == "names") return TellNames(env, names_of);
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
