#include "formats/zip_archive.h"

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

absl::StatusOr<ZipEntry> ReadCentral(absl::string_view archive, std::size_t at, std::size_t name_size) {
  ZipEntry entry;
  entry.name = std::string(archive.substr(at + kCentralBytes, name_size));
  PARITECT_RETURN_IF_ERROR(CheckName(entry.name));
  if ((Unsigned(archive, at + 8, 2) & 1) != 0) return Damaged(entry.name, "encrypted");
  entry.method = static_cast<std::uint16_t>(Unsigned(archive, at + 10, 2));
  entry.crc = static_cast<std::uint32_t>(Unsigned(archive, at + 16, 4));
  entry.packed_size = Unsigned(archive, at + 20, 4);
  entry.size = Unsigned(archive, at + 24, 4);
  entry.local_at = Unsigned(archive, at + 42, 4);
  if (entry.packed_size == 0xFFFFFFFFu || entry.size == 0xFFFFFFFFu || entry.local_at == 0xFFFFFFFFu)
    return Damaged(entry.name, "a ZIP64 entry, which is not read here");
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

absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(absl::string_view archive) {
  const std::size_t end = FindEnd(archive);
  if (end == absl::string_view::npos) return absl::DataLossError("the ZIP directory is cut off");
  if (Unsigned(archive, end + 4, 2) != 0 || Unsigned(archive, end + 6, 2) != 0)
    return absl::DataLossError("a ZIP file of several volumes");
  const std::size_t count = Unsigned(archive, end + 10, 2);
  const std::size_t directory = Unsigned(archive, end + 16, 4);
  if (directory > end || end - directory != Unsigned(archive, end + 12, 4))
    return absl::DataLossError("the ZIP directory is not where its end says");
  std::vector<ZipEntry> entries;
  std::size_t seen = 0;
  for (std::size_t at = directory; at < end; ++seen) {
    if (end - at < kCentralBytes || !absl::StartsWith(archive.substr(at), kCentralHeader) || seen >= kEntriesMax)
      return absl::DataLossError("the ZIP directory is damaged");
    const std::size_t name_size = Unsigned(archive, at + 28, 2);
    const std::size_t next =
        at + kCentralBytes + name_size + Unsigned(archive, at + 30, 2) + Unsigned(archive, at + 32, 2);
    if (next > end) return absl::DataLossError("the ZIP directory is damaged");
    PARITECT_ASSIGN_OR_RETURN(ZipEntry entry, ReadCentral(archive, at, name_size));
    PARITECT_RETURN_IF_ERROR(Locate(archive, directory, entry));
    entries.push_back(std::move(entry));
    at = next;
  }
  if ((seen & 0xFFFF) != count)
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
