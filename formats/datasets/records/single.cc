// One file, one sample: pictures, sound, documents. There are no records to count; of PNG and JPEG the end is looked
// at. Sources: the formats' magic numbers (PNG 1.2, JPEG T.81, GIF89a, RIFF, FLAC, Ogg, ID3, PDF, BMP).
#include "absl/strings/match.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr absl::string_view kPng("\x89PNG\r\n\x1a\n", 8);

bool Fits(const RecordHead& head) {
  if (!head.size) return false;
  for (absl::string_view magic :
       {kPng, absl::string_view("\xFF\xD8\xFF"), absl::string_view("GIF8"), absl::string_view("RIFF"),
        absl::string_view("fLaC"), absl::string_view("OggS"), absl::string_view("ID3"), absl::string_view("%PDF-")}) {
    if (absl::StartsWith(head.bytes, magic)) return true;
  }
  return false;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view view, reader.Peek(0, kPng.size()));
  const std::string head(view);
  const std::uint64_t size = *reader.size();
  // Cameras and editors write behind the end: the end mark need not be the last thing.
  constexpr std::uint64_t kTailBytes = 64 << 10;
  const std::uint64_t from = size > kTailBytes ? size - kTailBytes : 0;
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view tail, reader.Peek(from, kTailBytes));
  if (head == kPng && !absl::StrContains(tail, "IEND")) scan.Cut(size, "picture");
  if (absl::StartsWith(head, "\xFF\xD8\xFF") && !absl::StrContains(tail, "\xFF\xD9")) scan.Cut(size, "picture");
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kSingleRecords;
const RecordForm kSingleRecords = {"single", false, &Fits, &Scan};

}  // namespace paritect
