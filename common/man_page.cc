#include "common/man_page.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace paritect {
namespace {

// Text that roff shows as it stands: signs are signs, and no line begins a request.
std::string Roff(absl::string_view text) {
  std::string out = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n", " "}});
  return absl::StartsWith(out, ".") || absl::StartsWith(out, "'") ? absl::StrCat("\\&", out) : out;
}

// An entry for each line that a command declares.
std::string Entries(absl::string_view declared) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(declared, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('\t', 1));
    if (!absl::StrContains(line, '\t')) continue;  // the version that a command prints
    if (absl::StrContains(parts.first, "-h") && absl::StrContains(parts.second, "print this help")) continue;
    if (absl::StrContains(parts.first, "--help")) continue;
    absl::StrAppend(&out, ".TP\n.B ", Roff(parts.first), "\n", Roff(parts.second), "\n");
  }
  return out;
}

}  // namespace

std::string ManPageOf(const ManProgram& program, absl::string_view version) {
  const std::string bold = absl::StrCat(".B ", Roff(program.name), "\n");
  std::string page =
      absl::StrCat(".TH ", absl::AsciiStrToUpper(program.name), " ", program.section, " \"\" \"paritect ", version,
                   "\" \"", program.section == 8 ? "System Administration" : "User Commands", "\"\n.SH NAME\n",
                   Roff(program.name), " \\- ", Roff(program.summary), "\n.SH SYNOPSIS\n");
  for (std::size_t i = 0; i < program.synopsis.size(); ++i) {
    absl::StrAppend(&page, i == 0 ? "" : ".br\n", bold, Roff(program.synopsis[i]), "\n");
  }
  absl::StrAppend(&page, ".SH COMMANDS\n");
  for (const ManCommand& command : program.commands) {
    absl::StrAppend(&page, ".SS ", Roff(command.name), "\n", Roff(command.summary), "\n");
    if (!command.usage.empty()) {
      absl::StrAppend(&page, ".PP\n.B ", Roff(program.name), " ", Roff(command.name), "\n", Roff(command.usage), "\n");
    }
    absl::StrAppend(&page, Entries(command.declared));
  }
  absl::StrAppend(&page, ".SH EXIT STATUS\n", Roff(program.exit_status), "\n");
  return page;
}

}  // namespace paritect
