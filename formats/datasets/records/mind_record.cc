// MindRecord: u64 length, JSON header, then pages of one size; rows from the header's list of pages.
// Source: MindSpore, minddata/mindrecord/meta/shard_header.cc and shard_page.cc.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kHeaderBytesMax = 32 << 20;

bool Fits(const RecordHead& head) {
  if (!head.size || head.bytes.size() < 64 || head.bytes[kLengthBytes] != '{') return false;
  const std::uint64_t length = LittleEndian(head.bytes, 0, kLengthBytes);
  const absl::string_view text = head.bytes.substr(kLengthBytes, 4096);
  return length > 2 && length <= kHeaderBytesMax &&
         (absl::StrContains(text, "\"header_size\"") || absl::StrContains(text, "\"index_fields\""));
}

std::optional<std::uint64_t> NumberOf(const DocumentNode& object, absl::string_view key) {
  const DocumentNode* node = object.Find(key);
  const auto value = node != nullptr && node->is_scalar() ? ParseInt(node->text) : std::nullopt;
  return value && *value >= 0 ? std::optional<std::uint64_t>(*value) : std::nullopt;
}

struct Pages {
  std::uint64_t rows = 0;
  std::uint64_t end = 0;  // of what the header says is used
  bool good = true;
};

Pages ReadPages(const DocumentNode& root) {
  Pages pages;
  const auto header = NumberOf(root, "header_size");
  const auto page_size = NumberOf(root, "page_size");
  const DocumentNode* list = root.Find("page");
  constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 31;
  pages.good = header && page_size && list != nullptr && *header < kSizeMax && *page_size < kSizeMax;
  if (!pages.good) return pages;
  for (const DocumentNode& page : list->items) {
    const auto id = NumberOf(page, "page_id");
    const auto last = NumberOf(page, "end_row_id");
    const auto used = NumberOf(page, "page_size");
    const DocumentNode* type = page.Find("page_type");
    if (!id || !last || !used || type == nullptr || *id > UINT32_MAX || *used > *page_size) {
      pages.good = false;
      return pages;
    }
    if (type->text == "RAW_DATA") pages.rows = std::max(pages.rows, *last);
    pages.end = std::max(pages.end, *header + *page_size * *id + *used);
  }
  return pages;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(0, kLengthBytes));
  const std::uint64_t length = LittleEndian(head, 0, kLengthBytes);
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view text, reader.Peek(kLengthBytes, length));
  if (text.size() < length) {
    scan.Cut(kLengthBytes + text.size(), "header");
    return absl::OkStatus();
  }
  auto root = ParseJson(text);
  if (!root.ok()) {
    scan.Garbled(kLengthBytes, "header");
    return absl::OkStatus();
  }
  const Pages pages = ReadPages(*root);
  if (!pages.good) {
    scan.Garbled(kLengthBytes, "list of pages in the header");
    return absl::OkStatus();
  }
  scan.records = pages.rows;
  if (pages.end > *reader.size()) scan.Cut(*reader.size(), "pages");
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kMindRecordRecords;
const RecordForm kMindRecordRecords = {"mindrecord", false, &Fits, &Scan};

}  // namespace paritect
