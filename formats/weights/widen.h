// Elements of any type as numbers.
#ifndef PARITECT_FORMATS_WEIGHTS_WIDEN_H_
#define PARITECT_FORMATS_WEIGHTS_WIDEN_H_

#include <cstddef>

#include "formats/weights/dtype.h"

namespace paritect {

// How values of a type are taken. A complex element is two values.
struct ValueForm {
  enum class As { kNone, kFloat, kDouble } as = As::kNone;  // kNone: packed below a byte, or quantised
  int values_per_element = 1;
  int value_bytes = 0;
  double smallest_normal = 0;  // 0: no subnormals
};
ValueForm ValueFormOf(DType type);

// `count` values from little-endian bytes: exact. 64-bit integers beyond 2^53 are rounded.
void WidenToFloat(DType type, const char* bytes, std::size_t count, float* values);    // forms of kFloat
void WidenToDouble(DType type, const char* bytes, std::size_t count, double* values);  // forms of kDouble

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_WIDEN_H_
