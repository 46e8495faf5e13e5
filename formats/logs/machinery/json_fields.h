// The fields of one JSON object or Python dict on a line, without building a tree.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_JSON_FIELDS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_JSON_FIELDS_H_

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace paritect {

// `text` begins with '{'. Calls `visit(path, value)` for each scalar in order: keys of nested objects are joined by
// '.', an array is one value with its brackets, a string comes without its quotes (escapes are left as they are).
// Single quotes, None, True, NaN and tuples are taken as Python prints them. Returns the length of the object, or 0
// where it is not whole or not an object; what was visited before then is not to be used. Depth is bounded.
std::size_t ForEachJsonField(absl::string_view text,
                             absl::FunctionRef<void(absl::string_view path, absl::string_view value)> visit);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_JSON_FIELDS_H_
