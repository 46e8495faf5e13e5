// Plain text: lines counted. A NUL byte inside is what a torn write leaves.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

bool Fits(const RecordHead& head) {
  if (head.bytes.empty()) return false;
  for (char c : head.bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v' && c != '\x1b') return false;
    if (byte == 0x7F) return false;
  }
  return true;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  std::uint64_t lines = 0;
  bool open = false;
  for (std::uint64_t at = 0;;) {
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view piece, reader.Next(at));
    if (piece.empty()) break;
    for (char c : piece) {
      if (c == '\0') scan.Garbled(at, absl::StrCat("line ", lines + 1));
      open = c != '\n';
      lines += open ? 0 : 1;
      ++at;
    }
  }
  scan.records = lines + (open ? 1 : 0);
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kTextRecords;
const RecordForm kTextRecords = {"text", true, &Fits, &Scan};

}  // namespace paritect
