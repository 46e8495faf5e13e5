// Many names of nodes as people write them: "npu-[01-02,04-64] (63)".
#ifndef PARITECT_COMMON_NODE_NAMES_H_
#define PARITECT_COMMON_NODE_NAMES_H_

#include <string>
#include <vector>

namespace paritect {

// Names that are alike but for one number are folded into a pattern with ranges and their count, in order of name; few
// of them (`single_max` or less), and those that stand alone, stay as they are: "a1, npu-[01-02,04-64] (63)". Numbers
// of another width are other names: "n1" and "n01" are never one.
std::string FoldNodeNames(std::vector<std::string> names, std::size_t single_max = 3);

}  // namespace paritect

#endif  // PARITECT_COMMON_NODE_NAMES_H_
