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

#ifndef PARITECT_FORMATS_LOGS_TELLING_ONCE_
#define PARITECT_FORMATS_LOGS_TELLING_ONCE_
namespace paritect::telling {

struct Group {
  unsigned char set;  // which groups share a set does not matter but for the number of comparisons in vain
  char letters[4];
};

// loss, acc(uracy), top1, mAP, IoU, BLEU, perplexity, F1, AUC, WER, rouge · overflow, *****, resume, checkpoint,
// continuing, traceback, cannot · error, Aborted, core dumped, Segmentation, terminate, exit, Signal, Killed, Fatal,
// interrupt, Watchdog, Ascend's error codes, exception · skip · 损失 (loss), 准确率 and 精度 (accuracy), 溢出
// (overflow), in UTF-8 and in GBK
constexpr Group kGroups[] = {
    {0, "oss"},          {0, "OSS"},          {0, "acc"},          {0, "Acc"},          {0, "ACC"},
    {0, "AUC"},          {0, "auc"},          {0, "Seg"},          {0, "Sig"},          {0, "SIG"},
    {1, "flo"},          {1, "nno"},          {1, "leu"},          {1, "F1:"},          {1, "f1_"},
    {1, "f1:"},          {1, "hdo"},          {2, "sum"},          {2, "kpo"},          {2, "mpe"},
    {2, "xce"},          {2, "ccu"},          {3, "rpl"},          {3, "rro"},          {3, "Abo"},
    {3, "rmi"},          {3, "xit"},          {3, "Kil"},          {3, "rru"},          {4, "FLO"},
    {4, "***"},          {4, "F1 "},          {4, "ERR"},          {4, "Fat"},          {4, "EZ9"},
    {4, "EE9"},          {4, "EL0"},          {4, "EH0"},          {5, "eba"},          {5, "mAP"},
    {5, "IoU"},          {5, "WER"},          {5, "EI0"},          {6, "uin"},          {6, "ppl"},
    {6, "PPL"},          {6, "uge"},          {6, "EJ0"},          {6, "EK0"},          {7, "c@1"},
    {7, "op1"},          {7, "op-"},          {7, "AP5"},          {7, "AP7"},          {7, "BLE"},
    {7, "ABO"},          {3, "\xE6\x8D\x9F"}, {6, "\xE5\x87\x86"}, {7, "\xE7\xB2\xBE"}, {3, "\xCB\xF0\xCA"},
    {6, "\xD7\xBC\xC8"}, {7, "\xBE\xAB\xB6"},  // the same in GBK: lines are looked at before
    {1, "kip"},          {2, "\xE6\xBA\xA2"}, {2, "\xD2\xE7\xB3"},
};

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
