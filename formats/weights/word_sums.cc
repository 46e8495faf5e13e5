// Written once over Highway's vectors and compiled for each kind of processor (value_sums.cc). All sums are of whole
// numbers mod 2^64: the same in any order.
#include "formats/weights/word_sums.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "formats/weights/word_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef PARITECT_FORMATS_WEIGHTS_WORD_SUMS_ONCE_
#define PARITECT_FORMATS_WEIGHTS_WORD_SUMS_ONCE_
namespace paritect::word_sums {

struct Sums {
  std::uint64_t sum = 0;
  std::uint64_t weighted = 0;
  std::uint64_t squared = 0;

  void Add(std::uint64_t index, std::uint64_t word) {
    sum += word;
    weighted += index * word;
    squared += index * index * word;
  }
};

// Of a call, so that sums over rows of it stay far from 2^64.
inline constexpr std::size_t kPieceWords = 65536;

}  // namespace paritect::word_sums
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace paritect {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <typename Word>
std::size_t SumRows(const char*, std::size_t, word_sums::Sums&) {
  return 0;
}

#else

using Words = hn::CappedTag<std::uint64_t, 8>;

template <typename Word>
HWY_INLINE hn::Vec<Words> Load(const char* bytes) {
  const Words d;
  const hn::Rebind<Word, Words> narrow;
  const auto words = hn::LoadU(narrow, reinterpret_cast<const Word*>(bytes));
  if constexpr (sizeof(Word) == 4) {
    return hn::PromoteTo(d, words);
  } else {
    return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<std::uint32_t, Words>(), words));
  }
}

// Rows of one vector; gives how many words that were. No products: with n rows, a sum of the sums so far takes row r
// (n - r) times, a sum of those takes it (n - r)(n - r + 1) / 2 times.
template <typename Word>
std::size_t SumRows(const char* bytes, std::size_t count, word_sums::Sums& sums) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint64_t rows = count / lanes;
  auto first = hn::Zero(d), second = hn::Zero(d), third = hn::Zero(d);
  for (std::size_t row = 0; row < rows; ++row) {
    first = hn::Add(first, Load<Word>(bytes + row * lanes * sizeof(Word)));
    second = hn::Add(second, first);
    third = hn::Add(third, second);
  }
  alignas(64) std::uint64_t plain[8], once[8], twice[8];
  hn::Store(first, d, plain);
  hn::Store(second, d, once);
  hn::Store(third, d, twice);
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t by_rest_squared = 2 * twice[lane] - once[lane];  // of (n - r)^2
    const std::uint64_t by_row = rows * plain[lane] - once[lane];
    const std::uint64_t by_row_squared = by_rest_squared + 2 * rows * by_row - rows * rows * plain[lane];
    sums.sum += plain[lane];  // index = r * lanes + lane
    sums.weighted += lanes * by_row + lane * plain[lane];
    sums.squared += lanes * lanes * by_row_squared + 2 * lanes * lane * by_row + lane * lane * plain[lane];
  }
  return rows * lanes;
}

#endif  // vectors

inline std::size_t SumBytes(const char* bytes, std::size_t count, word_sums::Sums& sums) {
  return SumRows<std::uint8_t>(bytes, count, sums);
}
inline std::size_t SumHalves(const char* bytes, std::size_t count, word_sums::Sums& sums) {
  return SumRows<std::uint16_t>(bytes, count, sums);
}
inline std::size_t SumWords(const char* bytes, std::size_t count, word_sums::Sums& sums) {
  return SumRows<std::uint32_t>(bytes, count, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace paritect
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paritect {
namespace {

HWY_EXPORT(SumBytes);
HWY_EXPORT(SumHalves);
HWY_EXPORT(SumWords);

template <typename Word>
word_sums::Sums SumOf(const char* bytes, std::size_t count) {
  word_sums::Sums sums;
  std::size_t done = 0;
  switch (sizeof(Word)) {
    case 1: done = HWY_DYNAMIC_DISPATCH(SumBytes)(bytes, count, sums); break;
    case 2: done = HWY_DYNAMIC_DISPATCH(SumHalves)(bytes, count, sums); break;
    default: done = HWY_DYNAMIC_DISPATCH(SumWords)(bytes, count, sums);
  }
  for (; done < count; ++done) {
    Word word;
    std::memcpy(&word, bytes + done * sizeof(word), sizeof(word));
    sums.Add(done, word);
  }
  return sums;
}

}  // namespace

WordSummer::WordSummer(DType type) : word_bytes_(static_cast<std::uint32_t>(std::clamp(DTypeBits(type) / 8, 1, 4))) {}

template <typename Word>
void WordSummer::AddWords(absl::string_view block) {
  while (block.size() >= sizeof(Word)) {
    const std::size_t count = std::min(word_sums::kPieceWords, block.size() / sizeof(Word));
    const word_sums::Sums sums = SumOf<Word>(block.data(), count);
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
#endif  // HWY_ONCE
