#include "formats/archives/zip.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/crc.h"
#include "common/little_endian.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/archives/inflate.h"

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
constexpr std::uint64_t kIn64 = 0xFFFFFFFFu;  // "see the ZIP64 field"
constexpr std::uint64_t kCountIn64 = 0xFFFF;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCommentMax = 65535;
constexpr std::size_t kEntriesMax = 200'000;
constexpr std::size_t kNameMax = 4096;
constexpr std::size_t kPlainBytes = 1 << 20;  // below, any ratio does no harm
constexpr std::size_t kRatioMax = 400;        // deflate reaches 1032 on one repeated byte; texts stay below 100
constexpr std::size_t kWindowBytes = 64 << 10;
constexpr std::size_t kBlockBytes = 256 << 10;
// Bits of the flags: encrypted, strong encryption, masked local headers.
constexpr std::uint16_t kEncryptedFlags = 0x0001 | 0x0040 | 0x2000;

absl::Status Damaged(absl::string_view name, absl::string_view why) {
  return absl::DataLossError(StrCat("entry '", DisplayBytes(name.substr(0, 80)), "': ", why));
}

absl::Status CheckName(absl::string_view name) {
  if (name.empty() || name.size() > kNameMax) return Damaged(name, "a name without length or far too long");
  if (absl::StrContains(name, absl::string_view("\0", 1))) return Damaged(name, "a NUL in the name");
  const bool drive = name.size() >= 2 && name[1] == ':';
  if (name[0] == '/' || name[0] == '\\' || drive) return Damaged(name, "an absolute name");
  for (absl::string_view part : absl::StrSplit(name, absl::ByAnyChar("/\\"))) {
    if (part == "..") return Damaged(name, "a name that leaves the folder");
  }
  return absl::OkStatus();
}

// Sizes and place of an entry that do not fit into 32 bits, from its ZIP64 field (id 1): those that are told to be
// there, in this order. What is not there keeps its mark.
void ReadWide(absl::string_view extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const auto size = static_cast<std::size_t>(LittleEndian(extra, 2, 2));
    if (extra.size() - 4 < size) return;
    absl::string_view field = extra.substr(4, size);
    if (LittleEndian(extra, 0, 2) == 1) {
      for (std::uint64_t* value : {&entry.size, &entry.packed_size, &entry.header_at}) {
        if (*value != kIn64) continue;
        if (field.size() < 8) return;
        *value = LittleEndian(field, 0, 8);
        field.remove_prefix(8);
      }
      return;
    }
    extra.remove_prefix(4 + size);
  }
}

absl::Status CheckEntry(const ZipEntry& entry, std::uint64_t archive_bytes) {
  PARITECT_RETURN_IF_ERROR(CheckName(entry.name));
  if (entry.encrypted()) return Damaged(entry.name, "encrypted");
  if (entry.packed_size > archive_bytes || entry.header_at > archive_bytes)
    return Damaged(entry.name, "longer than the archive, or its ZIP64 sizes are not there");
  if (!entry.readable()) return Damaged(entry.name, StrCat("packed by method ", entry.method));
  if (entry.method == 0 && entry.packed_size != entry.size) return Damaged(entry.name, "stored with two lengths");
  return absl::OkStatus();
}

absl::Status CheckPlace(const ZipEntry& entry, ZipDirectory::Place place) {
  switch (place) {
    case ZipDirectory::Place::kNoHeader: return Damaged(entry.name, "its data is not where the directory says");
    case ZipDirectory::Place::kOtherFile: return Damaged(entry.name, "its own header names another file or method");
    case ZipDirectory::Place::kBeyondEnd: return Damaged(entry.name, "longer than the archive");
    case ZipDirectory::Place::kGood: break;
  }
  return absl::OkStatus();
}

absl::Status CheckPlaces(const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> by_place;
  for (const ZipEntry& entry : entries) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->header_at < b->header_at; });
  if (!entries.empty() && by_place[0]->header_at != 0) return Damaged(by_place[0]->name, "other bytes stand before it");
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const ZipEntry& before = *by_place[i - 1];
    if (before.data_at + before.packed_size > by_place[i]->header_at)
      return Damaged(by_place[i]->name, StrCat("overlaps '", DisplayBytes(before.name), "'"));
  }
  return absl::OkStatus();
}

absl::Status CheckNamesOnce(const std::vector<ZipEntry>& entries) {
  std::vector<absl::string_view> names;
  for (const ZipEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto again = std::adjacent_find(names.begin(), names.end());
  return again == names.end() ? absl::OkStatus() : Damaged(*again, "the name stands twice");
}

// What arrives of an entry, counted and summed up.
struct Arrived {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;

  absl::Status Add(absl::string_view block, absl::FunctionRef<absl::Status(absl::string_view)> sink) {
    bytes += block.size();
    crc = Crc32(crc, block);
    return sink(block);
  }
};

}  // namespace

bool ZipEntry::encrypted() const {
  return (flags & kEncryptedFlags) != 0;
}

bool LooksLikeZip(absl::string_view head) {
  return absl::StartsWith(head, kLocalHeader) || absl::StartsWith(head, kEndHeader);
}

std::vector<std::string> ZipNamesInHead(absl::string_view head) {
  std::vector<std::string> names;
  for (std::size_t at = head.find(kLocalHeader); at != absl::string_view::npos; at = head.find(kLocalHeader, at + 4)) {
    if (head.size() - at < kLocalBytes || names.size() >= 1000) break;
    names.emplace_back(head.substr(at + kLocalBytes, static_cast<std::size_t>(LittleEndian(head, at + 26, 2))));
  }
  return names;
}

absl::StatusOr<ZipDirectory> ZipDirectory::Find(const RandomAccess& archive) {
  ZipDirectory directory(archive);
  const std::uint64_t size = archive.size_bytes;
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(size, kEndBytes + kCommentMax + kLocator64Bytes);
  PARITECT_ASSIGN_OR_RETURN(const std::string tail,
                            ReadExactly(archive, size - tail_bytes, static_cast<std::size_t>(tail_bytes)));
  if (tail.size() < kEndBytes) return absl::DataLossError("the ZIP directory is cut off");
  // The last one, as other readers take it: a comment cannot hide another archive.
  const std::size_t at = tail.rfind(kEndHeader.data(), tail.size() - kEndBytes, kEndHeader.size());
  if (at == std::string::npos) return absl::DataLossError("the ZIP directory is cut off");
  const absl::string_view end = absl::string_view(tail).substr(at);
  if (LittleEndian(end, 4, 2) != 0 || LittleEndian(end, 6, 2) != 0)
    return absl::DataLossError("a ZIP file of several volumes");
  directory.trailing_ = LittleEndian(end, 20, 2) != end.size() - kEndBytes;
  directory.end_ = size - tail_bytes + at;
  directory.stated_ = LittleEndian(end, 10, 2);
  directory.bytes_ = LittleEndian(end, 12, 4);
  directory.offset_ = LittleEndian(end, 16, 4);
  if (at >= kLocator64Bytes) {
    const absl::string_view locator = absl::string_view(tail).substr(at - kLocator64Bytes);
    if (absl::StartsWith(locator, kLocator64Header)) {
      PARITECT_RETURN_IF_ERROR(directory.ReadWideEnd(directory.end_ - kLocator64Bytes, LittleEndian(locator, 8, 8)));
    }
  }
  if (directory.bytes_ > directory.end_ || directory.offset_ > directory.end_ - directory.bytes_)
    return absl::DataLossError("the ZIP directory is not where its end says");
  directory.begin_ = directory.end_ - directory.bytes_;
  directory.shift_ = directory.begin_ - directory.offset_;
  directory.at_ = directory.begin_;
  return directory;
}

// The old record beside it says the same, or that it does not fit.
absl::Status ZipDirectory::ReadWideEnd(std::uint64_t locator_at, std::uint64_t at) {
  const absl::Status elsewhere = absl::DataLossError("the ZIP64 end record is not where its locator says");
  if (at > locator_at || locator_at - at < kEnd64Bytes) return elsewhere;
  PARITECT_ASSIGN_OR_RETURN(const std::string wide, ReadExactly(archive_, at, kEnd64Bytes));
  if (!absl::StartsWith(wide, kEnd64Header)) return elsewhere;
  const std::uint64_t entries = LittleEndian(wide, 32, 8);
  const std::uint64_t bytes = LittleEndian(wide, 40, 8);
  const std::uint64_t offset = LittleEndian(wide, 48, 8);
  if ((stated_ != kCountIn64 && stated_ != entries) || (bytes_ != kIn64 && bytes_ != bytes) ||
      (offset_ != kIn64 && offset_ != offset)) {
    return absl::DataLossError("the two ends of the ZIP directory disagree");
  }
  stated_ = entries;
  bytes_ = bytes;
  offset_ = offset;
  end_ = at;
  wide_ = true;
  return absl::OkStatus();
}

// `n` bytes of the directory, fewer at its end; valid until the next call.
absl::StatusOr<absl::string_view> ZipDirectory::Bytes(std::uint64_t at, std::size_t n) {
  n = static_cast<std::size_t>(std::min<std::uint64_t>(n, end_ - at));
  if (at < window_at_ || at + n > window_at_ + window_.size()) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(std::max(n, kWindowBytes), end_ - at));
    PARITECT_ASSIGN_OR_RETURN(window_, ReadExactly(archive_, at, wanted));
    window_at_ = at;
  }
  return absl::string_view(window_).substr(static_cast<std::size_t>(at - window_at_), n);
}

absl::StatusOr<std::optional<ZipEntry>> ZipDirectory::Next() {
  if (at_ == end_) return std::nullopt;
  const absl::Status damaged = absl::DataLossError("the ZIP directory is damaged");
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, Bytes(at_, kCentralBytes));
  if (head.size() < kCentralBytes || !absl::StartsWith(head, kCentralHeader)) return damaged;
  ZipEntry entry;
  entry.flags = static_cast<std::uint16_t>(LittleEndian(head, 8, 2));
  entry.method = static_cast<std::uint16_t>(LittleEndian(head, 10, 2));
  entry.crc = static_cast<std::uint32_t>(LittleEndian(head, 16, 4));
  entry.packed_size = LittleEndian(head, 20, 4);
  entry.size = LittleEndian(head, 24, 4);
  entry.header_at = LittleEndian(head, 42, 4);
  const auto name = static_cast<std::size_t>(LittleEndian(head, 28, 2));
  const auto extra = static_cast<std::size_t>(LittleEndian(head, 30, 2));
  const std::size_t whole = kCentralBytes + name + extra + static_cast<std::size_t>(LittleEndian(head, 32, 2));
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view texts, Bytes(at_, whole));
  if (texts.size() < whole) return damaged;
  entry.name = std::string(texts.substr(kCentralBytes, name));
  ReadWide(texts.substr(kCentralBytes + name, extra), entry);
  // A place beyond every file stays where it is rather than wrap.
  entry.header_at = entry.header_at > UINT64_MAX - shift_ ? UINT64_MAX : entry.header_at + shift_;
  at_ += whole;
  ++seen_;
  return entry;
}

absl::StatusOr<ZipDirectory::Place> ZipDirectory::Locate(ZipEntry& entry) const {
  if (entry.header_at > begin_ || begin_ - entry.header_at < kLocalBytes) return Place::kNoHeader;
  const std::uint64_t room = begin_ - entry.header_at;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(room, kLocalBytes + entry.name.size()));
  PARITECT_ASSIGN_OR_RETURN(const std::string local, ReadExactly(archive_, entry.header_at, wanted));
  if (!absl::StartsWith(local, kLocalHeader)) return Place::kNoHeader;
  const std::uint64_t name = LittleEndian(local, 26, 2);
  const std::uint64_t texts = kLocalBytes + name + LittleEndian(local, 28, 2);
  if (texts > room || room - texts < entry.packed_size) return Place::kBeyondEnd;
  entry.data_at = entry.header_at + texts;
  const bool same = name == entry.name.size() && absl::string_view(local).substr(kLocalBytes) == entry.name &&
                    LittleEndian(local, 8, 2) == entry.method;
  return same ? Place::kGood : Place::kOtherFile;
}

bool ZipDirectory::CountFits() const {
  return wide_ ? seen_ == stated_ : (seen_ & kCountIn64) == stated_;
}

absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(const RandomAccess& archive, const ZipRules& rules) {
  PARITECT_ASSIGN_OR_RETURN(ZipDirectory directory, ZipDirectory::Find(archive));
  if (!directory.exact()) return absl::DataLossError("the ZIP directory is cut off or not where its end says");
  std::vector<ZipEntry> entries;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(std::optional<ZipEntry> entry, directory.Next());
    if (!entry) break;
    if (entries.size() >= kEntriesMax)
      return absl::DataLossError(StrCat("a ZIP file of more than ", kEntriesMax, " entries"));
    PARITECT_RETURN_IF_ERROR(CheckEntry(*entry, archive.size_bytes));
    PARITECT_ASSIGN_OR_RETURN(const ZipDirectory::Place place, directory.Locate(*entry));
    PARITECT_RETURN_IF_ERROR(CheckPlace(*entry, place));
    entries.push_back(*std::move(entry));
  }
  if (!directory.CountFits())
    return absl::DataLossError("the ZIP directory holds another number of entries than it says");
  PARITECT_RETURN_IF_ERROR(CheckPlaces(entries));
  if (!rules.names_again) PARITECT_RETURN_IF_ERROR(CheckNamesOnce(entries));
  entries.erase(std::remove_if(entries.begin(), entries.end(), [](const ZipEntry& one) { return one.folder(); }),
                entries.end());
  return entries;
}

absl::StatusOr<ZipContent> UnpackZipEntry(const RandomAccess& archive, const ZipEntry& entry,
                                          absl::FunctionRef<absl::Status(absl::string_view block)> sink) {
  if (entry.method == 0 && entry.packed_size != entry.size) return ZipContent::kOtherLength;
  Arrived arrived;
  Inflater inflater(Inflater::Form::kRaw);
  std::string packed(static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, entry.packed_size)), '\0');
  std::string out(entry.method == 0 ? 0 : kBlockBytes, '\0');
  bool ended = false;
  for (std::uint64_t done = 0; done < entry.packed_size && !ended;) {
    packed.resize(static_cast<std::size_t>(std::min<std::uint64_t>(packed.size(), entry.packed_size - done)));
    PARITECT_RETURN_IF_ERROR(ReadExactly(archive, entry.data_at + done, absl::MakeSpan(packed)));
    done += packed.size();
    if (entry.method == 0) {
      PARITECT_RETURN_IF_ERROR(arrived.Add(packed, sink));
      continue;
    }
    absl::string_view in = packed;
    for (bool more = true; more && !ended;) {
      const Inflater::Step step = inflater.Next(in, absl::MakeSpan(out));
      in.remove_prefix(step.taken);
      ended = step.state != Inflater::State::kMore;
      more = !in.empty() || step.given == out.size();
      // What goes on beyond its size is seen and not given.
      if (step.given > entry.size - arrived.bytes) return ZipContent::kOtherLength;
      if (step.state == Inflater::State::kDamaged) return ZipContent::kOtherLength;
      if (step.given > 0) PARITECT_RETURN_IF_ERROR(arrived.Add(absl::string_view(out).substr(0, step.given), sink));
    }
  }
  const bool whole = arrived.bytes == entry.size && (entry.method == 0 || ended || entry.packed_size == 0);
  if (!whole) return ZipContent::kOtherLength;
  return arrived.crc == entry.crc ? ZipContent::kWhole : ZipContent::kOtherChecksum;
}

absl::StatusOr<std::string> ReadZipEntry(const RandomAccess& archive, const ZipEntry& entry, std::size_t bytes_max) {
  if (entry.size > bytes_max) {
    return absl::ResourceExhaustedError(
        StrCat("entry '", DisplayBytes(entry.name), "' is larger than ", bytes_max, " bytes"));
  }
  if (entry.size > kPlainBytes && entry.size / std::max<std::uint64_t>(entry.packed_size, 1) > kRatioMax)
    return Damaged(entry.name, "unpacks to many hundred times its length (a ZIP bomb)");
  std::string out;
  PARITECT_ASSIGN_OR_RETURN(const ZipContent content, UnpackZipEntry(archive, entry, [&](absl::string_view block) {
                              absl::StrAppend(&out, block);
                              return absl::OkStatus();
                            }));
  if (content == ZipContent::kOtherLength) return Damaged(entry.name, "unpacks to another length than stated");
  if (content == ZipContent::kOtherChecksum) return Damaged(entry.name, "its check sum does not fit");
  return out;
}

}  // namespace paritect
