// A Python source as its statements, nothing executed: which of them run for certain, and which names stand for one
// literal. For readers of options that scripts set.
#ifndef PARITECT_FORMATS_SETTINGS_PYTHON_SOURCE_H_
#define PARITECT_FORMATS_SETTINGS_PYTHON_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

enum class PythonReach {
  kAlways,  // under no condition, or under one that is constant and holds; functions count as called, loops as entered
  kMaybe,   // under a condition that the source does not decide
  kNever,   // `if False:`, behind `if True:`
};

struct PythonStatement {
  absl::string_view text;  // one logical line, trimmed; points into the source
  std::int64_t line = 0;   // where it begins
  PythonReach reach = PythonReach::kAlways;
  int chain = -1;  // the if ... elif ... else that decides it, where that is a single one
  int branch = 0;  // of the chain
};

struct PythonSource {
  std::vector<PythonStatement> statements;
  // Branches of a chain; 0 where none of them need run (no `else`).
  std::vector<int> branches;
  // Names that are assigned once in the whole file, at top level, to a literal (also a {dictionary} or [list]).
  std::map<std::string, std::string, std::less<>> literals;
  // Names of imports and of attributes ("cudnn" -> "torch.backends.cudnn", "opts" -> "npu.global_options()").
  std::map<std::string, std::string, std::less<>> names;
};

// `plain`: without comments (WithoutPythonComments); must outlive the result. Brackets that never close, odd quotes and
// mixed indentation end with their line; time grows with the text.
PythonSource ReadPythonSource(absl::string_view plain);

// The place of the "=" of an assignment (the first one of `a = b = 1`), outside texts and brackets; npos for statements
// of other kinds, comparisons too.
std::size_t FindPythonAssignment(absl::string_view statement);

// Whether the text is one literal: a number, True, False, None, "text" or b"text" as a whole, a bracket (also
// dictionary) of literals, 2**16.
bool IsPythonLiteral(absl::string_view text);

// The text with a first name that stands for a module or an object put out in full: "cudnn.allow_tf32" ->
// "torch.backends.cudnn.allow_tf32".
std::string FullPythonName(const PythonSource& source, absl::string_view dotted);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_PYTHON_SOURCE_H_
