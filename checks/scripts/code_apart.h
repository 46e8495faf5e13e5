// What the code of two sides does apart, where it is not known that it comes to the same.
#ifndef PARITECT_CHECKS_SCRIPTS_CODE_APART_H_
#define PARITECT_CHECKS_SCRIPTS_CODE_APART_H_

#include <string>

namespace paritect {

// "nn.utils.clip_grad_norm_(max_norm=1)" against "-".
struct CodeApart {
  std::string baseline;
  std::string migrated;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_CODE_APART_H_
