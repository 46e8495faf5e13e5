#include "client/man_page.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/arguments.h"
#include "common/version.h"

namespace paritect {
namespace {

// Text that roff shows as it stands: signs are signs, and no line begins a request.
std::string Roff(absl::string_view text) {
  std::string out = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n", " "}});
  return absl::StartsWith(out, ".") || absl::StartsWith(out, "'") ? absl::StrCat("\\&", out) : out;
}

// Lines "--option<tab>help", "verb<tab>help", "verb --option<tab>help": an entry each.
std::string Declared(const Command& command, const CommandEnv& env) {
  std::ostringstream lines;
  std::ostringstream err;
  CommandEnv quiet = {.fs = env.fs, .out = lines, .err = err, .rules = env.rules, .getenv = env.getenv};
  command.run(quiet, {std::string(kListOptions)});
  std::string out;
  for (absl::string_view line : absl::StrSplit(lines.str(), '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('\t', 1));
    if (absl::StrContains(parts.first, "-h") && absl::StrContains(parts.second, "print this help")) continue;
    if (absl::StrContains(parts.first, "--help")) continue;
    absl::StrAppend(&out, ".TP\n.B ", Roff(parts.first), "\n", Roff(parts.second), "\n");
  }
  return out;
}

}  // namespace

std::string ManPage(const CommandEnv& env) {
  std::string page = absl::StrCat(".TH PARITECT 1 \"\" \"paritect ", kProgramVersion, "\" \"User Commands\"\n");
  absl::StrAppend(&page, ".SH NAME\nparitect \\- audit a migrated training run against its baseline\n",
                  ".SH SYNOPSIS\n.B paritect\n[--lang LANG] [--color WHEN] COMMAND [options]\n.br\n",
                  ".B paritect check\nBASELINE MIGRATED\n.SH COMMANDS\n");
  for (const Command* command : AllCommands()) {
    absl::StrAppend(&page, ".SS ", Roff(command->name), "\n", Roff(command->summary), "\n", Declared(*command, env));
  }
  absl::StrAppend(&page, ".SH EXIT STATUS\n",
                  "0 nothing failed; 1 something failed; 2 usage, plan or configuration error; ",
                  "3 a required check was not performed (with --complete); 4 server not reachable or refused; ",
                  "5 timed out; 6 some nodes silent; 7 internal error.\n");
  return page;
}

}  // namespace paritect
