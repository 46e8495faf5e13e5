// The sums by vectors, written once over Highway's and compiled for each kind of processor. Bit by bit what
// value_sums_plain.cc gives: lanes are added in the same order, products and sums are rounded one by one.
//
// Accumulators of the 16 lanes stay in memory: a vector's own count of lanes then does not matter, and the chain of
// loads and stores is shorter than the rest of the work. Values that need counting are rare: one comparison tells
// whether a vector holds any.
#include "formats/weights/value_sums.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "formats/weights/value_mix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "formats/weights/value_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paritect {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

inline std::size_t AddWhole(const float*, std::size_t, const ValueOptions&, ValueSums&) {
  return 0;
}

#else

// Sixteen lanes at the most, so that one round of them is one or more vectors.
using Floats = hn::CappedTag<float, ValueSums::kLanes>;
using Bits = hn::RebindToUnsigned<Floats>;
using Wide = hn::RepartitionToWide<Bits>;

template <class V>
HWY_INLINE hn::Vec<Wide> Stir(V h, int round) {
  const Bits d32;
  const Wide d64;
  const auto low = hn::MulEven(hn::BitCast(d32, h), hn::Set(d32, value_mix::kLow[round]));
  const auto high = hn::MulEven(hn::BitCast(d32, hn::ShiftRight<32>(h)), hn::Set(d32, value_mix::kHigh[round]));
  const auto turned = hn::BitCast(d64, hn::Reverse2(d32, hn::BitCast(d32, high)));
  const auto sum = hn::Add(low, turned);
  return hn::Xor(sum, hn::ShiftRight<29>(sum));
}

// Adds the mix of every other element of `bits`, the even ones; gives their low halves.
template <class V, class W>
HWY_INLINE W MixEven(V bits, W& low, W& high) {
  const Bits d32;
  const auto spread = hn::MulEven(bits, hn::Set(d32, value_mix::kSpread));
  const auto h = Stir(Stir(hn::Xor(spread, hn::ShiftRight<32>(spread)), 0), 1);
  low = hn::Add(low, h);
  high = hn::Add(high, Stir(h, 2));
  return h;
}

// `mixes`: where the first element's goes, or null.
template <class V, class W>
HWY_INLINE void Mix(V bits, W& low, W& high, std::uint64_t* mixes) {
  const Bits d32;
  const Wide d64;
  const auto even = MixEven(bits, low, high);
  const auto odd = MixEven(hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(d64, bits))), low, high);
  if (mixes != nullptr) hn::StoreInterleaved2(even, odd, d64, mixes);
}

template <class V>
HWY_INLINE V RoundToBf16(V bits) {
  const Bits d;
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  return hn::And(hn::Add(hn::Add(bits, hn::Set(d, 0x7FFF)), odd), hn::Set(d, 0xFFFF0000));
}

template <class V>
HWY_INLINE V RoundToFp16(V bits, V size) {
  const Bits d;
  const Floats df;
  const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(d, 1));
  const auto normal = hn::AndNot(hn::Set(d, 0x1FFF), hn::Add(hn::Add(size, hn::Set(d, 0xFFF)), odd));
  const auto half = hn::BitCast(df, hn::Set(d, value_mix::kHalf));
  const auto small = hn::BitCast(d, hn::Sub(hn::Add(hn::BitCast(df, size), half), half));
  auto rounded = hn::IfThenElse(hn::Lt(size, hn::Set(d, value_mix::kFp16Normal)), small, normal);
  const auto infinite = hn::Gt(size, hn::Set(d, value_mix::kFp16Infinite - 1));
  rounded = hn::IfThenElse(infinite, hn::Set(d, value_mix::kInfinity), rounded);
  return hn::Or(rounded, hn::And(bits, hn::Set(d, value_mix::kSign)));
}

// Zeros, subnormals and what is no finite number, of one vector that holds some.
template <class V>
HWY_NOINLINE void Count(V bits, V size, std::uint32_t smallest_normal, ValueSums& sums) {
  const Bits d;
  const auto zero = hn::Eq(size, hn::Zero(d));
  const auto infinite = hn::Eq(size, hn::Set(d, value_mix::kInfinity));
  const auto negative = hn::Ne(hn::And(bits, hn::Set(d, value_mix::kSign)), hn::Zero(d));
  const std::size_t zeros = hn::CountTrue(d, zero);
  const std::size_t infinities = hn::CountTrue(d, infinite);
  const std::size_t below = hn::CountTrue(d, hn::And(infinite, negative));
  sums.nan += hn::CountTrue(d, hn::Gt(size, hn::Set(d, value_mix::kInfinity)));
  sums.positive_infinity += infinities - below;
  sums.negative_infinity += below;
  sums.zero += zeros;
  sums.negative_zero += hn::CountTrue(d, hn::And(zero, negative));
  sums.subnormal += hn::CountTrue(d, hn::Lt(size, hn::Set(d, smallest_normal))) - (smallest_normal > 0 ? zeros : 0);
}

// `value` is finite or 0 in place of what is not.
template <class V>
HWY_INLINE void AddLanes(V value, std::size_t lane, ValueSums& sums) {
  const hn::Repartition<double, Floats> d64;
  const hn::Half<Floats> half;
  const std::size_t step = hn::Lanes(d64);
  for (int part = 0; part < 2; ++part) {
    const auto taken = part == 0 ? hn::LowerHalf(half, value) : hn::UpperHalf(half, value);
    const auto wide = hn::PromoteTo(d64, taken);
    const auto square = hn::Mul(wide, wide);
    const std::size_t at = lane + static_cast<std::size_t>(part) * step;
    hn::StoreU(hn::Add(hn::LoadU(d64, sums.sum + at), wide), d64, sums.sum + at);
    hn::StoreU(hn::Add(hn::LoadU(d64, sums.squares + at), square), d64, sums.squares + at);
    hn::StoreU(hn::Add(hn::LoadU(d64, sums.fourths + at), hn::Mul(square, square)), d64, sums.fourths + at);
  }
}

template <class V>
HWY_INLINE void AddSums(V low, V high, HashSums& sums) {
  const Wide d;
  sums.low += hn::GetLane(hn::SumOfLanes(d, low));
  sums.high += hn::GetLane(hn::SumOfLanes(d, high));
}

// The whole rounds of 16; gives how many values that were.
inline std::size_t AddWhole(const float* values, std::size_t count, const ValueOptions& options, ValueSums& sums) {
  const Floats df;
  const Bits d;
  const Wide d64;
  const std::size_t lanes = hn::Lanes(df);
  const std::size_t whole = count - count % ValueSums::kLanes;
  const auto smallest_normal = std::bit_cast<std::uint32_t>(static_cast<float>(options.smallest_normal));
  const auto counted_below = hn::Set(d, std::max<std::uint32_t>(smallest_normal, 1));
  const auto infinity = hn::Set(d, value_mix::kInfinity);
  auto low = hn::Zero(d64), high = hn::Zero(d64);
  auto bf16_low = hn::Zero(d64), bf16_high = hn::Zero(d64), fp16_low = hn::Zero(d64), fp16_high = hn::Zero(d64);
  auto min = hn::BitCast(df, infinity);
  auto max = hn::Neg(min);
  for (std::size_t i = 0; i < whole; i += lanes) {
    const auto value = hn::LoadU(df, values + i);
    auto bits = hn::BitCast(d, value);
    const auto size = hn::And(bits, hn::Set(d, value_mix::kMagnitude));
    const auto finite = hn::Lt(size, infinity);
    auto taken = value;
    const bool special = !hn::AllFalse(d, hn::Or(hn::Lt(size, counted_below), hn::Not(finite)));
    if (special) {
      Count(bits, size, smallest_normal, sums);
      const auto mask = hn::RebindMask(df, finite);
      taken = hn::IfThenElseZero(mask, value);
      min = hn::Min(min, hn::IfThenElse(mask, value, hn::BitCast(df, infinity)));
      max = hn::Max(max, hn::IfThenElse(mask, value, hn::Neg(hn::BitCast(df, infinity))));
    } else {
      min = hn::Min(min, value);
      max = hn::Max(max, value);
    }
    AddLanes(taken, i % ValueSums::kLanes, sums);
    if (!options.hashes) continue;
    const auto is_nan = hn::Gt(size, infinity);
    const auto nan = hn::Set(d, value_mix::kNan);
    const ValueMixes mixes = options.mixes.From(i);
    Mix(hn::IfThenElse(is_nan, nan, bits), low, high, mixes.values);
    if (!options.rounded_hashes) continue;
    Mix(hn::IfThenElse(is_nan, nan, RoundToBf16(bits)), bf16_low, bf16_high, mixes.as_bf16);
    Mix(hn::IfThenElse(is_nan, nan, RoundToFp16(bits, size)), fp16_low, fp16_high, mixes.as_fp16);
  }
  if (whole == 0) return 0;
  sums.elements += whole;
  sums.min = std::min(sums.min, static_cast<double>(hn::GetLane(hn::MinOfLanes(df, min))));
  sums.max = std::max(sums.max, static_cast<double>(hn::GetLane(hn::MaxOfLanes(df, max))));
  AddSums(low, high, sums.values);
  AddSums(bf16_low, bf16_high, sums.as_bf16);
  AddSums(fp16_low, fp16_high, sums.as_fp16);
  return whole;
}

#endif  // vectors

}  // namespace HWY_NAMESPACE
}  // namespace paritect
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paritect {

HWY_EXPORT(AddWhole);

void AddFloats(const float* values, std::size_t count, const ValueOptions& options, ValueSums& sums) {
  const std::size_t done = HWY_DYNAMIC_DISPATCH(AddWhole)(values, count, options, sums);
  if (done == count) return;
  ValueOptions rest = options;
  rest.mixes = options.mixes.From(done);
  AddFloatsPlain(values + done, count - done, rest, sums);
}

}  // namespace paritect
#endif  // HWY_ONCE
