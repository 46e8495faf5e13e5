// RecordIO of MXNet: magic, length with three bits that say whether a record is whole or in pieces, data padded to 4.
// Source: dmlc-core, include/dmlc/recordio.h.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::uint64_t kMagic = 0xCED7230A;
constexpr std::size_t kHeadBytes = 8;

bool Fits(const RecordHead& head) {
  return head.size && head.bytes.size() >= kHeadBytes && LittleEndian(head.bytes, 0, 4) == kMagic;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  std::uint64_t records = 0;
  bool inside = false;
  for (std::uint64_t at = 0;;) {
    scan.records = records;
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(at, kHeadBytes));
    const std::string name = absl::StrCat("record ", records);
    if (head.empty()) {
      if (inside) scan.Cut(at, name);
      return absl::OkStatus();
    }
    if (head.size() < kHeadBytes) {
      scan.Cut(at, name);
      return absl::OkStatus();
    }
    if (LittleEndian(head, 0, 4) != kMagic) {
      scan.Garbled(at, name);
      return absl::OkStatus();
    }
    const std::uint64_t word = LittleEndian(head, 4, 4);
    const std::uint64_t piece = word >> 29;  // 0 whole, 1 first, 2 middle, 3 last
    if (piece > 3 || (piece >= 2) != inside) {
      scan.Garbled(at + 4, name);
      return absl::OkStatus();
    }
    const std::uint64_t end = at + kHeadBytes + ((word & 0x1FFFFFFF) + 3) / 4 * 4;
    PARITECT_ASSIGN_OR_RETURN(const bool there, reader.Reaches(end));
    if (!there) {
      scan.Cut(at, name);
      return absl::OkStatus();
    }
    inside = piece == 1 || piece == 2;
    if (!inside) ++records;
    at = end;
  }
}

}  // namespace

extern const RecordForm kRecordIoRecords;
const RecordForm kRecordIoRecords = {"recordio", false, &Fits, &Scan};

}  // namespace paritect
