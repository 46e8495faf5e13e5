// TFRecord: u64 length, masked CRC-32C of the length, data, masked CRC-32C of the data.
// Source: TensorFlow, tensorflow/core/lib/io/record_writer.h.
#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kCrcBytes = 4;

bool LengthFits(absl::string_view head) {
  return head.size() >= kHeadBytes && MaskedCrc32c(head.substr(0, 8)) == LittleEndian(head, 8, 4);
}

bool Fits(const RecordHead& head) {
  return LengthFits(head.bytes);
}

// CRC of the data; fewer than `length` bytes: `left` says how many lack.
absl::StatusOr<std::uint32_t> CrcOfData(RecordReader& reader, std::uint64_t at, std::uint64_t length,
                                        std::uint64_t& left) {
  std::uint32_t crc = 0;
  left = length;
  while (left > 0) {
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view piece, reader.Next(at + length - left, left));
    if (piece.empty()) break;
    crc = Crc32c(crc, piece);
    left -= piece.size();
  }
  return crc;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  std::uint64_t at = 0;
  for (std::uint64_t records = 0;; ++records) {
    scan.records = records;
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(at, kHeadBytes));
    if (head.empty()) return absl::OkStatus();
    const std::string name = absl::StrCat("record ", records);
    if (head.size() < kHeadBytes) {
      scan.Cut(at, name);
      return absl::OkStatus();
    }
    const std::uint64_t length = LittleEndian(head, 0, 8);
    if (!LengthFits(head) || length > INT64_MAX / 2) {
      scan.Checksum(at, absl::StrCat("the length of ", name));
      return absl::OkStatus();  // where the next one begins is not known
    }
    std::uint64_t left = 0;
    PARITECT_ASSIGN_OR_RETURN(const std::uint32_t crc, CrcOfData(reader, at + kHeadBytes, length, left));
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view stated, reader.Peek(at + kHeadBytes + length, kCrcBytes));
    if (left > 0 || stated.size() < kCrcBytes) {
      scan.Cut(at, name);
      return absl::OkStatus();
    }
    if (MaskCrc32c(crc) != LittleEndian(stated, 0, 4)) scan.Checksum(at + kHeadBytes, name);
    at += kHeadBytes + length + kCrcBytes;
  }
}

}  // namespace

extern const RecordForm kTfRecordRecords;
const RecordForm kTfRecordRecords = {"tfrecord", true, &Fits, &Scan};

}  // namespace paritect
