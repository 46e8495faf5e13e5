#include "formats/weights/word_sums.h"

#include <algorithm>
#include <cstring>

#include "formats/vector_code.h"

namespace paritect {
namespace {

struct Sums {
  std::uint64_t sum = 0;
  std::uint64_t weighted = 0;
  std::uint64_t squared = 0;
};

// Of up to 65536 words, so that a square of an index is a factor of 32 bits.
constexpr std::size_t kPieceWords = 65536;

template <typename Word>
PARITECT_VECTOR_CODE Sums SumOf(const char* bytes, std::uint32_t count) {
  Sums sums;
  for (std::uint32_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, bytes + i * sizeof(word), sizeof(word));
    const auto wide = static_cast<std::uint64_t>(word);
    sums.sum += wide;
    sums.weighted += i * wide;
    sums.squared += static_cast<std::uint64_t>(i * i) * wide;
  }
  return sums;
}

}  // namespace

WordSummer::WordSummer(DType type) : word_bytes_(static_cast<std::uint32_t>(std::clamp(DTypeBits(type) / 8, 1, 4))) {}

template <typename Word>
void WordSummer::AddWords(absl::string_view block) {
  while (block.size() >= sizeof(Word)) {
    const std::size_t count = std::min(kPieceWords, block.size() / sizeof(Word));
    const Sums sums = SumOf<Word>(block.data(), static_cast<std::uint32_t>(count));
    // The piece's words stand `words_` further back: (i + w)^2 = i^2 + 2 i w + w^2.
    sum_ += sums.sum;
    weighted_ += sums.weighted + words_ * sums.sum;
    weighted_squared_ += sums.squared + 2 * words_ * sums.weighted + words_ * words_ * sums.sum;
    words_ += count;
    block.remove_prefix(count * sizeof(Word));
  }
}

void WordSummer::Add(absl::string_view block) {
  switch (word_bytes_) {
    case 1: return AddWords<std::uint8_t>(block);
    case 2: return AddWords<std::uint16_t>(block);
    default: return AddWords<std::uint32_t>(block);
  }
}

void WordSummer::Finish(v1::WordSums& result) const {
  result.set_word_bytes(word_bytes_);
  result.set_sum(sum_);
  result.set_weighted(weighted_);
  result.set_weighted_squared(weighted_squared_);
}

}  // namespace paritect
