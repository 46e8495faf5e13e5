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

// What it is given at that place, or by that name; kNoValue.
inline ValueId Argument(const ApiCall& call, std::size_t number) {
  std::size_t position = 0;
  for (const CallArgument& one : call.arguments) {
    if (one.name.empty() && position++ == number) return one.value;
  }
  return kNoValue;
}
inline ValueId Named(const ApiCall& call, absl::string_view name) {
  for (const CallArgument& one : call.arguments) {
    if (one.name == name) return one.value;
  }
  return kNoValue;
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_PYTHON_API_CALL_H_
