// HDF5: the superblock's end of file against the file's size; its groups are not followed, so no records are counted.
// Source: HDF5 File Format Specification 3.0, II.A.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr absl::string_view kSignature("\x89HDF\r\n\x1a\n", 8);

// At byte 0, or behind a user block at 512, 1024, 2048 ...
std::optional<std::uint64_t> SuperblockAt(absl::string_view head) {
  for (std::uint64_t at = 0; at + 8 <= head.size(); at = at == 0 ? 512 : at * 2) {
    if (absl::StartsWith(head.substr(at), kSignature)) return at;
  }
  return std::nullopt;
}

bool Fits(const RecordHead& head) {
  return head.size && SuperblockAt(head.bytes).has_value();
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(0, kRecordHeadBytes));
  const std::uint64_t at = *SuperblockAt(head);
  const absl::string_view block = head.substr(at);
  if (block.size() < 56) {
    scan.Cut(head.size(), "superblock");
    return absl::OkStatus();
  }
  const std::uint64_t version = LittleEndian(block, 8, 1);
  if (version > 3) return absl::UnimplementedError("another version of HDF5");
  const std::uint64_t width = LittleEndian(block, version < 2 ? 13 : 9, 1);
  if (width != 8) return absl::UnimplementedError("HDF5 with addresses of another width");
  const std::size_t base_at = version == 0 ? 24 : version == 1 ? 28 : 12;
  const std::uint64_t base = LittleEndian(block, base_at, 8);
  const std::uint64_t end = LittleEndian(block, base_at + 16, 8);
  if (end < 48 || end > INT64_MAX) {
    scan.Garbled(at, "superblock");
  } else if (end + (base == at ? 0 : at) > *reader.size()) {
    scan.Cut(*reader.size(), absl::StrCat("file of ", end, " bytes"));
  }
  scan.not_all_checked = true;
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kHdf5Records;
const RecordForm kHdf5Records = {"hdf5", false, &Fits, &Scan};

}  // namespace paritect
