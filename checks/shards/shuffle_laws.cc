#include "checks/shards/shuffle_laws.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace paritect {
namespace {

constexpr std::uint32_t kSeedsTried = 4096;
constexpr std::uint32_t kLikedSeeds[] = {
    4321,   5678,   6666,    8888,     9999,      10086,    12345,    31337,    42424242, 65536,    88888,    114514,
    123456, 654321, 1234567, 12345678, 123456789, 19260817, 20210101, 20220101, 20230101, 20240101, 987654321};

// The generator that all of them use (Matsumoto and Nishimura, 1998).
class Mt19937 {
 public:
  static Mt19937 Seeded(std::uint32_t seed) {
    Mt19937 out;
    out.state_[0] = seed;
    for (std::uint32_t i = 1; i < kSize; ++i) {
      const std::uint32_t before = out.state_[i - 1];
      out.state_[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    return out;
  }

  // init_by_array with a key of one number.
  static Mt19937 SeededByArray(std::uint32_t key) {
    Mt19937 out = Seeded(19650218u);
    auto& s = out.state_;
    std::size_t i = 1;
    const auto step = [&] {
      if (++i < kSize) return;
      s[0] = s[kSize - 1];
      i = 1;
    };
    for (std::size_t k = 0; k < kSize; ++k) {
      s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + key;
      step();
    }
    for (std::size_t k = 0; k < kSize - 1; ++k) {
      s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - static_cast<std::uint32_t>(i);
      step();
    }
    s[0] = 0x80000000u;
    return out;
  }

  // The state is renewed number by number: nearly always the first few are all that is asked for.
  std::uint32_t Next() {
    const std::size_t i = next_, after = i + 1 == kSize ? 0 : i + 1;
    const std::size_t far = i + kShift < kSize ? i + kShift : i + kShift - kSize;
    const std::uint32_t mixed = (state_[i] & 0x80000000u) | (state_[after] & 0x7fffffffu);
    state_[i] = state_[far] ^ (mixed >> 1) ^ ((mixed & 1) != 0 ? 0x9908b0dfu : 0u);
    std::uint32_t y = state_[i];
    next_ = after;
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }

 private:
  static constexpr std::size_t kSize = 624, kShift = 397;

  std::uint32_t state_[kSize];
  std::size_t next_ = 0;
};

std::uint32_t BelowByBits(Mt19937& generator, std::uint32_t count) {
  const int bits = std::bit_width(count);
  std::uint32_t value = generator.Next() >> (32 - bits);
  while (value >= count) value = generator.Next() >> (32 - bits);
  return value;
}

std::uint32_t UpToByMask(Mt19937& generator, std::uint32_t largest) {
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(largest)) - 1);
  std::uint32_t value = generator.Next() & mask;
  while (value > largest) value = generator.Next() & mask;
  return value;
}

// Shuffles step by step; `settled(place, from)` is told each swap, after which the value at `place` stands, and ends it
// by false.
template <typename Settled>
void Run(Shuffle shuffle, std::vector<std::uint32_t>& values, Settled settled) {
  const std::size_t count = values.size();
  if (shuffle.law == ShuffleLaw::kTorch) {
    Mt19937 generator = Mt19937::Seeded(shuffle.seed);
    for (std::size_t i = 0; i + 1 < count; ++i) {
      const std::size_t from = i + generator.Next() % (count - i);
      std::swap(values[i], values[from]);
      if (!settled(i, from)) return;
    }
    return;
  }
  const bool python = shuffle.law == ShuffleLaw::kPython;
  Mt19937 generator = python ? Mt19937::SeededByArray(shuffle.seed) : Mt19937::Seeded(shuffle.seed);
  for (std::size_t i = count; --i > 0;) {
    const auto largest = static_cast<std::uint32_t>(i);
    const std::size_t from = python ? BelowByBits(generator, largest + 1) : UpToByMask(generator, largest);
    std::swap(values[i], values[from]);
    if (!settled(i, from)) return;
  }
}

// `values` is 0 … n - 1 before and after: nearly all seeds part at the first steps, which are taken back.
bool Fits(Shuffle shuffle, absl::Span<const std::uint32_t> order, std::vector<std::uint32_t>& values) {
  bool fits = true;
  std::vector<std::pair<std::size_t, std::size_t>> swaps;
  Run(shuffle, values, [&](std::size_t place, std::size_t from) {
    swaps.emplace_back(place, from);
    if (place >= order.size()) return false;  // the head fits
    return fits = order[place] == values[place];
  });
  for (auto it = swaps.rbegin(); it != swaps.rend(); ++it) std::swap(values[it->first], values[it->second]);
  return fits;
}

}  // namespace

absl::string_view ShuffleLawName(ShuffleLaw law) {
  switch (law) {
    case ShuffleLaw::kTorch: return "torch.randperm";
    case ShuffleLaw::kPython: return "random.shuffle";
    case ShuffleLaw::kNumpy: return "numpy.random.shuffle";
  }
  return "";
}

std::vector<std::uint32_t> ShuffledOrder(Shuffle shuffle, std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  if (count > 1) Run(shuffle, values, [](std::size_t, std::size_t) { return true; });
  return values;
}

std::optional<Shuffle> FindShuffle(absl::Span<const std::uint32_t> order, std::size_t total) {
  if (order.size() < kShuffleMin || total < order.size()) return std::nullopt;
  std::vector<std::uint32_t> values(total);
  std::iota(values.begin(), values.end(), 0u);
  for (ShuffleLaw law : {ShuffleLaw::kTorch, ShuffleLaw::kPython, ShuffleLaw::kNumpy}) {
    // The other laws settle the tail first.
    if (law != ShuffleLaw::kTorch && total > order.size()) break;
    for (std::uint32_t seed = 0; seed < kSeedsTried; ++seed) {
      if (Fits({law, seed}, order, values)) return Shuffle{law, seed};
    }
    for (std::uint32_t seed : kLikedSeeds) {
      if (Fits({law, seed}, order, values)) return Shuffle{law, seed};
    }
  }
  return std::nullopt;
}

}  // namespace paritect
