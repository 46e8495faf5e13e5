// ZIP (npz among them): the central directory gives the members; each one's header, size and CRC-32 are followed.
// Source: APPNOTE 6.3, 4.3 and 4.4.
#include "formats/archives/zip.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

bool Fits(const RecordHead& head) {
  return head.size && LooksLikeZip(head.bytes);
}

// The reader's window and budget stay in charge.
RandomAccess AccessTo(RecordReader& reader) {
  return {*reader.size(), [&reader](std::uint64_t offset, absl::Span<char> buffer) -> absl::StatusOr<std::size_t> {
            PARITECT_ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Peek(offset, buffer.size()));
            return bytes.copy(buffer.data(), buffer.size());
          }};
}

absl::Status CheckMember(const RandomAccess& archive, const ZipDirectory& directory, ZipEntry member,
                         RecordScan& scan) {
  const std::string what = "member " + member.name;
  PARITECT_ASSIGN_OR_RETURN(const ZipDirectory::Place place, directory.Locate(member));
  if (place == ZipDirectory::Place::kNoHeader) {
    scan.Garbled(std::min(member.header_at, directory.begin()), what);
    return absl::OkStatus();
  }
  if (place == ZipDirectory::Place::kBeyondEnd) {
    scan.Cut(member.header_at, what);
    return absl::OkStatus();
  }
  if (!member.readable()) {
    scan.not_all_checked = true;
    return absl::OkStatus();
  }
  const auto drop = [](absl::string_view) { return absl::OkStatus(); };
  PARITECT_ASSIGN_OR_RETURN(const ZipContent content, UnpackZipEntry(archive, member, drop));
  if (content == ZipContent::kOtherLength) scan.Garbled(member.data_at, what);
  if (content == ZipContent::kOtherChecksum) scan.Checksum(member.data_at, what);
  return absl::OkStatus();
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  const RandomAccess archive = AccessTo(reader);
  auto directory = ZipDirectory::Find(archive);
  if (absl::IsDataLoss(directory.status())) {
    scan.Cut(*reader.size(), "directory at the end");
    return absl::OkStatus();
  }
  PARITECT_RETURN_IF_ERROR(directory.status());
  std::uint64_t files = 0;
  for (;;) {
    auto entry = directory->Next();
    if (absl::IsDataLoss(entry.status()) || (entry.ok() && !entry->has_value() && directory->MissesEntries())) {
      scan.Garbled(directory->at(), absl::StrCat("directory entry ", directory->seen()));
      return absl::OkStatus();
    }
    PARITECT_RETURN_IF_ERROR(entry.status());
    if (!entry->has_value()) break;
    if ((*entry)->folder()) continue;
    ++files;
    PARITECT_RETURN_IF_ERROR(CheckMember(archive, *directory, **std::move(entry), scan));
  }
  scan.records = files;
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kZipRecords;
const RecordForm kZipRecords = {"zip", false, &Fits, &Scan};

}  // namespace paritect
