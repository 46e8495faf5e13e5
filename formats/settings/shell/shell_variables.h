// Variables of a shell script as far as the script tells them, and what ${...} and $((...)) make of them.
// Nothing is executed: what is not known stays as it is written and is marked.
#ifndef PARITECT_FORMATS_SETTINGS_SHELL_SHELL_VARIABLES_H_
#define PARITECT_FORMATS_SETTINGS_SHELL_SHELL_VARIABLES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

inline constexpr std::size_t kShellWordBytesMax = 64 << 10;

// A text of the script that remembers where its parts stand.
struct ShellText {
  std::string text;
  std::int64_t line = 0;                                    // of its first character
  std::vector<std::pair<std::size_t, std::int64_t>> lines;  // (offset, line) where another line begins
  // Parts [begin, end) that the script does not tell (the text keeps "$NAME"), and parts that the environment may
  // replace: ${NAME:-VALUE}, or set in one branch only.
  std::vector<std::pair<std::size_t, std::size_t>> unknown;
  std::vector<std::pair<std::size_t, std::size_t>> fallback;

  void MarkUnknown() { unknown = {{0, text.size()}}; }
  void MarkFallback() { fallback = {{0, text.size()}}; }
  // What stands in [begin, end), with its lines and marks.
  ShellText Part(std::size_t begin, std::size_t end) const;
  std::int64_t LineAt(std::size_t offset) const;
  // Beyond kShellWordBytesMax nothing is added.
  void Append(const ShellText& part);
};

bool IsShellName(char c);
// The place of the '}' that closes the "${" at `at`; npos where there is none.
std::size_t ClosingBrace(absl::string_view text, std::size_t at);

class ShellVariables {
 public:
  struct Expansion {
    std::vector<ShellText> items;
    bool words = false;  // every item is a word of its own, whatever blanks are in it: "${NAME[@]}"
  };

  // What "${INSIDE}" is; `written` is the whole expansion as it stands in the script.
  Expansion Expand(absl::string_view inside, absl::string_view written) const;
  // What "$((INSIDE))" is.
  ShellText Arithmetic(absl::string_view inside) const;

  struct Assignment {
    std::vector<ShellText> items;  // one of a plain variable
    bool array = false;
    bool append = false;       // NAME+=
    bool conditional = false;  // in a branch: another value before it makes it unknown
  };
  void Assign(const std::string& name, Assignment assignment);
  void Forget(const std::string& name) { variables_.erase(name); }
  // A variable that takes several values (a loop's).
  void SetUnknown(const std::string& name);
  // Its value; nullptr where the script does not assign it.
  const ShellText* Find(const std::string& name) const;

 private:
  struct Variable {
    std::vector<ShellText> items;
    bool array = false;
  };
  const Variable* Known(absl::string_view name) const;
  ShellText Fallback(absl::string_view text, int depth) const;
  Expansion ExpandAt(absl::string_view inside, absl::string_view written, int depth) const;

  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_SHELL_SHELL_VARIABLES_H_
