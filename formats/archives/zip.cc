#include "formats/archives/zip.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kLocalHeader("PK\x03\x04", 4);
constexpr absl::string_view kCentralHeader("PK\x01\x02", 4);
constexpr absl::string_view kEndHeader("PK\x05\x06", 4);
constexpr absl::string_view kEnd64Header("PK\x06\x06", 4);
constexpr absl::string_view kLocator64Header("PK\x06\x07", 4);
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kIn64 = 0xFFFFFFFFu;  // "see the ZIP64 field"
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCommentMax = 65535;
constexpr std::size_t kEntriesMax = 200'000;
constexpr std::size_t kNameMax = 4096;
constexpr std::size_t kPlainBytes = 1 << 20;  // below, any ratio does no harm
constexpr std::size_t kRatioMax = 400;        // deflate reaches 1032 on one repeated byte; texts stay below 100

std::size_t Unsigned(absl::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

absl::Status Damaged(absl::string_view name, absl::string_view why) {
  return absl::DataLossError(StrCat("entry '", DisplayBytes(name), "': ", why));
}

// The end record whose comment reaches exactly to the end of the file; npos where there is none.
std::size_t FindEnd(absl::string_view archive) {
  const std::size_t first = archive.size() > kEndBytes + kCommentMax ? archive.size() - kEndBytes - kCommentMax : 0;
  for (std::size_t at = archive.rfind(kEndHeader); at != absl::string_view::npos && at >= first;) {
    if (archive.size() - at >= kEndBytes && Unsigned(archive, at + 20, 2) == archive.size() - at - kEndBytes) return at;
    if (at == 0) break;
    at = archive.rfind(kEndHeader, at - 1);
  }
  return absl::string_view::npos;
}

absl::Status CheckName(absl::string_view name) {
  if (name.empty() || name.size() > kNameMax)
    return Damaged(name.substr(0, 80), "a name without length or far too long");
  if (absl::StrContains(name, absl::string_view("\0", 1))) return Damaged(name, "a NUL in the name");
  const bool drive = name.size() >= 2 && name[1] == ':';
  if (name[0] == '/' || name[0] == '\\' || drive) return Damaged(name, "an absolute name");
  for (absl::string_view part : absl::StrSplit(name, absl::ByAnyChar("/\\"))) {
    if (part == "..") return Damaged(name, "a name that leaves the folder");
  }
  return absl::OkStatus();
}

// Reads the local header and finds where the data begins.
absl::Status Locate(absl::string_view archive, std::size_t directory, ZipEntry& entry) {
  if (entry.local_at > directory || directory - entry.local_at < kLocalBytes ||
      !absl::StartsWith(archive.substr(entry.local_at), kLocalHeader)) {
    return Damaged(entry.name, "its data is not where the directory says");
  }
  const std::size_t name_size = Unsigned(archive, entry.local_at + 26, 2);
  entry.data_at = entry.local_at + kLocalBytes + name_size + Unsigned(archive, entry.local_at + 28, 2);
  if (archive.substr(entry.local_at + kLocalBytes, name_size) != entry.name)
    return Damaged(entry.name, "its own header names another file");
  if (entry.data_at > directory || directory - entry.data_at < entry.packed_size)
    return Damaged(entry.name, "longer than the archive");
  return absl::OkStatus();
}

// Sizes and place of an entry that do not fit into 32 bits, from its ZIP64 field (id 1): those that are told to be
// there, in this order.
bool ReadWide(absl::string_view extra, ZipEntry& entry) {
  if (entry.size != kIn64 && entry.packed_size != kIn64 && entry.local_at != kIn64) return true;
  while (extra.size() >= 4) {
    const std::size_t size = Unsigned(extra, 2, 2);
    if (extra.size() - 4 < size) return false;
    absl::string_view field = extra.substr(4, size);
    if (Unsigned(extra, 0, 2) == 1) {
      for (std::size_t* value : {&entry.size, &entry.packed_size, &entry.local_at}) {
        if (*value != kIn64) continue;
        if (field.size() < 8) return false;
        *value = Unsigned(field, 0, 8);
        field.remove_prefix(8);
      }
      return true;
    }
    extra.remove_prefix(4 + size);
  }
  return false;
}

absl::StatusOr<ZipEntry> ReadCentral(absl::string_view archive, std::size_t at, std::size_t name_size,
                                     absl::string_view extra) {
  ZipEntry entry;
  entry.name = std::string(archive.substr(at + kCentralBytes, name_size));
  PARITECT_RETURN_IF_ERROR(CheckName(entry.name));
  if ((Unsigned(archive, at + 8, 2) & 1) != 0) return Damaged(entry.name, "encrypted");
  entry.method = static_cast<std::uint16_t>(Unsigned(archive, at + 10, 2));
  entry.crc = static_cast<std::uint32_t>(Unsigned(archive, at + 16, 4));
  entry.packed_size = Unsigned(archive, at + 20, 4);
  entry.size = Unsigned(archive, at + 24, 4);
  entry.local_at = Unsigned(archive, at + 42, 4);
  if (!ReadWide(extra, entry)) return Damaged(entry.name, "its ZIP64 sizes are not there");
  if (entry.packed_size > archive.size()) return Damaged(entry.name, "longer than the archive");
  if (entry.size > kPlainBytes && entry.size / std::max<std::size_t>(entry.packed_size, 1) > kRatioMax)
    return Damaged(entry.name, "unpacks to many hundred times its length (a ZIP bomb)");
  if (entry.method != 0 && entry.method != 8) return Damaged(entry.name, StrCat("packed by method ", entry.method));
  if (entry.method == 0 && entry.packed_size != entry.size) return Damaged(entry.name, "stored with two lengths");
  return entry;
}

absl::Status CheckOverlap(const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> by_place;
  for (const ZipEntry& entry : entries) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->local_at < b->local_at; });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const ZipEntry& before = *by_place[i - 1];
    if (before.data_at + before.packed_size > by_place[i]->local_at)
      return Damaged(by_place[i]->name, StrCat("overlaps '", DisplayBytes(before.name), "'"));
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeZip(absl::string_view head) {
  return absl::StartsWith(head, kLocalHeader) || absl::StartsWith(head, kEndHeader);
}

std::vector<std::string> ZipNamesInHead(absl::string_view head) {
  std::vector<std::string> names;
  for (std::size_t at = head.find(kLocalHeader); at != absl::string_view::npos; at = head.find(kLocalHeader, at + 4)) {
    if (head.size() - at < kLocalBytes || names.size() >= 1000) break;
    names.emplace_back(head.substr(at + kLocalBytes, Unsigned(head, at + 26, 2)));
  }
  return names;
}

namespace {

struct Directory {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t count = 0;
};

// Where the directory lies, by the end record or, where that says that it does not fit, by the ZIP64 one before it.
absl::StatusOr<Directory> FindDirectory(absl::string_view archive) {
  const std::size_t end = FindEnd(archive);
  if (end == absl::string_view::npos) return absl::DataLossError("the ZIP directory is cut off");
  if (Unsigned(archive, end + 4, 2) != 0 || Unsigned(archive, end + 6, 2) != 0)
    return absl::DataLossError("a ZIP file of several volumes");
  Directory directory = {Unsigned(archive, end + 16, 4), end, Unsigned(archive, end + 10, 2)};
  std::size_t bytes = Unsigned(archive, end + 12, 4);
  const bool full = directory.count == 0xFFFF || bytes == kIn64 || directory.begin == kIn64;
  const std::size_t locator = end < kLocator64Bytes ? 0 : end - kLocator64Bytes;
  if (full && end >= kLocator64Bytes && absl::StartsWith(archive.substr(locator), kLocator64Header)) {
    const std::size_t at = Unsigned(archive, locator + 8, 8);
    if (at > locator || locator - at < kEnd64Bytes || !absl::StartsWith(archive.substr(at), kEnd64Header))
      return absl::DataLossError("the ZIP64 end record is not where its locator says");
    directory = {Unsigned(archive, at + 48, 8), at, Unsigned(archive, at + 32, 8)};
    bytes = Unsigned(archive, at + 40, 8);
  }
  if (directory.begin > directory.end || directory.end - directory.begin != bytes)
    return absl::DataLossError("the ZIP directory is not where its end says");
  return directory;
}

}  // namespace

absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(absl::string_view archive) {
  PARITECT_ASSIGN_OR_RETURN(const Directory place, FindDirectory(archive));
  const std::size_t directory = place.begin;
  const std::size_t end = place.end;
  std::vector<ZipEntry> entries;
  std::size_t seen = 0;
  for (std::size_t at = directory; at < end; ++seen) {
    if (seen >= kEntriesMax) return absl::DataLossError(StrCat("a ZIP file of more than ", kEntriesMax, " entries"));
    if (end - at < kCentralBytes || !absl::StartsWith(archive.substr(at), kCentralHeader))
      return absl::DataLossError("the ZIP directory is damaged");
    const std::size_t name_size = Unsigned(archive, at + 28, 2);
    const std::size_t next =
        at + kCentralBytes + name_size + Unsigned(archive, at + 30, 2) + Unsigned(archive, at + 32, 2);
    if (next > end) return absl::DataLossError("the ZIP directory is damaged");
    const absl::string_view extra = archive.substr(at + kCentralBytes + name_size, Unsigned(archive, at + 30, 2));
    PARITECT_ASSIGN_OR_RETURN(ZipEntry entry, ReadCentral(archive, at, name_size, extra));
    PARITECT_RETURN_IF_ERROR(Locate(archive, directory, entry));
    entries.push_back(std::move(entry));
    at = next;
  }
  if (seen != place.count && (seen & 0xFFFF) != place.count)
    return absl::DataLossError("the ZIP directory holds another number of entries than it says");
  PARITECT_RETURN_IF_ERROR(CheckOverlap(entries));
  entries.erase(
      std::remove_if(entries.begin(), entries.end(), [](const ZipEntry& one) { return one.name.back() == '/'; }),
      entries.end());
  return entries;
}

absl::StatusOr<std::string> ReadZipEntry(absl::string_view archive, const ZipEntry& entry, std::size_t bytes_max) {
  if (entry.size > bytes_max) {
    return absl::ResourceExhaustedError(
        StrCat("entry '", DisplayBytes(entry.name), "' is larger than ", bytes_max, " bytes"));
  }
  const absl::string_view packed = archive.substr(entry.data_at, entry.packed_size);
  std::string out;
  if (entry.method == 0) {
    out = std::string(packed);
  } else {
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return absl::InternalError("zlib does not start");
    // One byte more than stated: an entry that goes on is seen, and no further.
    out.resize(entry.size + 1);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream, Z_FINISH);
    const std::size_t written = out.size() - stream.avail_out;
    inflateEnd(&stream);
    if (code != Z_STREAM_END || written != entry.size)
      return Damaged(entry.name, "unpacks to another length than stated");
    out.resize(written);
  }
  const auto crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), static_cast<z_size_t>(out.size())));
  if (crc != entry.crc) return Damaged(entry.name, "its check sum does not fit");
  return out;
}

}  // namespace paritect
