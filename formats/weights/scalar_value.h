// One element of a tensor as a plain value.
#ifndef PARITECT_FORMATS_WEIGHTS_SCALAR_VALUE_H_
#define PARITECT_FORMATS_WEIGHTS_SCALAR_VALUE_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "formats/weights/dtype.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

// `raw`: the element, little-endian. nullopt: a type that has no plain number (complex, packed, quantised).
std::optional<v1::Value> ScalarValue(DType type, absl::string_view raw);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_SCALAR_VALUE_H_
