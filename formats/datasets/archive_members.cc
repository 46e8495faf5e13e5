#include "formats/datasets/archive_members.h"

#include <zlib.h>

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "formats/archives/zip.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMembersMax = 5'000'000;
constexpr std::size_t kNameBytesMax = 1 << 20;

string_view UntilNul(string_view field) {
  return field.substr(0, field.find('\0'));
}

// Octal text, or base 256 where the first bit is set (GNU tar for sizes over 8 GiB).
absl::StatusOr<std::uint64_t> TarNumber(string_view field) {
  if (static_cast<unsigned char>(field[0]) & 0x80) {
    std::uint64_t value = static_cast<unsigned char>(field[0]) & 0x7F;
    for (char c : field.substr(1)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::uint64_t value = 0;
  for (char c : absl::StripAsciiWhitespace(UntilNul(field))) {
    if (c < '0' || c > '7') return absl::InvalidArgumentError("tar: a size is not octal");
    value = value << 3 | static_cast<std::uint64_t>(c - '0');
  }
  return value;
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
    if (absl::ConsumePrefix(&record, "size=") && absl::SimpleAtoi(record, &value)) size = value;
    data.remove_prefix(length);
  }
}

absl::StatusOr<std::vector<std::string>> ListTar(string_view bytes) {
  std::vector<std::string> members;
  std::string long_name;
  std::optional<std::uint64_t> long_size;
  std::size_t at = 0;
  while (at + kBlock <= bytes.size()) {
    const string_view header = bytes.substr(at, kBlock);
    if (header[0] == '\0') return members;  // the end: zero blocks
    PARITECT_ASSIGN_OR_RETURN(std::uint64_t size, TarNumber(header.substr(124, 12)));
    const char type = header[156];
    if (long_size && type != 'x' && type != 'g' && type != 'L') size = *long_size;
    at += kBlock;
    if (size > bytes.size() - at) return absl::DataLossError("tar: cut inside a member");
    const string_view data = bytes.substr(at, size);
    at += (size + kBlock - 1) / kBlock * kBlock;
    if (type == 'L') {
      if (data.size() > kNameBytesMax) return absl::ResourceExhaustedError("tar: a name is too long");
      long_name = std::string(UntilNul(data));
      continue;
    }
    if (type == 'x') {
      ReadPax(data, long_name, long_size);
      continue;
    }
    if (type == 'g' || type == 'K') continue;
    std::string name(UntilNul(header.substr(0, 100)));
    const bool ustar = header.substr(257, 5) == "ustar";
    if (ustar && header[345] != '\0' && header[263] == '0')
      name = absl::StrCat(UntilNul(header.substr(345, 155)), "/", name);
    if (!long_name.empty()) name = long_name;
    long_name.clear();
    long_size.reset();
    if (members.size() >= kMembersMax) return absl::ResourceExhaustedError("tar: too many members");
    members.push_back(absl::StrCat(absl::CEscape(name), "\t", size, "\t", ToHex(Md5(data)), "\t",
                                   UntilNul(header.substr(157, 100)).size() > 0 ? "link" : ""));
  }
  return absl::DataLossError("tar: no end mark");
}

absl::StatusOr<std::vector<std::string>> ListZip(string_view bytes) {
  PARITECT_ASSIGN_OR_RETURN(ZipDirectory directory, ZipDirectory::Find(AccessTo(bytes)));
  std::vector<std::string> members;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const std::optional<ZipEntry> entry, directory.Next());
    if (!entry) break;
    if (members.size() >= kMembersMax) return absl::ResourceExhaustedError("zip: too many members");
    members.push_back(absl::StrCat(absl::CEscape(entry->name), "\t", entry->size, "\tcrc32 ", entry->crc));
  }
  if (!directory.CountFits()) return absl::DataLossError("zip: directory and count disagree");
  return members;
}

absl::StatusOr<std::string> Inflate(string_view bytes, std::uint64_t limit) {
  z_stream stream;
  std::memset(&stream, 0, sizeof(stream));
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return absl::InternalError("zlib refuses to start");
  std::string out;
  std::string input(bytes);
  std::vector<char> buffer(256 << 10);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  int result = Z_OK;
  while (result == Z_OK && out.size() <= limit) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
    if (result == Z_STREAM_END && stream.avail_in > 0) result = inflateReset(&stream);  // several gzip parts
  }
  inflateEnd(&stream);
  if (out.size() > limit) return absl::ResourceExhaustedError("gzip: too large when decompressed");
  if (result != Z_STREAM_END) return absl::DataLossError("gzip: cut or damaged");
  return out;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListArchiveMembers(string_view bytes, std::uint64_t inflated_bytes_max) {
  if (LooksLikeZip(bytes)) return ListZip(bytes);
  std::string inflated;
  if (absl::StartsWith(bytes, "\x1F\x8B")) {
    PARITECT_ASSIGN_OR_RETURN(inflated, Inflate(bytes, inflated_bytes_max));
    bytes = inflated;
  }
  if (bytes.size() < 2 * kBlock) return absl::InvalidArgumentError("no archive");
  const bool ustar = bytes.substr(257, 5) == "ustar";
  const bool empty = bytes[0] == '\0';
  if (!ustar && !empty) return absl::InvalidArgumentError("no archive");
  return ListTar(bytes);
}

}  // namespace paritect
