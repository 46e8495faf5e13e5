// What those who make hashes of tensors (formats/weights) and those who compare them (checks/weights) share.
#ifndef PARITECT_COMMON_TENSOR_HASHES_H_
#define PARITECT_COMMON_TENSOR_HASHES_H_

#include <cstdint>

namespace paritect {

// Weights of places in LayoutHash: w^i mod 2^64, w 5 mod 8, so that its powers come again after 2^62 places only. A sum
// over parts that follow each other is that of the whole once each part's is multiplied by the weight of where it
// begins.
inline constexpr std::uint64_t kPlaceWeight = 0x9B05688C2B3E6C1D;
static_assert(kPlaceWeight % 8 == 5);

// w^place.
constexpr std::uint64_t PlaceWeight(std::uint64_t place) {
  std::uint64_t weight = 1;
  for (std::uint64_t power = kPlaceWeight; place > 0; place >>= 1, power *= power) {
    if ((place & 1) != 0) weight *= power;
  }
  return weight;
}

// What -0 adds to a ValueHash, so that it can be taken for 0.
inline constexpr std::uint64_t kNegativeZeroLow = 0xEEDC43F7919AC1D6;
inline constexpr std::uint64_t kNegativeZeroHigh = 0x5128FE2A0FD9DD1F;

}  // namespace paritect

#endif  // PARITECT_COMMON_TENSOR_HASHES_H_
