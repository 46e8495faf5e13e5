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

// The generator that all of them use (Matsumoto and Nishimura, 1998), `kLanes` of them side by side: one is a chain of
// dependent steps, several fill the processor.
template <std::size_t kLanes>
class MtLanes {
 public:
  using Row = std::uint32_t[kLanes];

  static MtLanes Seeded(const Row& seeds) {
    MtLanes out;
    std::copy_n(seeds, kLanes, out.state_[0]);
    for (std::uint32_t i = 1; i < kSize; ++i) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t before = out.state_[i - 1][lane];
        out.state_[i][lane] = 1812433253u * (before ^ (before >> 30)) + i;
      }
    }
    return out;
  }

  // init_by_array with keys of one number.
  static MtLanes SeededByArray(const Row& keys) {
    Row all;
    std::fill_n(all, kLanes, 19650218u);
    MtLanes out = Seeded(all);
    auto& s = out.state_;
    std::size_t i = 1;
    const auto step = [&] {
      if (++i < kSize) return;
      std::copy_n(s[kSize - 1], kLanes, s[0]);
      i = 1;
    };
    for (std::size_t k = 0; k < kSize; ++k) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t before = s[i - 1][lane];
        s[i][lane] = (s[i][lane] ^ ((before ^ (before >> 30)) * 1664525u)) + keys[lane];
      }
      step();
    }
    for (std::size_t k = 0; k < kSize - 1; ++k) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t before = s[i - 1][lane];
        s[i][lane] = (s[i][lane] ^ ((before ^ (before >> 30)) * 1566083941u)) - static_cast<std::uint32_t>(i);
      }
      step();
    }
    std::fill_n(s[0], kLanes, 0x80000000u);
    return out;
  }

  // The state is renewed number by number: nearly always the first few are all that is asked for.
  void Next(Row& out) {
    const std::size_t i = next_, after = i + 1 == kSize ? 0 : i + 1;
    const std::size_t far = i + kShift < kSize ? i + kShift : i + kShift - kSize;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t mixed = (state_[i][lane] & 0x80000000u) | (state_[after][lane] & 0x7fffffffu);
      std::uint32_t y = state_[far][lane] ^ (mixed >> 1) ^ ((mixed & 1) != 0 ? 0x9908b0dfu : 0u);
      state_[i][lane] = y;
      y ^= y >> 11;
      y ^= (y << 7) & 0x9d2c5680u;
      y ^= (y << 15) & 0xefc60000u;
      out[lane] = y ^ (y >> 18);
    }
    next_ = after;
  }

 private:
  static constexpr std::size_t kSize = 624, kShift = 397;

  std::uint32_t state_[kSize][kLanes];
  std::size_t next_ = 0;
};

// One of them.
class Mt19937 {
 public:
  static Mt19937 Of(ShuffleLaw law, std::uint32_t seed) {
    const std::uint32_t seeds[1] = {seed};
    return Mt19937(law == ShuffleLaw::kPython ? MtLanes<1>::SeededByArray(seeds) : MtLanes<1>::Seeded(seeds));
  }

  std::uint32_t Next() {
    std::uint32_t out[1];
    lane_.Next(out);
    return out[0];
  }

 private:
  explicit Mt19937(const MtLanes<1>& lane) : lane_(lane) {}

  MtLanes<1> lane_;
};

template <typename Generator>
std::uint32_t BelowByBits(Generator& generator, std::uint32_t count) {
  const int bits = std::bit_width(count);
  std::uint32_t value = generator.Next() >> (32 - bits);
  while (value >= count) value = generator.Next() >> (32 - bits);
  return value;
}

template <typename Generator>
std::uint32_t UpToByMask(Generator& generator, std::uint32_t largest) {
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(largest)) - 1);
  std::uint32_t value = generator.Next() & mask;
  while (value > largest) value = generator.Next() & mask;
  return value;
}

// Shuffles step by step; `settled(place, from)` is told each swap, after which the value at `place` stands, and ends it
// by false.
template <typename Generator, typename Settled>
void Run(ShuffleLaw law, Generator generator, std::vector<std::uint32_t>& values, Settled settled) {
  const std::size_t count = values.size();
  if (law == ShuffleLaw::kTorch) {
    for (std::size_t i = 0; i + 1 < count; ++i) {
      const std::size_t from = i + generator.Next() % (count - i);
      std::swap(values[i], values[from]);
      if (!settled(i, from)) return;
    }
    return;
  }
  const bool python = law == ShuffleLaw::kPython;
  for (std::size_t i = count; --i > 0;) {
    const auto largest = static_cast<std::uint32_t>(i);
    const std::size_t from = python ? BelowByBits(generator, largest + 1) : UpToByMask(generator, largest);
    std::swap(values[i], values[from]);
    if (!settled(i, from)) return;
  }
}

// The first numbers of one generator, then none: 0 in their place, told by `spent`.
class KeptDraws {
 public:
  static constexpr std::size_t kKept = 4;

  KeptDraws(const std::uint32_t* draws, bool& spent) : draws_(draws), spent_(&spent) {}

  std::uint32_t Next() {
    if (next_ < kKept) return draws_[next_++];
    *spent_ = true;
    return 0;
  }

 private:
  const std::uint32_t* draws_;
  std::size_t next_ = 0;
  bool* spent_;
};

// The first draws of every seed that is tried: seeding takes hundreds of dependent steps, and nearly every seed parts
// from a sequence at its first draws. Made once a process, many seeds side by side.
class FirstDraws {
 public:
  static const FirstDraws& Of(ShuffleLaw law) {
    static const FirstDraws* const seeded = new FirstDraws(false);
    if (law != ShuffleLaw::kPython) return *seeded;
    static const FirstDraws* const by_array = new FirstDraws(true);
    return *by_array;
  }

  const std::vector<std::uint32_t>& seeds() const { return seeds_; }
  const std::uint32_t* draws(std::size_t index) const { return &draws_[index * KeptDraws::kKept]; }

 private:
  static constexpr std::size_t kLanes = 16;

  explicit FirstDraws(bool by_array) {
    seeds_.resize(kSeedsTried);
    std::iota(seeds_.begin(), seeds_.end(), 0u);
    seeds_.insert(seeds_.end(), std::begin(kLikedSeeds), std::end(kLikedSeeds));
    draws_.resize(seeds_.size() * KeptDraws::kKept);
    for (std::size_t begin = 0; begin < seeds_.size(); begin += kLanes) Draw(begin, by_array);
  }

  void Draw(std::size_t begin, bool by_array) {
    std::uint32_t seeds[kLanes] = {};
    const std::size_t count = std::min(kLanes, seeds_.size() - begin);
    std::copy_n(&seeds_[begin], count, seeds);
    std::uint32_t draws[KeptDraws::kKept][kLanes];
    auto generators = by_array ? MtLanes<kLanes>::SeededByArray(seeds) : MtLanes<kLanes>::Seeded(seeds);
    for (auto& row : draws) generators.Next(row);
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t k = 0; k < KeptDraws::kKept; ++k) draws_[(begin + lane) * KeptDraws::kKept + k] = draws[k][lane];
    }
  }

  std::vector<std::uint32_t> seeds_;
  std::vector<std::uint32_t> draws_;  // kKept a seed
};

// Whether the swaps that `generator` leads to give `order`. `values` is 0 … n - 1 before and after: nearly all seeds
// part at the first steps, which are taken back.
template <typename Generator>
bool Fits(ShuffleLaw law, Generator generator, const bool& spent, absl::Span<const std::uint32_t> order,
          std::vector<std::uint32_t>& values) {
  bool fits = true;
  std::vector<std::pair<std::size_t, std::size_t>> swaps;
  Run(law, std::move(generator), values, [&](std::size_t place, std::size_t from) {
    swaps.emplace_back(place, from);
    if (spent || place >= order.size()) return false;  // what was drawn, or the head, fits
    return fits = order[place] == values[place];
  });
  for (auto it = swaps.rbegin(); it != swaps.rend(); ++it) std::swap(values[it->first], values[it->second]);
  return fits;
}

bool Fits(Shuffle shuffle, const std::uint32_t* first_draws, absl::Span<const std::uint32_t> order,
          std::vector<std::uint32_t>& values) {
  bool spent = false;
  if (!Fits(shuffle.law, KeptDraws(first_draws, spent), spent, order, values)) return false;
  spent = false;
  return Fits(shuffle.law, Mt19937::Of(shuffle.law, shuffle.seed), spent, order, values);
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

std::optional<Shuffle> FindShuffle(absl::Span<const std::uint32_t> order, std::size_t total) {
  if (order.size() < kShuffleMin || total < order.size()) return std::nullopt;
  std::vector<std::uint32_t> values(total);
  std::iota(values.begin(), values.end(), 0u);
  for (ShuffleLaw law : {ShuffleLaw::kTorch, ShuffleLaw::kPython, ShuffleLaw::kNumpy}) {
    // The other laws settle the tail first.
    if (law != ShuffleLaw::kTorch && total > order.size()) break;
    const FirstDraws& first = FirstDraws::Of(law);
    for (std::size_t i = 0; i < first.seeds().size(); ++i) {
      const Shuffle shuffle = {law, first.seeds()[i]};
      if (Fits(shuffle, first.draws(i), order, values)) return shuffle;
    }
  }
  return std::nullopt;
}

}  // namespace paritect
