// Which generator and seed shuffled a sequence, told from the sequence alone: the seeds that people use are few, and
// the laws by which common libraries shuffle are fixed.
//
//   torch    torch.randperm(n, generator=manual_seed(s)): DistributedSampler and RandomSampler use s = seed + epoch
//   python   random.Random(s).shuffle(list)
//   numpy    numpy.random.RandomState(s).shuffle(list), numpy.random.seed(s) and shuffle or permutation
// All three are MT19937; they seed it and draw from it differently. Sources: ATen/native/TensorFactories.cpp
// (randperm_cpu), Lib/random.py and Modules/_randommodule.c of CPython, numpy/random/mtrand.pyx (legacy shuffle).
#ifndef PARITECT_CHECKS_SHARDS_SHUFFLE_LAWS_H_
#define PARITECT_CHECKS_SHARDS_SHUFFLE_LAWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

enum class ShuffleLaw { kTorch, kPython, kNumpy };

struct Shuffle {
  ShuffleLaw law = ShuffleLaw::kTorch;
  std::uint32_t seed = 0;

  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};

// "torch.randperm", "random.shuffle", "numpy.random.shuffle".
absl::string_view ShuffleLawName(ShuffleLaw law);

// `order[i]`: the place in the sorted list of what stands at i after the shuffle. `total`: how many were shuffled;
// where that is more, `order` is the head (a sampler that drops the rest), which the law of torch alone tells. nullopt:
// none of the seeds that are tried (0 … 4,095 and some that people like), or fewer than kShuffleMin entries, which many
// seeds give.
inline constexpr std::size_t kShuffleMin = 14;
std::optional<Shuffle> FindShuffle(absl::Span<const std::uint32_t> order, std::size_t total);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_SHUFFLE_LAWS_H_
