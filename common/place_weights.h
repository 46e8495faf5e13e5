// Weights of places in sums that tell in which order numbers stand (LayoutHash): w^i mod 2^64. A sum over parts that
// follow each other is the sum over the whole once each part's is multiplied by the weight of where it begins.
#ifndef PARITECT_COMMON_PLACE_WEIGHTS_H_
#define PARITECT_COMMON_PLACE_WEIGHTS_H_

#include <cstdint>

namespace paritect {

// 5 mod 8, so that its powers come again after 2^62 places only; else without pattern.
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

}  // namespace paritect

#endif  // PARITECT_COMMON_PLACE_WEIGHTS_H_
