// The kernel, written once over Highway's vectors and compiled for each kind of processor.
//
// Per vector of N lanes: the 16 words of N blocks are loaded as 128-bit quarters, put together so that a 4 x 4
// transpose inside each 128-bit part finishes the job (inserts from memory are cheap, shuffles are not), stored, and
// added in the 64 steps. Several vectors are interleaved, for one is a serial chain. What decides the speed is the
// transpose and the number of operations a step; the forms of the round functions follow from that:
//   F = d ^ (b & (c ^ d)); G = (d & b) + (~d & c), whose second half does not wait for b;
//   I = ~(c ^ (~b & d)) and a + ~y = a - y - 1, so the -1 goes into the step's constant.
#include "common/md5/md5_lanes.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

// SSSE3 and the AVX3 variants would gain nothing over SSE4 and AVX3.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/md5/md5_lanes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paritect {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline const char* NameOfTarget() {
  return hwy::TargetName(HWY_TARGET);
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

inline int LanesOfTarget() {
  return 1;
}

inline void RunLanes(Md5Lane* lanes, int count, std::size_t blocks) {
  for (int i = 0; i < count; ++i) Md5RunScalar(lanes[i], blocks);
}

#else

#define PARITECT_AVX3 (HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86)

// RFC 1321: floor(2^32 * |sin(i + 1)|).
inline constexpr std::uint32_t kSine[64] = {
    0xD76AA478, 0xE8C7B756, 0x242070DB, 0xC1BDCEEE, 0xF57C0FAF, 0x4787C62A, 0xA8304613, 0xFD469501,
    0x698098D8, 0x8B44F7AF, 0xFFFF5BB1, 0x895CD7BE, 0x6B901122, 0xFD987193, 0xA679438E, 0x49B40821,
    0xF61E2562, 0xC040B340, 0x265E5A51, 0xE9B6C7AA, 0xD62F105D, 0x02441453, 0xD8A1E681, 0xE7D3FBC8,
    0x21E1CDE6, 0xC33707D6, 0xF4D50D87, 0x455A14ED, 0xA9E3E905, 0xFCEFA3F8, 0x676F02D9, 0x8D2A4C8A,
    0xFFFA3942, 0x8771F681, 0x6D9D6122, 0xFDE5380C, 0xA4BEEA44, 0x4BDECFA9, 0xF6BB4B60, 0xBEBFBC70,
    0x289B7EC6, 0xEAA127FA, 0xD4EF3085, 0x04881D05, 0xD9D4D039, 0xE6DB99E5, 0x1FA27CF8, 0xC4AC5665,
    0xF4292244, 0x432AFF97, 0xAB9423A7, 0xFC93A039, 0x655B59C3, 0x8F0CCC92, 0xFFEFF47D, 0x85845DD1,
    0x6FA87E4F, 0xFE2CE6E0, 0xA3014314, 0x4E0811A1, 0xF7537E82, 0xBD3AF235, 0x2AD7D2BB, 0xEB86D391,
};
inline constexpr int kRotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

// The word of the block that step `i` adds.
constexpr int WordOf(int i) {
  switch (i / 16) {
    case 0: return i;
    case 1: return (5 * i + 1) % 16;
    case 2: return (3 * i + 5) % 16;
    default: return (7 * i) % 16;
  }
}

template <int kBits, class D, class V>
HWY_INLINE V RotateLeft(D d, V v) {
#if !PARITECT_AVX3
  if constexpr (kBits == 16) {
    const hn::Repartition<std::uint16_t, D> d16;
    return hn::BitCast(d, hn::Reverse2(d16, hn::BitCast(d16, v)));
  }
#endif
  (void)d;
  return hn::RotateRight<32 - kBits>(v);
}

// a = b + rotl(a + f(b, c, d) + word + sine, s) for one vector.
template <int kStep, class D, class V>
HWY_INLINE V Step(D d_tag, V a, V b, V c, V d, const std::uint32_t* HWY_RESTRICT word) {
  constexpr int kRound = kStep / 16;
  constexpr std::uint32_t kConstant = kSine[kStep] - (kRound == 3 ? 1 : 0);
  a = hn::Add(a, hn::Add(hn::Load(d_tag, word), hn::Set(d_tag, kConstant)));
  if constexpr (kRound == 0) {
#if PARITECT_AVX3  // one ternary operation; before AVX-512 it would select by byte
    a = hn::Add(a, hn::IfVecThenElse(b, c, d));
#else
    a = hn::Add(a, hn::Xor(d, hn::And(b, hn::Xor(c, d))));
#endif
  } else if constexpr (kRound == 1) {
#if PARITECT_AVX3
    a = hn::Add(a, hn::IfVecThenElse(d, b, c));
#else
    a = hn::Add(hn::Add(a, hn::AndNot(d, c)), hn::And(d, b));
#endif
  } else if constexpr (kRound == 2) {
#if PARITECT_AVX3
    a = hn::Add(a, hn::Xor3(b, c, d));
#else
    a = hn::Add(a, hn::Xor(b, hn::Xor(c, d)));
#endif
  } else {
    a = hn::Sub(a, hn::Xor(c, hn::AndNot(b, d)));
  }
  return hn::Add(b, RotateLeft<kRotations[kRound][kStep % 4]>(d_tag, a));
}

// The four chaining words of K vectors.
template <class V, int K>
struct Chains {
  // Written out, for an implicit one would not be compiled for the target.
  HWY_INLINE Chains() {}
  V a[K], b[K], c[K], d[K];
};

// Step kStep of vector k and of all after it.
template <int kStep, int k, int K, class D, class V>
HWY_INLINE void StepAll(D d, V (&a)[K], V (&b)[K], V (&c)[K], V (&e)[K], const std::uint32_t* HWY_RESTRICT words) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  if constexpr (k < K) {
    a[k] = Step<kStep>(d, a[k], b[k], c[k], e[k], words + (k * 16 + WordOf(kStep)) * kLanes);
    StepAll<kStep, k + 1, K>(d, a, b, c, e, words);
  }
}

template <int kStep, int K, class D, class V>
HWY_INLINE void Steps(D d, Chains<V, K>& s, const std::uint32_t* HWY_RESTRICT words) {
  if constexpr (kStep < 64) {
    StepAll<kStep, 0, K>(d, s.a, s.b, s.c, s.d, words);
    StepAll<kStep + 1, 0, K>(d, s.d, s.a, s.b, s.c, words);
    StepAll<kStep + 2, 0, K>(d, s.c, s.d, s.a, s.b, words);
    StepAll<kStep + 3, 0, K>(d, s.b, s.c, s.d, s.a, words);
    Steps<kStep + 4, K>(d, s, words);
  }
}

using Quarter = hn::FixedTag<std::uint32_t, 4>;

HWY_INLINE hn::Vec<Quarter> LoadQuarter(const unsigned char* at) {
  const Quarter d;
  const hn::Repartition<std::uint8_t, Quarter> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, at));
}

// Lanes row, row + 4, ...: one 128-bit part each.
template <class D>
HWY_INLINE hn::Vec<D> LoadRow(D d, const unsigned char* const* HWY_RESTRICT data, std::size_t offset) {
  (void)d;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes == 4) {
    return LoadQuarter(data[0] + offset);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadRow(half, data + kLanes / 2, offset), LoadRow(half, data, offset));
  }
}

// words[i] becomes word i of each lane's block.
template <class D>
HWY_INLINE void Transpose(D d, const unsigned char* const* HWY_RESTRICT data, std::size_t offset,
                          std::uint32_t* HWY_RESTRICT words) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const hn::Repartition<std::uint64_t, D> d64;
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const std::size_t at = offset + 16 * quarter;
    const auto r0 = LoadRow(d, data, at);
    const auto r1 = LoadRow(d, data + 1, at);
    const auto r2 = LoadRow(d, data + 2, at);
    const auto r3 = LoadRow(d, data + 3, at);
    const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
    std::uint32_t* HWY_RESTRICT out = words + 4 * quarter * kLanes;
    hn::Store(hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)), d, out);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)), d, out + kLanes);
    hn::Store(hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)), d, out + 2 * kLanes);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)), d, out + 3 * kLanes);
  }
}

template <int k, int K, class D, class V>
HWY_INLINE void LoadChains(D d, const std::uint32_t (*HWY_RESTRICT chains)[kMd5LanesMax], Chains<V, K>& s) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  if constexpr (k < K) {
    s.a[k] = hn::Load(d, chains[0] + k * kLanes);
    s.b[k] = hn::Load(d, chains[1] + k * kLanes);
    s.c[k] = hn::Load(d, chains[2] + k * kLanes);
    s.d[k] = hn::Load(d, chains[3] + k * kLanes);
    LoadChains<k + 1, K>(d, chains, s);
  }
}

template <int k, int K, class D, class V>
HWY_INLINE void AddChains(D d, std::uint32_t (*HWY_RESTRICT chains)[kMd5LanesMax], const Chains<V, K>& s) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  if constexpr (k < K) {
    hn::Store(hn::Add(s.a[k], hn::Load(d, chains[0] + k * kLanes)), d, chains[0] + k * kLanes);
    hn::Store(hn::Add(s.b[k], hn::Load(d, chains[1] + k * kLanes)), d, chains[1] + k * kLanes);
    hn::Store(hn::Add(s.c[k], hn::Load(d, chains[2] + k * kLanes)), d, chains[2] + k * kLanes);
    hn::Store(hn::Add(s.d[k], hn::Load(d, chains[3] + k * kLanes)), d, chains[3] + k * kLanes);
    AddChains<k + 1, K>(d, chains, s);
  }
}

template <int k, int K, class D>
HWY_INLINE void TransposeAll(D d, const unsigned char* const* HWY_RESTRICT data, std::size_t offset,
                             std::uint32_t* HWY_RESTRICT words) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  if constexpr (k < K) {
    Transpose(d, data + k * kLanes, offset, words + k * 16 * kLanes);
    TransposeAll<k + 1, K>(d, data, offset, words);
  }
}

// K vectors of N lanes. `chains` and `data` have K * N columns.
template <int N, int K>
HWY_NOINLINE void RunVectors(std::uint32_t (*HWY_RESTRICT chains)[kMd5LanesMax],
                             const unsigned char* const* HWY_RESTRICT data, std::size_t blocks) {
  const hn::FixedTag<std::uint32_t, N> d;
  using V = hn::Vec<decltype(d)>;
  alignas(64) std::uint32_t words[K * 16 * N];
  for (std::size_t block = 0; block < blocks; ++block) {
    TransposeAll<0, K>(d, data, block * kMd5BlockBytes, words);
    Chains<V, K> s;
    LoadChains<0, K>(d, chains, s);
    Steps<0, K>(d, s, words);
    AddChains<0, K>(d, chains, s);
  }
}

inline int LanesOfTarget() {
#if PARITECT_AVX3
  return 64;
#elif HWY_TARGET == HWY_AVX2
  return 24;
#elif HWY_ARCH_X86
  return 8;  // 16 registers: four vectors and their words would not fit
#else
  return 16;
#endif
}

// The narrowest that holds the lanes: a wide vector for few lanes would only cost frequency.
inline void RunColumns(int columns, std::uint32_t (*HWY_RESTRICT chains)[kMd5LanesMax],
                       const unsigned char* const* HWY_RESTRICT data, std::size_t blocks) {
  if (columns <= 4) return RunVectors<4, 1>(chains, data, blocks);
#if PARITECT_AVX3
  if (columns <= 8) return RunVectors<8, 1>(chains, data, blocks);
  if (columns <= 16) return RunVectors<16, 1>(chains, data, blocks);
  if (columns <= 32) return RunVectors<16, 2>(chains, data, blocks);
  if (columns <= 48) return RunVectors<16, 3>(chains, data, blocks);
  RunVectors<16, 4>(chains, data, blocks);
#elif HWY_TARGET == HWY_AVX2
  if (columns <= 8) return RunVectors<8, 1>(chains, data, blocks);
  if (columns <= 16) return RunVectors<8, 2>(chains, data, blocks);
  RunVectors<8, 3>(chains, data, blocks);
#elif HWY_ARCH_X86
  RunVectors<4, 2>(chains, data, blocks);
#else
  if (columns <= 8) return RunVectors<4, 2>(chains, data, blocks);
  RunVectors<4, 4>(chains, data, blocks);
#endif
}

inline void RunLanes(Md5Lane* lanes, int count, std::size_t blocks) {
  alignas(64) std::uint32_t chains[4][kMd5LanesMax] = {};
  const unsigned char* data[kMd5LanesMax];
  for (int first = 0; first < count; first += LanesOfTarget()) {
    const int columns = count - first < LanesOfTarget() ? count - first : LanesOfTarget();
    for (int i = 0; i < kMd5LanesMax; ++i) {
      const Md5Lane& lane = lanes[first + (i < columns ? i : 0)];  // idle columns repeat one
      data[i] = lane.data;
      for (int w = 0; w < 4; ++w) chains[w][i] = lane.state.words[w];
    }
    RunColumns(columns, chains, data, blocks);
    for (int i = 0; i < columns; ++i) {
      Md5Lane& lane = lanes[first + i];
      for (int w = 0; w < 4; ++w) lane.state.words[w] = chains[w][i];
      lane.data += blocks * kMd5BlockBytes;
    }
  }
}

#endif  // vectors

}  // namespace HWY_NAMESPACE
}  // namespace paritect
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paritect {

HWY_EXPORT(RunLanes);
HWY_EXPORT(LanesOfTarget);
HWY_EXPORT(NameOfTarget);

namespace {

constexpr std::size_t kTrialBlocks = 64;
constexpr int kTrials = 3;

// The shortest of a few runs: what else the processor does only makes one longer.
template <typename Run>
std::int64_t ShortestNs(Run run) {
  std::int64_t shortest = INT64_MAX;
  for (int i = 0; i < kTrials; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const auto took = std::chrono::steady_clock::now() - begin;
    shortest = std::min<std::int64_t>(shortest, std::chrono::nanoseconds(took).count());
  }
  return shortest;
}

// From how many lanes on vectors are faster than one lane after the other here. Tried once a process, a tenth of a
// millisecond: on Zen 5 a vector's lane is 2.4 times slower than a scalar stream, elsewhere not.
int LanesThatGain() {
  static const int lanes_that_gain = [] {
    const std::vector<unsigned char> zeros(kTrialBlocks * kMd5BlockBytes);
    std::vector<Md5Lane> lanes(static_cast<std::size_t>(std::max(2, Md5Lanes())));
    const auto rewind = [&] {
      for (Md5Lane& lane : lanes) lane.data = zeros.data();
    };
    const std::int64_t one = ShortestNs([&] {
      rewind();
      Md5RunScalar(lanes[0], kTrialBlocks);
    });
    for (int count = 2; count < static_cast<int>(lanes.size()); ++count) {
      const std::int64_t together = ShortestNs([&] {
        rewind();
        Md5RunVectors(absl::MakeSpan(lanes).subspan(0, static_cast<std::size_t>(count)), kTrialBlocks);
      });
      if (together < count * one) return count;
    }
    return static_cast<int>(lanes.size());
  }();
  return lanes_that_gain;
}

}  // namespace

void Md5RunLanes(absl::Span<Md5Lane> lanes, std::size_t blocks) {
  if (lanes.empty() || blocks == 0) return;
  if (lanes.size() > 1 && static_cast<int>(lanes.size()) >= LanesThatGain()) return Md5RunVectors(lanes, blocks);
  for (Md5Lane& lane : lanes) Md5RunScalar(lane, blocks);
}

void Md5RunVectors(absl::Span<Md5Lane> lanes, std::size_t blocks) {
  if (lanes.empty() || blocks == 0) return;
  HWY_DYNAMIC_DISPATCH(RunLanes)(lanes.data(), static_cast<int>(lanes.size()), blocks);
}

int Md5Lanes() {
  return HWY_DYNAMIC_DISPATCH(LanesOfTarget)();
}

const char* Md5LanesTarget() {
  return HWY_DYNAMIC_DISPATCH(NameOfTarget)();
}

std::size_t Md5Pad(unsigned char* block, std::uint64_t message_bytes) {
  const std::size_t used = message_bytes % kMd5BlockBytes;
  const std::size_t blocks = used + 1 + sizeof(std::uint64_t) <= kMd5BlockBytes ? 1 : 2;
  const std::size_t end = blocks * kMd5BlockBytes - sizeof(std::uint64_t);
  block[used] = 0x80;
  std::memset(block + used + 1, 0, end - used - 1);
  const std::uint64_t bits = message_bytes << 3;
  for (std::size_t i = 0; i < sizeof(bits); ++i) block[end + i] = static_cast<unsigned char>(bits >> (8 * i));
  return blocks;
}

void Md5Digest(const Md5State& state, unsigned char* digest) {
  for (std::size_t i = 0; i < kMd5Bytes; ++i) {
    digest[i] = static_cast<unsigned char>(state.words[i / 4] >> (8 * (i % 4)));
  }
}

}  // namespace paritect
#endif  // HWY_ONCE
