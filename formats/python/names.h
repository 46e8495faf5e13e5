// The names that a definition uses, and those that it makes itself.
#ifndef PARITECT_FORMATS_PYTHON_NAMES_H_
#define PARITECT_FORMATS_PYTHON_NAMES_H_

#include <set>
#include <string>
#include <utility>

#include "formats/python/syntax.h"

namespace paritect {

struct Names {
  std::set<std::string> used;
  std::set<std::pair<std::string, std::string>> attributes;  // of a name: ("args", "size")
  std::set<std::string> own;
  std::string first;  // parameter
};

Names NamesIn(const SyntaxTree& tree, NodeId definition);

// Whether a child is no name of a value: an attribute, a keyword, the name of a definition.
bool IsNoValueName(const SyntaxTree& tree, NodeId node, NodeId child);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_NAMES_H_
