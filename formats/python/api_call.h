// One call of a function or method that the project did not write.
#ifndef PARITECT_FORMATS_PYTHON_API_CALL_H_
#define PARITECT_FORMATS_PYTHON_API_CALL_H_

#include <string>
#include <vector>

#include "formats/python/machine.h"

namespace paritect {

struct ApiCall {
  std::string name;             // in full
  ValueId receiver = kNoValue;  // the object, of a method
  const std::vector<CallArgument>& arguments;
  NodeId node = kNoNode;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_API_CALL_H_
