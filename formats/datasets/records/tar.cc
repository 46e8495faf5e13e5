// tar (ustar, pax, GNU, v7; WebDataset shards are such): regular members counted, headers and ends followed.
// Sources: POSIX.1-2008, pax; GNU tar manual, "Basic Tar Format".
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kPaxBytesMax = 1 << 20;

// Octal text, or base 256 where the high bit of the first byte is set; nullopt: neither.
std::optional<std::uint64_t> Number(absl::string_view field) {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (std::size_t i = field.size() - std::min<std::size_t>(field.size(), 8); i < field.size(); ++i) {
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return value > INT64_MAX / 2 ? std::nullopt : std::optional<std::uint64_t>(value);
  }
  std::size_t i = 0;
  while (i < field.size() && field[i] == ' ') ++i;
  for (; i < field.size() && field[i] >= '0' && field[i] <= '7'; ++i) value = value * 8 + (field[i] - '0');
  if (i < field.size() && field[i] != ' ' && field[i] != '\0') return std::nullopt;
  return value;
}

bool AllZero(absl::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

bool ChecksumFits(absl::string_view block) {
  const auto stated = Number(block.substr(148, 8));
  if (!stated) return false;
  std::uint64_t sum = 0;  // old programs added signed characters
  std::int64_t signed_sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const char c = i >= 148 && i < 156 ? ' ' : block[i];
    sum += static_cast<unsigned char>(c);
    signed_sum += static_cast<signed char>(c);
  }
  return sum == *stated || signed_sum == static_cast<std::int64_t>(*stated);
}

bool Fits(const RecordHead& head) {
  return head.bytes.size() >= kBlock && !AllZero(head.bytes.substr(0, kBlock)) &&
         ChecksumFits(head.bytes.substr(0, kBlock)) && Number(head.bytes.substr(124, 12)).has_value();
}

// "LENGTH size=NUMBER\n" of a pax header.
std::optional<std::uint64_t> PaxSize(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const auto at = line.find(" size=");
    std::uint64_t value = 0;
    if (at != absl::string_view::npos && at < 20 && absl::SimpleAtoi(line.substr(at + 6), &value) &&
        value < INT64_MAX / 2) {
      return value;
    }
  }
  return std::nullopt;
}

std::string NameOf(absl::string_view block) {
  const absl::string_view name = block.substr(0, 100);
  return absl::StrCat("member ", name.substr(0, std::min(name.find('\0'), name.size())));
}

// How many blocks of a GNU sparse map stand behind a header.
absl::StatusOr<std::uint64_t> SparseBlocks(RecordReader& reader, std::uint64_t at, bool more) {
  std::uint64_t blocks = 0;
  while (more) {
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view block, reader.Peek(at + blocks * kBlock, kBlock));
    if (block.size() < kBlock) break;
    ++blocks;
    more = block[504] != '\0';
  }
  return blocks;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  std::uint64_t members = 0;
  std::optional<std::uint64_t> pax_size;
  for (std::uint64_t at = 0;;) {
    scan.records = members;
    PARITECT_ASSIGN_OR_RETURN(absl::string_view block, reader.Peek(at, kBlock));
    if (block.empty()) {
      scan.NoEndMark(at, "archive");
      return absl::OkStatus();
    }
    if (AllZero(block)) return absl::OkStatus();
    if (block.size() < kBlock) {
      scan.Cut(at, "member header");
      return absl::OkStatus();
    }
    auto size = Number(block.substr(124, 12));
    if (!ChecksumFits(block) || !size) {
      scan.Garbled(at, "member header");
      return absl::OkStatus();
    }
    const char type = block[156];
    const std::string name = NameOf(block);
    const bool sparse = type == 'S';
    const bool more = sparse && block[482] != '\0';
    const bool regular = type == '0' || type == '\0' || type == '7' || sparse;
    if (regular && pax_size) size = pax_size;
    if (type != 'x' && type != 'g' && type != 'L' && type != 'K') pax_size.reset();
    if (type == 'x' && *size <= kPaxBytesMax) {
      PARITECT_ASSIGN_OR_RETURN(const absl::string_view text, reader.Peek(at + kBlock, *size));
      pax_size = PaxSize(text);
    }
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t map, SparseBlocks(reader, at + kBlock, more));
    const bool data = regular || type == 'x' || type == 'g' || type == 'L' || type == 'K';
    const std::uint64_t begin = at + kBlock + map * kBlock;
    const std::uint64_t end = begin + (data ? (*size + kBlock - 1) / kBlock * kBlock : 0);
    PARITECT_ASSIGN_OR_RETURN(const bool there, reader.Reaches(begin + (data ? *size : 0)));
    if (!there) {
      scan.Cut(at, name);
      return absl::OkStatus();
    }
    members += regular ? 1 : 0;
    at = end;
  }
}

}  // namespace

extern const RecordForm kTarRecords;
const RecordForm kTarRecords = {"tar", true, &Fits, &Scan};

}  // namespace paritect
