// Orders as the libraries shuffle them, by the standard library's generator and none of the product's code.
#ifndef PARITECT_CHECKS_SHARDS_SHUFFLE_FIXTURE_H_
#define PARITECT_CHECKS_SHARDS_SHUFFLE_FIXTURE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "checks/shards/shuffle_laws.h"

namespace paritect {

// The state that CPython gives the generator for a seed of one word (init_by_array of Matsumoto and Nishimura).
class SeedByArray {
 public:
  using result_type = std::uint32_t;

  explicit SeedByArray(std::uint32_t seed) : seed_(seed) {}

  template <typename Iterator>
  void generate(Iterator first, Iterator last) const {
    std::vector<std::uint32_t> s(static_cast<std::size_t>(last - first));
    const std::size_t size = s.size();
    s[0] = 19650218u;
    for (std::uint32_t i = 1; i < size; ++i) s[i] = 1812433253u * (s[i - 1] ^ (s[i - 1] >> 30)) + i;
    std::size_t i = 1;
    const auto next = [&] {
      if (++i < size) return;
      s[0] = s[size - 1];
      i = 1;
    };
    for (std::size_t k = 0; k < size; ++k, next()) s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + seed_;
    for (std::size_t k = 1; k < size; ++k, next()) {
      s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - static_cast<std::uint32_t>(i);
    }
    s[0] = 0x80000000u;
    std::copy(s.begin(), s.end(), first);
  }

 private:
  std::uint32_t seed_;
};

// `order[i]`: what of 0 … count - 1 stands at i.
inline std::vector<std::uint32_t> ShuffledOrder(Shuffle shuffle, std::size_t count) {
  SeedByArray by_array(shuffle.seed);
  std::mt19937 generator = shuffle.law == ShuffleLaw::kPython ? std::mt19937(by_array)
                                                              : std::mt19937(std::mt19937::result_type(shuffle.seed));
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (shuffle.law == ShuffleLaw::kTorch) {
    for (std::size_t i = 0; i + 1 < count; ++i) std::swap(order[i], order[i + generator() % (count - i)]);
    return order;
  }
  for (std::size_t i = count; i-- > 1;) {
    // A draw of as many bits as the largest place has, again while it is too large.
    const auto bits = static_cast<int>(std::bit_width(shuffle.law == ShuffleLaw::kPython ? i + 1 : i));
    std::size_t from = count;
    while (from > i) {
      const auto draw = static_cast<std::uint32_t>(generator());
      from = shuffle.law == ShuffleLaw::kPython ? draw >> (32 - bits) : draw & ((std::uint64_t{1} << bits) - 1);
    }
    std::swap(order[i], order[from]);
  }
  return order;
}

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_SHUFFLE_FIXTURE_H_
