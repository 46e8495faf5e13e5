// The filter before everything that is searched for in lines that are no records. Most lines of a log tell nothing: a
// group of three letters stands for each word that tells, and all groups are looked for at once.
//
// Per vector: three loads, one byte apart. The low and the high half of each byte pick a byte from a table of 16, whose
// bits say in which of eight sets of groups a letter of that kind stands at this place; what is left when all six are
// put together may be a group, and is compared. (The method is known as Teddy; D. Lemire, G. Langdale and others.)
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "formats/logs/machinery/telling.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "absl/strings/string_view.h"
#include "formats/logs/machinery/telling_groups.h"

#ifndef PARITECT_FORMATS_LOGS_TELLING_ONCE_
#define PARITECT_FORMATS_LOGS_TELLING_ONCE_
namespace paritect::telling {

struct Tables {
  alignas(16) std::array<std::array<unsigned char, 16>, 3> low;
  alignas(16) std::array<std::array<unsigned char, 16>, 3> high;
};

constexpr Tables MakeTables() {
  Tables tables = {};
  for (const Group& group : kGroups) {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto letter = static_cast<unsigned char>(group.letters[i]);
      const auto bit = static_cast<unsigned char>(1U << group.set);
      tables.low[i][letter & 15] = static_cast<unsigned char>(tables.low[i][letter & 15] | bit);
      tables.high[i][letter >> 4] = static_cast<unsigned char>(tables.high[i][letter >> 4] | bit);
    }
  }
  return tables;
}

inline constexpr Tables kTables = MakeTables();

// One of 4,096 bits for three letters: what passes the tables is mostly no group, and its bit is not set.
constexpr std::uint32_t BitOf(const char* p) {
  const std::uint32_t letters = static_cast<unsigned char>(p[0]) |
                                std::uint32_t{static_cast<unsigned char>(p[1])} << 8 |
                                std::uint32_t{static_cast<unsigned char>(p[2])} << 16;
  return letters * 0x9E3779B1u >> 20;
}

constexpr std::array<std::uint64_t, 64> MakeBits() {
  std::array<std::uint64_t, 64> bits = {};
  for (const Group& group : kGroups) bits[BitOf(group.letters) / 64] |= std::uint64_t{1} << BitOf(group.letters) % 64;
  return bits;
}

inline constexpr std::array<std::uint64_t, 64> kBits = MakeBits();

inline bool IsGroup(const char* p) {
  const std::uint32_t bit = BitOf(p);
  if ((kBits[bit / 64] >> bit % 64 & 1) == 0) return false;
  for (const Group& group : kGroups) {
    if (p[0] == group.letters[0] && p[1] == group.letters[1] && p[2] == group.letters[2]) return true;
  }
  return false;
}

}  // namespace paritect::telling
#endif  // PARITECT_FORMATS_LOGS_TELLING_ONCE_

HWY_BEFORE_NAMESPACE();
namespace paritect {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where the first group (or `more`) begins among the first `size` bytes; `size` where none does. Two bytes behind them
// are read. `newlines`: how many LF stand before it.
#if HWY_TARGET == HWY_SCALAR
inline std::size_t FindTelling(const char* text, std::size_t size, const char* more, std::size_t* newlines) {
  std::size_t i = 0;
  for (; i < size; ++i) {
    const char* at = text + i;
    if (telling::IsGroup(at) || (at[0] == more[0] && at[1] == more[1] && at[2] == more[2])) break;
    *newlines += text[i] == '\n';
  }
  return i;
}
#else
inline std::size_t FindTelling(const char* text, std::size_t size, const char* more, std::size_t* newlines) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto* p = reinterpret_cast<const std::uint8_t*>(text);
  const std::size_t n = hn::Lanes(d);
  const auto low0 = hn::LoadDup128(d, telling::kTables.low[0].data());
  const auto low1 = hn::LoadDup128(d, telling::kTables.low[1].data());
  const auto low2 = hn::LoadDup128(d, telling::kTables.low[2].data());
  const auto high0 = hn::LoadDup128(d, telling::kTables.high[0].data());
  const auto high1 = hn::LoadDup128(d, telling::kTables.high[1].data());
  const auto high2 = hn::LoadDup128(d, telling::kTables.high[2].data());
  const auto x = hn::Set(d, static_cast<std::uint8_t>(more[0]));
  const auto y = hn::Set(d, static_cast<std::uint8_t>(more[1]));
  const auto z = hn::Set(d, static_cast<std::uint8_t>(more[2]));
  const auto half = hn::Set(d, std::uint8_t{15});
  const auto end_of_line = hn::Set(d, std::uint8_t{'\n'});
  const auto zero = hn::Zero(d);
  std::size_t i = 0;
  std::size_t lines = 0;
  const auto look = [&](std::size_t at) HWY_ATTR {
    const auto a = hn::LoadU(d, p + at);
    const auto b = hn::LoadU(d, p + at + 1);
    const auto c = hn::LoadU(d, p + at + 2);
    const auto first = hn::And(hn::TableLookupBytes(low0, hn::And(a, half)),
                               hn::TableLookupBytes(high0, hn::And(hn::ShiftRight<4>(a), half)));
    const auto second = hn::And(hn::TableLookupBytes(low1, hn::And(b, half)),
                                hn::TableLookupBytes(high1, hn::And(hn::ShiftRight<4>(b), half)));
    const auto third = hn::And(hn::TableLookupBytes(low2, hn::And(c, half)),
                               hn::TableLookupBytes(high2, hn::And(hn::ShiftRight<4>(c), half)));
    const auto known = hn::Ne(hn::And(hn::And(first, second), third), zero);
    const auto other = hn::And(hn::And(hn::Eq(a, x), hn::Eq(b, y)), hn::Eq(c, z));
    lines += hn::CountTrue(d, hn::Eq(a, end_of_line));
    return hn::Or(known, other);
  };
  for (; i + n <= size; i += n) {
    const auto found = look(i);
    if (HWY_LIKELY(hn::AllFalse(d, found))) continue;
    std::uint8_t bits[HWY_MAX_BYTES / 8 + 8] = {};
    hn::StoreMaskBits(d, found, bits);
    for (std::size_t word_at = 0; word_at < n; word_at += 64) {
      std::uint64_t word = 0;
      std::memcpy(&word, bits + word_at / 8, sizeof(word));
      for (; word != 0; word &= word - 1) {
        const std::size_t k = word_at + static_cast<std::size_t>(std::countr_zero(word));
        const char* at = text + i + k;
        if (!telling::IsGroup(at) && !(at[0] == more[0] && at[1] == more[1] && at[2] == more[2])) continue;
        for (std::size_t rest = k; rest < n; ++rest) lines -= text[i + rest] == '\n';
        *newlines = lines;
        return i + k;
      }
    }
  }
  for (; i < size; ++i) {
    const char* at = text + i;
    if (telling::IsGroup(at) || (at[0] == more[0] && at[1] == more[1] && at[2] == more[2])) break;
    lines += text[i] == '\n';
  }
  *newlines = lines;
  return i;
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace paritect
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "formats/logs/log_format.h"

namespace paritect {

HWY_EXPORT(FindTelling);

namespace {

constexpr char kNoMore[3] = {'o', 's', 's'};

const char* MoreOf(absl::string_view more) {
  return more.size() >= 3 ? more.data() : kNoMore;
}

}  // namespace

bool HasTellingLetters(absl::string_view text, absl::string_view more) {
  if (text.size() < 3) return false;
  std::size_t newlines = 0;
  return HWY_DYNAMIC_DISPATCH(FindTelling)(text.data(), text.size() - 2, MoreOf(more), &newlines) < text.size() - 2;
}

QuietText FindQuiet(absl::string_view text, absl::string_view more) {
  QuietText quiet;
  if (text.size() < 3) return quiet;
  quiet.bytes = HWY_DYNAMIC_DISPATCH(FindTelling)(text.data(), text.size() - 2, MoreOf(more), &quiet.newlines);
  return quiet;
}

}  // namespace paritect

#endif  // HWY_ONCE
