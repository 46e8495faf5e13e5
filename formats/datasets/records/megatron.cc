// Megatron indexed data sets: .idx (MMIDIDX) with the sizes of its sequences, and the .bin beside it.
// Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr absl::string_view kMagic("MMIDIDX\0\0", 9);
constexpr std::size_t kHeadBytes = 34;  // magic, version, type code, sequences, documents

std::size_t WidthOf(std::uint64_t code) {
  // uint8, int8, int16, int32, int64, float64, float32, uint16
  constexpr std::size_t kWidths[] = {0, 1, 1, 2, 4, 8, 8, 4, 2};
  return code < std::size(kWidths) ? kWidths[code] : 0;
}

bool Fits(const RecordHead& head) {
  return head.size && absl::StartsWith(head.bytes, kMagic);
}

// Every sequence begins where the one before it ends. Gives the length that the .bin must have.
absl::StatusOr<std::optional<std::uint64_t>> FollowSequences(RecordReader& reader, std::uint64_t sequences,
                                                             std::size_t width, RecordScan& scan) {
  constexpr std::uint64_t kAtOnce = 16 << 10;
  std::uint64_t expected = 0;
  const std::uint64_t pointers = kHeadBytes + 4 * sequences;
  for (std::uint64_t i = 0; i < sequences; i += kAtOnce) {
    const std::uint64_t n = std::min(kAtOnce, sequences - i);
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view view, reader.Peek(kHeadBytes + 4 * i, 4 * n));
    const std::string sizes(view);
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view places, reader.Peek(pointers + 8 * i, 8 * n));
    if (sizes.size() < 4 * n || places.size() < 8 * n) return std::optional<std::uint64_t>();
    for (std::uint64_t k = 0; k < n; ++k) {
      const std::uint64_t size = LittleEndian(sizes, 4 * k, 4);
      if (size > INT32_MAX || LittleEndian(places, 8 * k, 8) != expected) {
        scan.Garbled(pointers + 8 * (i + k), absl::StrCat("sequence ", i + k));
        return std::optional<std::uint64_t>();
      }
      expected += size * width;
    }
  }
  return std::optional<std::uint64_t>(expected);
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(0, kHeadBytes));
  if (head.size() < kHeadBytes) {
    scan.Cut(head.size(), "header");
    return absl::OkStatus();
  }
  if (LittleEndian(head, 9, 8) != 1) return absl::UnimplementedError("another version of the index");
  const std::size_t width = WidthOf(LittleEndian(head, 17, 1));
  const std::uint64_t sequences = LittleEndian(head, 18, 8);
  const std::uint64_t documents = LittleEndian(head, 26, 8);
  const std::uint64_t size = *reader.size();
  if (width == 0) {
    scan.Garbled(17, "type code");
    return absl::OkStatus();
  }
  // Multimodal sets have a mode byte a sequence at the end.
  const std::uint64_t whole = kHeadBytes + sequences * 12 + documents * 8;
  if (sequences > size || documents > size || size < whole) {
    scan.Cut(size, absl::StrCat("index of ", sequences, " sequences"));
    return absl::OkStatus();
  }
  if (size != whole && size != whole + sequences) {
    scan.Sizes("index", whole, size);
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const auto data, FollowSequences(reader, sequences, width, scan));
  if (!data) return absl::OkStatus();
  scan.records = sequences;
  if (!absl::EndsWith(reader.path(), ".idx")) return absl::OkStatus();
  const std::string bin = absl::StrCat(reader.path().substr(0, reader.path().size() - 4), ".bin");
  const auto found = scan.SizeOf(bin);
  if (!found) {
    scan.not_all_checked = true;
  } else if (*found != *data) {
    scan.Sizes(bin, *data, *found);
  }
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kMegatronRecords;
const RecordForm kMegatronRecords = {"megatron-idx", false, &Fits, &Scan};

}  // namespace paritect
