// Sums over the values of a tensor's elements that any CPU adds up to the same bits: statistics in 16 lanes, hashes
// that no layout changes.
#ifndef PARITECT_FORMATS_WEIGHTS_VALUE_SUMS_H_
#define PARITECT_FORMATS_WEIGHTS_VALUE_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "formats/weights/value_mix.h"

namespace paritect {

struct ValueSums {
  static constexpr std::size_t kLanes = 16;  // an element's lane is its index mod 16

  alignas(64) double sum[kLanes] = {};  // of the finite elements, as are the next two
  alignas(64) double squares[kLanes] = {};
  alignas(64) double fourths[kLanes] = {};
  double min = std::numeric_limits<double>::infinity();  // of the finite elements
  double max = -std::numeric_limits<double>::infinity();
  std::uint64_t elements = 0;
  std::uint64_t nan = 0;
  std::uint64_t positive_infinity = 0;
  std::uint64_t negative_infinity = 0;
  std::uint64_t zero = 0;  // both signs
  std::uint64_t negative_zero = 0;
  std::uint64_t subnormal = 0;
  HashSums values;
  HashSums as_bf16;  // of the values rounded to nearest even
  HashSums as_fp16;
};

// Where the mixes of single elements go (the low half), for who needs to know which stands where; room for all of a
// call. Null: not wanted. The rounded ones only with rounded_hashes.
struct ValueMixes {
  std::uint64_t* values = nullptr;
  std::uint64_t* as_bf16 = nullptr;
  std::uint64_t* as_fp16 = nullptr;

  ValueMixes From(std::size_t element) const {
    if (values == nullptr) return {};
    return {values + element, as_bf16 == nullptr ? nullptr : as_bf16 + element,
            as_fp16 == nullptr ? nullptr : as_fp16 + element};
  }
};

struct ValueOptions {
  double smallest_normal = 0;  // of the tensor's own type; 0: it has no subnormals
  bool hashes = true;
  bool rounded_hashes = false;  // as_bf16, as_fp16
  ValueMixes mixes = {};        // with hashes
};

// Adds `count` values. The first one's lane is 0: all but the last call take a multiple of 16.
void AddFloats(const float* values, std::size_t count, const ValueOptions& options, ValueSums& sums);
// The same, one element at a time: what the vectors are measured against in tests, and what CPUs without any run.
void AddFloatsPlain(const float* values, std::size_t count, const ValueOptions& options, ValueSums& sums);
// Values that fp32 does not hold: those that it does hold are mixed as by AddFloats. No rounded hashes.
void AddDoubles(const double* values, std::size_t count, const ValueOptions& options, ValueSums& sums);

// The sum over all lanes: pairwise, in one fixed order.
double CombineLanes(const double (&lanes)[ValueSums::kLanes]);

// The mix behind HashSums, of fp32 bits.
HashSums MixOf(std::uint32_t bits);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_VALUE_SUMS_H_
