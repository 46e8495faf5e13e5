#include "formats/weights/value_sums.h"

namespace paritect {

void AddFloats(const float* values, std::size_t count, const ValueOptions& options, ValueSums& sums) {
  AddFloatsPlain(values, count, options, sums);
}

}  // namespace paritect
