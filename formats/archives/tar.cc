#include "formats/archives/tar.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr std::size_t kExtensionBytesMax = 1 << 20;
constexpr std::uint64_t kSizeMax = INT64_MAX / 2;  // sums of two stay in range

// Octal text, or base 256 where the high bit of the first byte is set (GNU, over 8 GiB); nullopt: neither.
std::optional<std::uint64_t> Number(string_view field) {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (char c : field.substr(field.size() - std::min<std::size_t>(field.size(), 8))) {
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return value > kSizeMax ? std::nullopt : std::optional<std::uint64_t>(value);
  }
  std::size_t i = 0;
  while (i < field.size() && field[i] == ' ') ++i;
  for (; i < field.size() && field[i] >= '0' && field[i] <= '7'; ++i)
    value = value * 8 + static_cast<unsigned char>(field[i] - '0');
  if (i < field.size() && field[i] != ' ' && field[i] != '\0') return std::nullopt;
  return value;
}

bool AllZero(string_view block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

bool ChecksumFits(string_view block) {
  const auto stated = Number(block.substr(148, 8));
  if (!stated) return false;
  std::uint64_t sum = 0;  // old programs added signed characters
  std::int64_t signed_sum = 0;
  for (std::size_t i = 0; i < kTarBlockBytes; ++i) {
    const char c = i >= 148 && i < 156 ? ' ' : block[i];
    sum += static_cast<unsigned char>(c);
    signed_sum += static_cast<signed char>(c);
  }
  return sum == *stated || signed_sum == static_cast<std::int64_t>(*stated);
}

string_view UntilNul(string_view field) {
  return field.substr(0, field.find('\0'));
}

std::string NameOf(string_view block) {
  const string_view name = UntilNul(block.substr(0, 100));
  const bool ustar = block.substr(257, 5) == "ustar" && block[263] == '0';  // GNU keeps other things in the prefix
  const string_view prefix = ustar ? UntilNul(block.substr(345, 155)) : "";
  return prefix.empty() ? std::string(name) : absl::StrCat(prefix, "/", name);
}

std::uint64_t Padded(std::uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

bool ExtendsTheNext(char type) {
  return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

// Links, devices, folders and FIFOs have none, whatever size they state.
bool HasData(char type) {
  return type < '1' || type > '6';
}

// "path" and "size" of a pax header: records "LENGTH KEY=VALUE\n".
void ReadPax(string_view data, std::string& name, std::optional<std::uint64_t>& size) {
  while (!data.empty()) {
    const auto blank = data.find(' ');
    std::uint64_t length = 0;
    if (blank == string_view::npos || !absl::SimpleAtoi(data.substr(0, blank), &length)) return;
    if (length <= blank + 1 || length > data.size()) return;
    string_view record = data.substr(blank + 1, length - blank - 1);
    absl::ConsumeSuffix(&record, "\n");
    if (absl::ConsumePrefix(&record, "path=")) name = std::string(record);
    std::uint64_t value = 0;
    if (absl::ConsumePrefix(&record, "size=") && absl::SimpleAtoi(record, &value) && value <= kSizeMax) size = value;
    data.remove_prefix(length);
  }
}

}  // namespace

bool LooksLikeTar(string_view head) {
  if (head.size() < kTarBlockBytes) return false;
  const string_view block = head.substr(0, kTarBlockBytes);
  return !AllZero(block) && ChecksumFits(block) && Number(block.substr(124, 12)).has_value();
}

// How many bytes of a GNU sparse map stand behind a header.
absl::StatusOr<std::uint64_t> TarReader::SparseMapBytes(std::uint64_t at, bool more) {
  std::uint64_t bytes = 0;
  while (more) {
    PARITECT_ASSIGN_OR_RETURN(const string_view block, peek_(at + bytes, kTarBlockBytes));
    if (block.size() < kTarBlockBytes) break;
    bytes += kTarBlockBytes;
    more = block[504] != '\0';
  }
  return bytes;
}

absl::StatusOr<TarReader::Found> TarReader::ReadHeader(TarMember& member) {
  PARITECT_ASSIGN_OR_RETURN(const string_view block, peek_(at_, kTarBlockBytes));
  if (block.empty()) return Found::kNoEndMark;
  if (AllZero(block)) return Found::kEnd;
  if (block.size() < kTarBlockBytes) return Found::kCutHeader;
  const auto size = Number(block.substr(124, 12));
  if (!ChecksumFits(block) || !size) return Found::kGarbled;
  member = {};
  member.type = block[156];
  member.name = NameOf(block);
  member.size = *size;
  member.has_target = block[157] != '\0';
  member.header_at = at_;
  if (!ExtendsTheNext(member.type)) {
    if (!long_name_.empty()) member.name = std::move(long_name_);
    if (long_size_ && HasData(member.type)) member.size = *long_size_;
    long_name_.clear();
    long_size_.reset();
  }
  const bool more = member.type == 'S' && block[482] != '\0';
  PARITECT_ASSIGN_OR_RETURN(const std::uint64_t map, SparseMapBytes(at_ + kTarBlockBytes, more));
  member.data_at = at_ + kTarBlockBytes + map;
  member.data_bytes = HasData(member.type) ? member.size : 0;
  if (member.data_bytes == 0) return Found::kMember;
  PARITECT_ASSIGN_OR_RETURN(const string_view last, peek_(member.data_at + member.data_bytes - 1, 1));
  return last.empty() ? Found::kCutData : Found::kMember;
}

absl::Status TarReader::ReadExtension(const TarMember& header) {
  if (header.type != 'x' && header.type != 'L') return absl::OkStatus();
  if (header.size > kExtensionBytesMax) return absl::ResourceExhaustedError("tar: a name is too long");
  PARITECT_ASSIGN_OR_RETURN(const string_view text, peek_(header.data_at, static_cast<std::size_t>(header.size)));
  if (header.type == 'L') {
    long_name_ = std::string(UntilNul(text));
  } else {
    ReadPax(text, long_name_, long_size_);
  }
  return absl::OkStatus();
}

absl::StatusOr<TarReader::Found> TarReader::Next(TarMember& member) {
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const Found found, ReadHeader(member));
    if (found != Found::kMember) return found;
    if (ExtendsTheNext(member.type)) PARITECT_RETURN_IF_ERROR(ReadExtension(member));
    at_ = member.data_at + Padded(member.data_bytes);
    if (!ExtendsTheNext(member.type)) return found;
  }
}

}  // namespace paritect
