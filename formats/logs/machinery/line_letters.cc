// The method is telling.cc's, with tables that are made at run time.
#include "formats/logs/machinery/line_letters.h"

#include <bit>
#include <cstring>
#include <map>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "formats/logs/machinery/line_letters.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paritect {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bit k of word w: a group may begin at text[64 * w + k]. Two bytes behind the last word's are read.
#if HWY_TARGET == HWY_SCALAR
inline void MarkGroups(const LineLetters::Tables& tables, const char* text, std::size_t words, std::uint64_t* marks) {
  for (std::size_t w = 0; w < words; ++w) {
    marks[w] = 0;
    for (std::size_t k = 0; k < 64; ++k) {
      unsigned sets = 255;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto letter = static_cast<unsigned char>(text[64 * w + k + i]);
        sets &= tables.low[i][letter & 15] & tables.high[i][letter >> 4];
      }
      marks[w] |= std::uint64_t{sets != 0} << k;
    }
  }
}
#else
inline void MarkGroups(const LineLetters::Tables& tables, const char* text, std::size_t words, std::uint64_t* marks) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const auto* p = reinterpret_cast<const std::uint8_t*>(text);
  const std::size_t n = hn::Lanes(d);
  const auto low0 = hn::LoadDup128(d, tables.low[0].data());
  const auto low1 = hn::LoadDup128(d, tables.low[1].data());
  const auto low2 = hn::LoadDup128(d, tables.low[2].data());
  const auto high0 = hn::LoadDup128(d, tables.high[0].data());
  const auto high1 = hn::LoadDup128(d, tables.high[1].data());
  const auto high2 = hn::LoadDup128(d, tables.high[2].data());
  const auto half = hn::Set(d, std::uint8_t{15});
  const auto zero = hn::Zero(d);
  for (std::size_t w = 0; w < words; ++w, p += 64) {
    std::uint8_t bits[16] = {};
    for (std::size_t k = 0; k < 64; k += n) {
      const auto a = hn::LoadU(d, p + k);
      const auto b = hn::LoadU(d, p + k + 1);
      const auto c = hn::LoadU(d, p + k + 2);
      const auto first = hn::And(hn::TableLookupBytes(low0, hn::And(a, half)),
                                 hn::TableLookupBytes(high0, hn::And(hn::ShiftRight<4>(a), half)));
      const auto second = hn::And(hn::TableLookupBytes(low1, hn::And(b, half)),
                                  hn::TableLookupBytes(high1, hn::And(hn::ShiftRight<4>(b), half)));
      const auto third = hn::And(hn::TableLookupBytes(low2, hn::And(c, half)),
                                 hn::TableLookupBytes(high2, hn::And(hn::ShiftRight<4>(c), half)));
      hn::StoreMaskBits(d, hn::Ne(hn::And(hn::And(first, second), third), zero), bits + k / 8);
    }
    std::uint64_t word = 0;
    for (std::size_t i = 8; i-- > 0;) word = word << 8 | bits[i];
    marks[w] = word;
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace paritect
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cassert>

namespace paritect {

HWY_EXPORT(MarkGroups);

namespace {

constexpr std::size_t kSets = 8;
constexpr std::size_t kBlockWords = 64;

std::uint32_t LettersAt(const char* p) {
  return static_cast<unsigned char>(p[0]) | std::uint32_t{static_cast<unsigned char>(p[1])} << 8 |
         std::uint32_t{static_cast<unsigned char>(p[2])} << 16;
}

std::size_t SlotOf(std::uint32_t letters) {
  return letters * 0x9E3779B1u >> 22;
}

}  // namespace

LineLetters::LineLetters(absl::Span<const absl::string_view> readers) {
  assert(readers.size() <= kReadersMax);
  std::map<absl::string_view, std::uint64_t> groups;  // sorted: those of a set have few different letters
  for (std::size_t r = 0; r < readers.size(); ++r) {
    for (std::size_t i = 0; i + 3 <= readers[r].size(); i += 3) {
      groups[readers[r].substr(i, 3)] |= std::uint64_t{1} << r;
    }
  }
  assert(groups.size() < kSlots / 2);
  std::size_t i = 0;
  for (const auto& [group, who] : groups) {
    if (group[2] == kAny) {
      pairs_.push_back({{group[0], group[1]}, who});
      AddToSet(group, kSets - 1);
    } else {
      AddSlot(LettersAt(group.data()), who);
      AddToSet(group, i * (kSets - 1) / groups.size());
    }
    ++i;
  }
}

void LineLetters::AddToSet(absl::string_view group, std::size_t set) {
  const auto bit = static_cast<unsigned char>(1U << set);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto letter = static_cast<unsigned char>(group[i]);
    for (unsigned half = 0; half < 16; ++half) {
      const bool any = i == 2 && group[i] == kAny;
      if (any || half == (letter & 15)) tables_.low[i][half] = static_cast<unsigned char>(tables_.low[i][half] | bit);
      if (any || half == (letter >> 4)) tables_.high[i][half] = static_cast<unsigned char>(tables_.high[i][half] | bit);
    }
  }
}

void LineLetters::AddSlot(std::uint32_t letters, std::uint64_t readers) {
  std::size_t slot = SlotOf(letters);
  while (slots_[slot].readers != 0) slot = (slot + 1) % kSlots;
  slots_[slot] = {letters, readers};
}

std::uint64_t LineLetters::ReadersAt(const char* p) const {
  std::uint64_t readers = 0;
  const std::uint32_t letters = LettersAt(p);
  for (std::size_t slot = SlotOf(letters); slots_[slot].readers != 0; slot = (slot + 1) % kSlots) {
    if (slots_[slot].letters == letters) readers = slots_[slot].readers;
  }
  for (const Pair& pair : pairs_) {
    if (p[0] == pair.letters[0] && p[1] == pair.letters[1]) readers |= pair.readers;
  }
  return readers;
}

void LineLetters::Take(absl::string_view text, std::size_t at, std::vector<Line>& lines) const {
  const std::uint64_t readers = ReadersAt(text.data() + at);
  if (readers == 0) return;
  if (!lines.empty() && text.data() + at < lines.back().text.data() + lines.back().text.size()) {
    lines.back().readers |= readers;
    return;
  }
  const std::size_t before = text.rfind('\n', at);
  const std::size_t begin = before == absl::string_view::npos ? 0 : before + 1;
  lines.push_back({text.substr(begin, text.find('\n', at) - begin), readers});
}

std::vector<LineLetters::Line> LineLetters::Find(absl::string_view text) const {
  std::vector<Line> lines;
  if (text.size() < 3) return lines;
  const std::size_t places = text.size() - 2;
  std::size_t at = 0;
  while (at + 64 <= places) {
    std::uint64_t marks[kBlockWords];
    const std::size_t words = std::min(kBlockWords, (places - at) / 64);
    HWY_DYNAMIC_DISPATCH(MarkGroups)(tables_, text.data() + at, words, marks);
    for (std::size_t w = 0; w < words; ++w, at += 64) {
      for (std::uint64_t word = marks[w]; word != 0; word &= word - 1) {
        Take(text, at + static_cast<std::size_t>(std::countr_zero(word)), lines);
      }
    }
  }
  for (; at < places; ++at) Take(text, at, lines);
  return lines;
}

}  // namespace paritect

#endif  // HWY_ONCE
