// The code of a definition without what changes nothing of it: comments, blanks, type hints, documentation, the form
// of quotes and numbers, the names of a function's own variables.
#ifndef PARITECT_FORMATS_PYTHON_PLAIN_CODE_H_
#define PARITECT_FORMATS_PYTHON_PLAIN_CODE_H_

#include <string>

#include "formats/python/syntax.h"

namespace paritect {

// Of a function, without its own name; of a class with the names of its functions. Blocks keep their ends: the same
// statement inside a condition and behind it are two codes.
std::string PlainCode(const SyntaxTree& tree, NodeId definition);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_PLAIN_CODE_H_
