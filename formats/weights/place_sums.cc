// Written once over Highway's vectors and compiled for each kind of processor (value_sums.cc). Sums of whole numbers
// are the same in any order; of the others each is one addition.
#include "formats/weights/place_sums.h"

#include <array>
#include <bit>

#include "common/tensor_hashes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "formats/weights/place_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef PARITECT_FORMATS_WEIGHTS_PLACE_SUMS_ONCE_
#define PARITECT_FORMATS_WEIGHTS_PLACE_SUMS_ONCE_
namespace paritect::place_sums {

// The weights of a run's places, and their upper halves.
struct Weights {
  std::array<std::uint64_t, kRunMax + 1> whole = {1};
  std::array<std::uint64_t, kRunMax + 1> upper = {};
};
inline constexpr Weights kWeights = [] {
  Weights weights;
  for (std::size_t i = 1; i <= kRunMax; ++i) {
    weights.whole[i] = weights.whole[i - 1] * kPlaceWeight;
    weights.upper[i] = weights.whole[i] >> 32;
  }
  return weights;
}();

inline void AddToRun(const std::uint64_t* mixes, std::size_t from, std::size_t count, RunSums& sums) {
  for (std::size_t i = from; i < count; ++i) {
    const std::uint64_t mix = mixes[i] == kNegativeZeroLow ? 0 : mixes[i];
    sums.plain += mix;
    sums.weighted += mix * kWeights.whole[i];
  }
}

inline constexpr std::uint64_t kExponent = std::uint64_t{0x7FF} << 52;

inline void AddSignedPlain(const float* values, const std::uint64_t (&signs)[2], std::size_t turn, double* places) {
  for (std::size_t i = 0; i < 128; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(values[i]));
    const std::uint64_t finite = (bits & kExponent) == kExponent ? 0 : bits;
    places[i ^ turn] += std::bit_cast<double>(finite ^ signs[i / 64] >> i % 64 << 63);
  }
}

}  // namespace paritect::place_sums
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace paritect {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

inline RunSums SumRunOf(const std::uint64_t* mixes, std::size_t count) {
  RunSums sums;
  place_sums::AddToRun(mixes, 0, count, sums);
  return sums;
}

inline void AddRow(const float* values, const std::uint64_t (&signs)[2], std::size_t turn, double* places) {
  place_sums::AddSignedPlain(values, signs, turn, places);
}

#else

using Words = hn::CappedTag<std::uint64_t, 8>;
using Halves = hn::Repartition<std::uint32_t, Words>;

// 64 bits by 64 bits from products of 32 by 32: of halves that meet only the lower 32 bits count.
inline RunSums SumRunOf(const std::uint64_t* mixes, std::size_t count) {
  const Words d;
  const Halves halves;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = count / lanes * lanes;
  const auto negative_zero = hn::Set(d, kNegativeZeroLow);
  auto plain = hn::Zero(d), lower = hn::Zero(d), upper = hn::Zero(d);
  for (std::size_t i = 0; i < whole; i += lanes) {
    const auto all = hn::LoadU(d, mixes + i);
    const auto mix = hn::IfThenZeroElse(hn::Eq(all, negative_zero), all);
    const auto low = hn::BitCast(halves, mix);
    const auto high = hn::BitCast(halves, hn::ShiftRight<32>(mix));
    const auto weight = hn::BitCast(halves, hn::LoadU(d, place_sums::kWeights.whole.data() + i));
    const auto weight_high = hn::BitCast(halves, hn::LoadU(d, place_sums::kWeights.upper.data() + i));
    plain = hn::Add(plain, mix);
    lower = hn::Add(lower, hn::MulEven(low, weight));
    upper = hn::Add(upper, hn::Add(hn::MulEven(low, weight_high), hn::MulEven(high, weight)));
  }
  RunSums sums;
  sums.plain = hn::GetLane(hn::SumOfLanes(d, plain));
  sums.weighted = hn::GetLane(hn::SumOfLanes(d, lower)) + (hn::GetLane(hn::SumOfLanes(d, upper)) << 32);
  place_sums::AddToRun(mixes, whole, count, sums);
  return sums;
}

// Lanes change places within a vector by the lower bits of `turn`, vectors by the upper ones.
inline void AddRow(const float* values, const std::uint64_t (&signs)[2], std::size_t turn, double* places) {
  const hn::CappedTag<double, 8> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::Rebind<float, decltype(d)> floats;
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) std::int64_t order[8];
  alignas(64) std::uint64_t up[8];
  for (std::size_t i = 0; i < lanes; ++i) {
    order[i] = static_cast<std::int64_t>(i ^ turn % lanes);
    up[i] = 63 - i;
  }
  const auto indices = hn::SetTableIndices(d, order);
  const auto exponent = hn::Set(bits, place_sums::kExponent);
  const auto top = hn::Set(bits, std::uint64_t{1} << 63);
  const auto to_top = hn::Load(bits, up);
  for (std::size_t i = 0; i < 128; i += lanes) {
    const auto value = hn::BitCast(bits, hn::PromoteTo(d, hn::LoadU(floats, values + i)));
    const auto finite = hn::IfThenZeroElse(hn::Eq(hn::And(value, exponent), exponent), value);
    const auto sign = hn::And(hn::Shl(hn::Set(bits, signs[i / 64] >> i % 64), to_top), top);
    const auto taken = hn::TableLookupLanes(hn::BitCast(d, hn::Xor(finite, sign)), indices);
    double* const to = places + ((i ^ turn) & ~(lanes - 1));
    hn::StoreU(hn::Add(hn::LoadU(d, to), taken), d, to);
  }
}

#endif  // vectors

}  // namespace HWY_NAMESPACE
}  // namespace paritect
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paritect {

HWY_EXPORT(SumRunOf);
HWY_EXPORT(AddRow);

RunSums SumRun(const std::uint64_t* mixes, std::size_t count) {
  constexpr std::size_t kShort = 16;  // not worth a look at what the processor has
  if (count >= kShort) return HWY_DYNAMIC_DISPATCH(SumRunOf)(mixes, count);
  RunSums sums;
  place_sums::AddToRun(mixes, 0, count, sums);
  return sums;
}

std::uint64_t RunWeight(std::size_t count) {
  return place_sums::kWeights.whole[count];
}

void AddSignedRow(const float* values, const std::uint64_t (&signs)[2], std::size_t turn, double* places) {
  HWY_DYNAMIC_DISPATCH(AddRow)(values, signs, turn, places);
}

}  // namespace paritect
#endif  // HWY_ONCE
