// The code of a definition without what changes nothing of it: comments, blanks, type hints, documentation, the form
// of quotes and numbers, the names of a function's own variables.
#ifndef PARITECT_FORMATS_PYTHON_PLAIN_CODE_H_
#define PARITECT_FORMATS_PYTHON_PLAIN_CODE_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "formats/python/syntax.h"

namespace paritect {

// Of a function, without its own name; of a class with the names of its functions. Blocks keep their ends: the same
// statement inside a condition and behind it are two codes.
std::string PlainCode(const SyntaxTree& tree, NodeId definition);

// Of one statement, without the blocks in it. `told` gives the text in the place of a name or an attribute that is
// read: nullopt where it stands as it is.
std::string PlainStatement(const SyntaxTree& tree, NodeId statement,
                           absl::FunctionRef<std::optional<std::string>(NodeId)> told);

// 64-bit FNV-1a of code, which tells one function's text from another's.
std::string CodeMark(absl::string_view code);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_PLAIN_CODE_H_
