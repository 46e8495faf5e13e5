// How an element's fp32 bits become two 64-bit numbers whose sums stand for the set of values. Only multiplications of
// 32 by 32 bits, which every vector unit has.
#ifndef PARITECT_FORMATS_WEIGHTS_VALUE_MIX_H_
#define PARITECT_FORMATS_WEIGHTS_VALUE_MIX_H_

#include <cstdint>

namespace paritect {

// Sums mod 2^64 of one mix of each element's fp32 bits. +0 adds nothing, so that padding does not count.
struct HashSums {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

namespace value_mix {

// Odd, without pattern: the first digits of sqrt(2), sqrt(3), ... in hexadecimal, made odd.
inline constexpr std::uint32_t kSpread = 0x6A09E667;
inline constexpr std::uint32_t kLow[3] = {0xBB67AE85, 0x3C6EF373, 0xA54FF53B};
inline constexpr std::uint32_t kHigh[3] = {0x510E527F, 0x9B05688D, 0x1F83D9AB};

inline constexpr std::uint32_t kNan = 0x7FC00000;  // stands for every NaN
inline constexpr std::uint32_t kInfinity = 0x7F800000;
inline constexpr std::uint32_t kMagnitude = 0x7FFFFFFF;
inline constexpr std::uint32_t kSign = 0x80000000;

// One round; 0 stays 0. The halves change places, so that the well mixed upper bits reach the lower ones.
constexpr std::uint64_t Stir(std::uint64_t h, int round) {
  const std::uint64_t low = (h & 0xFFFFFFFF) * kLow[round];
  const std::uint64_t high = (h >> 32) * kHigh[round];
  h = low + (high << 32 | high >> 32);
  return h ^ h >> 29;
}

constexpr HashSums Mix(std::uint32_t bits) {
  std::uint64_t h = static_cast<std::uint64_t>(bits) * kSpread;
  h ^= h >> 32;
  h = Stir(Stir(h, 0), 1);
  return {h, Stir(h, 2)};
}

// Of 64 bits that stand for no fp32 value.
constexpr HashSums MixWide(std::uint64_t bits) {
  const std::uint64_t h = Stir(Stir(Stir(bits, 2), 0), 1);
  return {h, Stir(h, 2)};
}

constexpr std::uint32_t OneNan(std::uint32_t bits) {
  return (bits & kMagnitude) > kInfinity ? kNan : bits;
}

// The fp32 bits of the nearest bf16 value, ties to even. Not for NaN.
constexpr std::uint32_t RoundToBf16(std::uint32_t bits) {
  return (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000;
}

// fp16: 11 bits of precision from 2^-14 on, steps of 2^-24 below, infinity from 65520 on.
inline constexpr std::uint32_t kFp16Infinite = 0x477FF000;  // 65520
inline constexpr std::uint32_t kFp16Normal = 0x38800000;    // 2^-14
inline constexpr std::uint32_t kHalf = 0x3F000000;          // 0.5, whose last place is 2^-24

}  // namespace value_mix
}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_VALUE_MIX_H_
