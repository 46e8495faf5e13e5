// ZIP (npz among them): the central directory gives the members; each one's header, size and CRC-32 are followed.
// Source: APPNOTE 6.3, 4.3 and 4.4.
#include <zlib.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEndSearchBytes = kEndBytes + 65535;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t end = 0;
  std::uint64_t bias = 0;  // bytes that stand before the archive
};

struct Member {
  std::string name;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::uint64_t header = 0;
};

bool Fits(const RecordHead& head) {
  return head.size && (absl::StartsWith(head.bytes, "PK\x03\x04") || absl::StartsWith(head.bytes, "PK\x05\x06"));
}

// False: no directory where the end of the file should have one.
absl::StatusOr<bool> FindDirectory(RecordReader& reader, Directory& directory) {
  const std::uint64_t size = *reader.size();
  const std::uint64_t from = size > kEndSearchBytes ? size - kEndSearchBytes : 0;
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view view, reader.Peek(from, kEndSearchBytes));
  const std::string tail(view);
  const std::size_t at = tail.rfind("PK\x05\x06", std::string::npos, 4);
  if (at == std::string::npos || tail.size() - at < kEndBytes) return false;
  directory.entries = LittleEndian(tail, at + 10, 2);
  std::uint64_t bytes = LittleEndian(tail, at + 12, 4);
  std::uint64_t offset = LittleEndian(tail, at + 16, 4);
  directory.end = from + at;
  if (at >= 20 && tail.compare(at - 20, 4, "PK\x06\x07") == 0) {
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view wide, reader.Peek(LittleEndian(tail, at - 20 + 8, 8), 56));
    if (wide.size() < 56 || !absl::StartsWith(wide, "PK\x06\x06")) return false;
    directory.entries = LittleEndian(wide, 32, 8);
    bytes = LittleEndian(wide, 40, 8);
    offset = LittleEndian(wide, 48, 8);
    directory.end = LittleEndian(tail, at - 20 + 8, 8);
  }
  if (bytes > directory.end || offset > directory.end - bytes) return false;
  directory.offset = directory.end - bytes;
  directory.bias = directory.offset - offset;
  return true;
}

// Sizes and offset that do not fit 32 bits stand in an extra field, those alone, in this order.
void ReadWideSizes(absl::string_view extra, Member& member) {
  while (extra.size() >= 4) {
    const std::size_t id = LittleEndian(extra, 0, 2);
    const std::size_t length = LittleEndian(extra, 2, 2);
    if (length > extra.size() - 4) return;
    absl::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (std::uint64_t* number : {&member.size, &member.packed, &member.header}) {
      if (*number != 0xFFFFFFFF || field.size() < 8) continue;
      *number = LittleEndian(field, 0, 8);
      field.remove_prefix(8);
    }
  }
}

// CRC-32 of a member's content; nullopt: its data does not inflate, or not to its size.
absl::StatusOr<std::optional<std::uint32_t>> CrcOf(RecordReader& reader, std::uint64_t at, const Member& member) {
  z_stream stream;
  std::memset(&stream, 0, sizeof(stream));
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return absl::InternalError("zlib");
  uLong crc = crc32(0, nullptr, 0);
  std::string out(64 << 10, '\0');
  std::uint64_t done = 0;
  std::uint64_t left = member.packed;
  bool good = true;
  absl::Status status;
  while (left > 0 && good) {
    const auto piece = reader.Next(at + member.packed - left, std::min<std::uint64_t>(left, 1 << 30));
    status = piece.status();
    if (!piece.ok() || piece->empty()) break;
    left -= piece->size();
    const auto* bytes = reinterpret_cast<const Bytef*>(piece->data());
    if (member.method == 0) {
      crc = crc32(crc, bytes, static_cast<uInt>(piece->size()));
      done += piece->size();
      continue;
    }
    stream.next_in = const_cast<Bytef*>(bytes);
    stream.avail_in = static_cast<uInt>(piece->size());
    int result = Z_OK;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      result = inflate(&stream, Z_NO_FLUSH);
      const std::size_t n = out.size() - stream.avail_out;
      crc = crc32(crc, reinterpret_cast<const Bytef*>(out.data()), static_cast<uInt>(n));
      done += n;
      good = (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) && done <= member.size;
    } while (good && result == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    if (result == Z_STREAM_END) break;
  }
  inflateEnd(&stream);
  PARITECT_RETURN_IF_ERROR(status);
  if (!good || done != member.size) return std::optional<std::uint32_t>();
  return std::optional<std::uint32_t>(static_cast<std::uint32_t>(crc));
}

absl::Status CheckMember(RecordReader& reader, const Directory& directory, const Member& member, RecordScan& scan) {
  const std::uint64_t at = member.header + directory.bias;
  if (member.header > directory.offset) {
    scan.Garbled(directory.offset, "directory entry of " + member.name);
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view local, reader.Peek(at, kLocalBytes));
  if (local.size() < kLocalBytes || !absl::StartsWith(local, "PK\x03\x04")) {
    scan.Garbled(at, "member " + member.name);
    return absl::OkStatus();
  }
  const std::uint64_t begin = at + kLocalBytes + LittleEndian(local, 26, 2) + LittleEndian(local, 28, 2);
  if (begin > directory.offset || member.packed > directory.offset - begin) {
    scan.Cut(at, "member " + member.name);
    return absl::OkStatus();
  }
  if ((member.flags & 1) != 0 || (member.method != 0 && member.method != 8)) {
    scan.not_all_checked = true;
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const auto crc, CrcOf(reader, begin, member));
  if (!crc) {
    scan.Garbled(begin, "member " + member.name);
  } else if (*crc != member.crc) {
    scan.Checksum(begin, "member " + member.name);
  }
  return absl::OkStatus();
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  Directory directory;
  PARITECT_ASSIGN_OR_RETURN(const bool found, FindDirectory(reader, directory));
  if (!found) {
    scan.Cut(*reader.size(), "directory at the end");
    return absl::OkStatus();
  }
  std::uint64_t files = 0;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(at, kEntryBytes));
    if (head.size() < kEntryBytes || !absl::StartsWith(head, "PK\x01\x02")) {
      scan.Garbled(at, absl::StrCat("directory entry ", i));
      return absl::OkStatus();
    }
    Member member;
    member.flags = LittleEndian(head, 8, 2);
    member.method = LittleEndian(head, 10, 2);
    member.crc = static_cast<std::uint32_t>(LittleEndian(head, 16, 4));
    member.packed = LittleEndian(head, 20, 4);
    member.size = LittleEndian(head, 24, 4);
    member.header = LittleEndian(head, 42, 4);
    const std::size_t name = LittleEndian(head, 28, 2);
    const std::size_t extra = LittleEndian(head, 30, 2);
    const std::size_t comment = LittleEndian(head, 32, 2);
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view texts, reader.Peek(at + kEntryBytes, name + extra));
    member.name = std::string(texts.substr(0, name));
    if (texts.size() == name + extra) ReadWideSizes(texts.substr(name), member);
    at += kEntryBytes + name + extra + comment;
    if (absl::EndsWith(member.name, "/")) continue;
    ++files;
    PARITECT_RETURN_IF_ERROR(CheckMember(reader, directory, member, scan));
  }
  scan.records = files;
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kZipRecords;
const RecordForm kZipRecords = {"zip", false, &Fits, &Scan};

}  // namespace paritect
