// One element at a time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/tensor_hashes.h"
#include "formats/weights/value_mix.h"
#include "formats/weights/value_sums.h"

namespace paritect {
namespace {

using namespace value_mix;

static_assert(Mix(kSign).low == kNegativeZeroLow && Mix(kSign).high == kNegativeZeroHigh);

// `place`: where the mix goes, or null.
void Add(HashSums& sums, const HashSums& mix, std::uint64_t* place) {
  sums.low += mix.low;
  sums.high += mix.high;
  if (place != nullptr) *place = mix.low;
}

// Not for NaN.
std::uint32_t RoundToFp16(std::uint32_t bits) {
  const std::uint32_t sign = bits & kSign;
  const std::uint32_t size = bits & kMagnitude;
  if (size >= kFp16Infinite) return sign | kInfinity;
  if (size >= kFp16Normal) return sign | ((size + 0xFFF + (size >> 13 & 1)) & ~std::uint32_t{0x1FFF});
  const float half = std::bit_cast<float>(kHalf);
  return sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + half - half);
}

void AddHashes(std::uint32_t bits, bool rounded, const ValueMixes& mixes, ValueSums& sums) {
  const bool is_nan = (bits & kMagnitude) > kInfinity;
  if (is_nan) bits = kNan;
  Add(sums.values, Mix(bits), mixes.values);
  if (!rounded) return;
  Add(sums.as_bf16, Mix(is_nan ? bits : RoundToBf16(bits)), mixes.as_bf16);
  Add(sums.as_fp16, Mix(is_nan ? bits : RoundToFp16(bits)), mixes.as_fp16);
}

void AddStatistics(double value, std::size_t lane, double smallest_normal, ValueSums& sums) {
  if (std::isnan(value)) {
    ++sums.nan;
    return;
  }
  if (std::isinf(value)) {
    ++(value > 0 ? sums.positive_infinity : sums.negative_infinity);
    return;
  }
  if (value == 0) {
    ++sums.zero;
    if (std::signbit(value)) ++sums.negative_zero;
  } else if (std::fabs(value) < smallest_normal) {
    ++sums.subnormal;
  }
  sums.min = std::min(sums.min, value);
  sums.max = std::max(sums.max, value);
  const double square = value * value;
  sums.sum[lane] += value;
  sums.squares[lane] += square;
  sums.fourths[lane] += square * square;
}

}  // namespace

void AddFloatsPlain(const float* values, std::size_t count, const ValueOptions& options, ValueSums& sums) {
  sums.elements += count;
  for (std::size_t i = 0; i < count; ++i) {
    AddStatistics(values[i], i % ValueSums::kLanes, options.smallest_normal, sums);
    if (!options.hashes) continue;
    AddHashes(std::bit_cast<std::uint32_t>(values[i]), options.rounded_hashes, options.mixes.From(i), sums);
  }
}

void AddDoubles(const double* values, std::size_t count, const ValueOptions& options, ValueSums& sums) {
  sums.elements += count;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[i];
    AddStatistics(value, i % ValueSums::kLanes, options.smallest_normal, sums);
    if (!options.hashes) continue;
    const float narrow = static_cast<float>(value);
    if (std::isnan(value) || static_cast<double>(narrow) == value) {
      AddHashes(std::bit_cast<std::uint32_t>(narrow), false, options.mixes.From(i), sums);
    } else {
      Add(sums.values, MixWide(std::bit_cast<std::uint64_t>(value)), options.mixes.From(i).values);
    }
  }
}

double CombineLanes(const double (&lanes)[ValueSums::kLanes]) {
  double sums[ValueSums::kLanes];
  std::memcpy(sums, lanes, sizeof(sums));
  for (std::size_t half = ValueSums::kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

HashSums MixOf(std::uint32_t bits) {
  return Mix(bits);
}

}  // namespace paritect
